"""What a trained model looks at."""

from regard.datasets.images.asked import Given
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.looking.look import Look, gather
from regard.tasks.classification import Classifier
from regard.verbs.given import checked, named
from regard.verbs.runs import RunLike, opened


def look(
    run: RunLike,
    text: Given,
    target: str = "",
    *,
    tokens: int = 0,
    device: str | None = None,
    listener: Listener = SILENT,
) -> Look:
    """What a trained model looks at, in every attention and every head, while it reads a text and writes its answer, or
    says what an image shows."""
    (said,) = checked([target])
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        raise InputError(f"tokens: wanted a whole number from 0, given {named(tokens)}")
    trained = opened(run, device=device, listener=listener)
    asked = text if isinstance(trained.answerer, Classifier) else checked([text])[0]
    listener.at("answering")
    scene = trained.task.scene(trained.answerer, asked, said, tokens)
    listener.at("looking")
    size = sum(parameter.numel() for parameter in trained.model.parameters())
    about = {"run": str(trained.run.folder), "task": trained.recipe.wants("task").kind, "step": trained.step}
    return gather(scene, about | {"parameters": size})
