"""Options that several sources of generated data have, each with its sentence for the menu."""

from typing import Annotated

from annotated_doc import Doc

from regard.recipe import Count, Number

Train = Annotated[Count, Doc("Number of pairs to train on.")]
Valid = Annotated[Count, Doc("Number of pairs held out to validate on while training.")]
Test = Annotated[Count, Doc("Number of pairs held out for `regard evaluate`; training never sees them.")]
Seed = Annotated[Number, Doc("Number from which all chance is drawn: the same seed gives the same pairs.")]
