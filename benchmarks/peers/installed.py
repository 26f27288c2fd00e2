"""Which peers can be run here, and how to get the others."""

from collections.abc import Sequence
from importlib.util import find_spec

from regard.errors import RecipeError

# The module that must be there, and what pip is asked for; JoeyNMT's own list is too old for torch 2.13.
NEEDS = {
    "torch": ("torch", "torch"),
    "torch-kept": ("torch", "torch"),
    "marian": ("transformers", "'transformers>=5,<6'"),
    "ctranslate2": ("ctranslate2", "ctranslate2==4.8.4 'transformers>=5,<6'"),
    "huggingface": ("transformers", "'transformers>=5,<6'"),
    "llama": ("llama_cpp", "llama-cpp-python==0.3.36 (from source: cmake, ninja and a C++ compiler)"),
    "joeynmt": ("joeynmt", "joeynmt==2.3.0 importlib_metadata sentencepiece==0.2.0 -c constraints.txt"),
}


def chosen(peers: str, known: Sequence[str]) -> list[str]:
    """Names from `--peers a,b`, checked; all that are installed if none is given."""
    names = [name.strip() for name in peers.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise RecipeError(f"--peers {name}: there is {', '.join(known)}")
        if not installed(name):
            raise RecipeError(f"--peers {name}: {NEEDS[name][0]} is not installed here; pip install {NEEDS[name][1]}")
    return names or [name for name in known if installed(name)]


def installed(name: str) -> bool:
    """Whether a peer can be run here."""
    return find_spec(NEEDS[name][0]) is not None
