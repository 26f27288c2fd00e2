"""A short form of everything: harm that must be seen, some hostile folders, some runs spoilt at random.

python -m attack.short [--folders 20] [--cases 20]
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from attack.folders import pairs, tried
from attack.fuzz import BAD, Fuzzer
from attack.seen import unseen


def main(folders: int, cases: int) -> int:
    with tempfile.TemporaryDirectory(prefix="attack-") as place:
        fuzzer = Fuzzer.prepared(1, Path(place))
        wrong = unseen(fuzzer)
        print(*wrong or ["all harm is seen"], sep="\n", flush=True)
        counts = tried(fuzzer, first=7, some=len(pairs(fuzzer)) // folders)
        for number in range(cases):
            fuzzer.told(number, *fuzzer.case(number))
        print(fuzzer)
        return int(bool(wrong) or any(counts[kind] + fuzzer.counts[kind] for kind in BAD))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folders", type=int, default=20)
    parser.add_argument("--cases", type=int, default=20)
    asked = parser.parse_args()
    sys.exit(main(asked.folders, asked.cases))
