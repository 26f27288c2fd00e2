"""What is done with trained runs: the calls behind the verbs of the command line, a file for each task."""

from regard.verbs.evaluation import compare, evaluate
from regard.verbs.given import checked, named
from regard.verbs.images import classifier_of, classify, restore, restorer_of
from regard.verbs.language import check_draft, drafted, generate, generator_of, sampling_keys, score
from regard.verbs.looking import look
from regard.verbs.runs import RunLike, check_one_task, check_verb, opened
from regard.verbs.translation import align, split_keys, translate, translator_of

__all__ = [
    "RunLike",
    "align",
    "check_draft",
    "check_one_task",
    "check_verb",
    "checked",
    "classifier_of",
    "classify",
    "compare",
    "drafted",
    "evaluate",
    "generate",
    "generator_of",
    "look",
    "named",
    "opened",
    "restore",
    "restorer_of",
    "sampling_keys",
    "score",
    "split_keys",
    "translate",
    "translator_of",
]
