"""A run folder. Only safetensors, JSON and TOML are ever read from one.

recipe.toml  run.json (format, task's files, what made it, what became of it)  log.jsonl  best  last  evaluation.json
the task's files: tokenizers, names of classes
checkpoints/step-N/weights.safetensors  state.safetensors  manifest.json

Everything is written under another name, synced and renamed, so that a run killed at any moment
holds nothing half-written; what was left over is swept away at the next start.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from regard.disk import names_inside, place, read_bytes, read_text, read_toml, remove, room, write
from regard.disk.door import LARGEST
from regard.disk.shelf import shelf
from regard.errors import FailedError, InputError
from regard.listener import Listener
from regard.recipe.read import RUN_RECIPE, is_run
from regard.run import history, scores
from regard.run.checkpoint import MANIFEST, STEP, WEIGHTS, Checkpoint, manifest_of, table_hash
from regard.run.create import FACTS, write_new
from regard.run.curve import Curve, rows
from regard.run.facts import FORMAT, facts_file, facts_of
from regard.run.lock import held, identity, own_folder
from regard.run.seen import run_html, run_text

if TYPE_CHECKING:
    from regard.disk.tensors import Tensors


class Run:
    """A folder in which a model was, is or will be trained."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._identity = identity(folder)
        self.facts = facts_of(folder)
        self.recipe = read_toml(folder / RUN_RECIPE)

    @classmethod
    def create(
        cls,
        folder: Path,
        recipe: dict[str, Any],
        files: Mapping[str, bytes],
        data: str,
        more: Mapping[str, Any] | None = None,
    ) -> "Run":
        """A new run: its recipe, what its task keeps, the fingerprint of its data, and what else is known of it.

        The recipe is written last, so that a folder with a recipe is whole.
        """
        facts = {"format": FORMAT, "data": data, "files": sorted(files)} | dict(more or {})
        write_new(folder, {FACTS: facts_file(facts)} | dict(files) | {RUN_RECIPE: tomli_w.dumps(recipe).encode()})
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """A run that is there."""
        folder = place(folder)
        if not is_run(folder):
            raise _not_a_run(folder)
        return cls(folder)

    def note(self, **facts: Any) -> None:
        """Write down what became of the run; None takes a fact back."""
        self.facts = {key: value for key, value in (self.facts | facts).items() if value is not None}
        with self._room():
            write(self.folder / FACTS, facts_file(self.facts))

    def rewrite(self, recipe: dict[str, Any]) -> None:
        """The run goes on with another recipe."""
        self.recipe = recipe
        with self._room():
            write(self.folder / RUN_RECIPE, tomli_w.dumps(recipe).encode())

    def __fspath__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def __str__(self) -> str:
        return run_text(self)

    def _repr_html_(self) -> str:
        return run_html(self)

    @cached_property
    def files(self) -> dict[str, bytes]:
        """What the task has kept."""
        names = names_inside(self.facts.get("files"), self.folder / FACTS)
        found, left = dict[str, bytes](), LARGEST
        for name in names:
            found[name] = read_bytes(self.folder / name, most=left)
            left -= len(found[name])
        return found

    def hold(self) -> AbstractContextManager[None]:
        """Nobody else may train here meanwhile. Sweeps what a killed process left behind."""
        return held(self.folder)

    def save(self, step: int, weights: "Tensors", state: "Tensors", progress: dict[str, Any], keep: int) -> Checkpoint:
        """Write a checkpoint whole or not at all, then let go of old ones: `keep` stay, and the best."""
        with self._room():
            saved = Checkpoint.write(self._checkpoints / f"step-{step}", weights, state, progress)
            self.point("last", saved.folder.name)
        self._let_go(keep, saved.step)
        return saved

    def amend(self, step: int, progress: dict[str, Any]) -> None:
        """The same tensors, but more is known about them."""
        folder = self._checkpoints / f"step-{step}"
        hashes = Checkpoint(folder).check()["sha256"] | {"progress": table_hash(progress)}
        with self._room():
            write(folder / MANIFEST, manifest_of(hashes, progress))

    def point(self, name: str, at: str) -> None:
        """`best` or `last` → a checkpoint."""
        with self._room():
            write(self.folder / name, at.encode())

    def checkpoints(self) -> list[Checkpoint]:
        """All, the newest first."""
        there = (path for path in self._checkpoints.glob("step-*") if path.is_dir() and not path.is_symlink())
        found = [Checkpoint(path) for path in there if STEP.fullmatch(path.name)]
        return sorted(found, key=lambda checkpoint: -checkpoint.step)

    def newest(self, listener: Listener, to_resume: bool = False) -> Checkpoint | None:
        """The newest checkpoint that is whole; damaged ones are named and passed over."""
        for checkpoint in self.checkpoints():
            try:
                checkpoint.check(to_resume)
            except (InputError, OSError) as error:
                listener.say(f"{error}; falling back to the checkpoint before it")
                continue
            return checkpoint
        return None

    @property
    def anew(self) -> str:
        """How a new run is trained with the recipe of this one."""
        return f"train a new run with its recipe, {self.folder / RUN_RECIPE}"

    def check_there(self) -> None:
        """Refuse a run that saved something once, of which nothing is left."""
        there, lost = self.checkpoints(), self.diverged
        if not there and lost is not None:
            raise InputError(
                f"{self.folder}: this run diverged at step {lost:,} before anything good was saved; "
                "train a new one with a lower training.optimizer.learning_rate"
            )
        if not there and (not self._checkpoints.is_dir() or (self.folder / "last").exists()):
            raise InputError(f"{self.folder}: its checkpoints are gone; {self.anew}")
        if there and not any((one.folder / WEIGHTS).is_file() for one in there):
            raise InputError(f"{self.folder}: none of its checkpoints is whole; {self.anew}")

    def for_use(self, listener: Listener) -> Checkpoint:
        """The best checkpoint, or else the newest that is whole. Of a run that diverged, that is said."""
        found, lost = self._whole_best(listener) or self.newest(listener), self.diverged
        if found is None:
            self.check_there()
            if self.checkpoints():
                raise InputError(f"{self.folder}: no whole checkpoint in it; {self.anew}")
            raise InputError(
                f"{self.folder}: nothing was saved in it yet; ",
                call=f"train({str(self.folder)!r}, resume=True) goes on",
                flag=f"`regard train {shlex.quote(str(self.folder))} --resume` goes on",
            )
        if lost is not None:
            listener.say(f"{self.folder}: this run diverged at step {lost:,}; what answers is step {found.step:,}")
        return found

    @property
    def diverged(self) -> int | None:
        """The step at which the loss was no number any more, where that ended the training."""
        step = self.facts.get("diverged")
        return step if isinstance(step, int) else None

    def log(self, entry: dict[str, Any]) -> None:
        """One line of log.jsonl."""
        self.check_still_there()
        history.add(self.folder, entry)

    def history(self) -> list[dict[str, Any]]:
        """All whole lines of the log."""
        return history.entries(self.folder)

    def curve(self) -> Curve:
        """Its learning curve: rows to compute with, `curve().draw("curve.png")` for a picture."""
        return Curve(rows(self.folder), str(self.recipe.get("name", self.folder.name)))

    def rewind(self, step: int) -> None:
        """Forget what was logged after a step: it will happen again."""
        self.check_still_there()
        history.rewind(self.folder, step)

    def keep_scores(
        self,
        figures: Mapping[str, Any],
        *,
        step: int,
        on: str = "",
        split: str | None = "test",
        how: Sequence[str] = (),
        learnt: bool | None = False,
    ) -> bool:
        """Keep an evaluation in the run, in evaluation.json: the figures of step `step` on other data (`on`) or on a
        split of its own, answered with the overrides `how`; `learnt` says whether it was trained on these data. False
        where the run cannot be written to."""
        self.check_still_there()
        return scores.keep(self.folder, scores.entry(figures, step, on, split, how, learnt))

    def scores(self) -> list[dict[str, Any]]:
        """The evaluations that were kept, the newest first: on, split, learnt, how, step, when, scores."""
        return scores.kept(self.folder)

    def check_still_there(self) -> None:
        """Refuse to write into a run that was removed since it was opened, or to make it anew."""
        try:
            there = is_run(self.folder) and identity(self.folder) == self._identity
        except OSError:
            there = False
        if not there:
            raise FailedError(f"{self.folder}: the run was removed meanwhile; nothing more is kept in it")

    @contextmanager
    def _room(self) -> Iterator[None]:
        """Write into the run, if it is still there; what the disk refuses is said in one line."""
        self.check_still_there()
        with room(self.folder):
            try:
                yield
            except FileNotFoundError:
                self.check_still_there()
                raise

    @property
    def _checkpoints(self) -> Path:
        return own_folder(self.folder)

    def best(self) -> Checkpoint | None:
        """What `best` points at, if it is there."""
        pointer = self.folder / "best"
        name = read_text(pointer).strip() if pointer.is_file() else ""
        there = self._checkpoints / name
        return Checkpoint(there) if STEP.fullmatch(name) and there.is_dir() and not there.is_symlink() else None

    def _whole_best(self, listener: Listener) -> Checkpoint | None:
        best = self.best()
        if best is None and (self.folder / "best").exists() and self.checkpoints():
            listener.say(f"{self.folder}: its best checkpoint is gone; falling back to the newest")
        try:
            if best is not None:
                best.check()
        except (InputError, OSError) as error:
            listener.say(f"{error}; falling back to the newest")
            return None
        return best

    def _let_go(self, keep: int, saved: int) -> None:
        """Of this one and those before it so many stay. Later ones were passed over as damaged and do not count."""
        best = self.best()
        for checkpoint in [one for one in self.checkpoints() if one.step <= saved][keep:]:
            if checkpoint != best:
                remove(checkpoint.folder)


def _not_a_run(folder: Path) -> InputError:
    """With the run that was meant, if it is where runs are kept or its name is similar; a recipe's name is no run."""
    runs = Path("runs") / folder.name
    near = [path for path in (runs.parent, folder.parent) if path.is_dir()]
    there = {str(path): path.name for place in near for path in sorted(place.iterdir()) if is_run(path)}
    similar = get_close_matches(folder.name, there.values(), n=1)
    found = str(runs) if is_run(runs) else next((run for run, name in there.items() if name in similar), "")
    said = f"{folder}: not a run folder (no {RUN_RECIPE} in it); "
    if found:
        return InputError(f"{said}did you mean {found}?")
    recipe = str(folder) if (shelf() / f"{folder}.toml").is_file() else "RECIPE"
    return InputError(said, call=f"regard.train({recipe!r}) makes one", flag=f"`regard train {recipe}` makes one")
