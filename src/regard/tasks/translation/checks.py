"""What a model must be like to learn from the pairs at hand."""

from regard.datasets.encode import Encoded
from regard.errors import RecipeError
from regard.model.assembly import Seq2Seq
from regard.tasks.translation.tokenizers import TokenizerPair


def check_model(model: Seq2Seq, tokenizers: TokenizerPair, train: Encoded) -> None:
    """Refuse a model whose tables or positions do not fit."""
    if model.source.table is model.target.table and tokenizers.source is not tokenizers.target:
        raise RecipeError("model.tie_embeddings: `all` needs one vocabulary for both sides; say tokenizer.joint=true")
    limits = model.encoder.limit, model.decoder.limit
    for side, limit, rows in zip(("encoder", "decoder"), limits, train.sides, strict=True):
        needed = 1 + int(rows.lengths.max())
        if limit is not None and needed > limit:
            raise RecipeError(
                f"model.{side}.positions.limit: {limit} positions, but training texts need {needed}; raise it, "
                f"or leave the long ones out with task.max_length={limit - 1}"
            )
