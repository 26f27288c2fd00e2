"""What parts of your own are made of: the classes to extend, and the types an option may have.

```python
import regard
from regard.extend import Attention, Doc, Positive, Site

class Cosine(Attention):
    "Only the direction counts."

    def __init__(self, site: Site, *, sharpness: Annotated[Positive, Doc("How much the best stand out.")] = 10.0): ...

regard.menu().add("attention", "cosine", Cosine)
```

A constructor's positional parameters are handed over by the part that contains it; its keyword-only ones are what a
recipe may say: a type and a default each, and a sentence in `Doc`. An option annotated `Part[Norm]` lets a recipe
choose a part for it (`choose("rms")` is its default); `.build(…)` makes it. `docs/extend.md` shows whole examples.
"""

from annotated_doc import Doc

from regard.datasets.data import SPLITS, Data, Report, Split
from regard.datasets.pairs import Pair, Pairs
from regard.datasets.tokenizer import Tokenizer, TokenizerTrainer
from regard.datasets.tokenizer.trainer import ByteTrainer
from regard.decoding.search import Search
from regard.listener import Listener
from regard.looking.line import Line, line, plain_line
from regard.looking.scene import Piece, Scene
from regard.model.assembly import Assembly, ImageClassifier, ImageRestorer, LanguageModel, Seq2Seq, SequenceRegressor
from regard.model.attention import Attention, Pattern, Site
from regard.model.attention.kernels import Kernel, attend, weights
from regard.model.attention.view import View
from regard.model.mask import Mask
from regard.model.mlp import Mlp
from regard.model.norms import Norm
from regard.model.positions import Positions
from regard.model.recurrent import Cell
from regard.model.residual import Residual
from regard.model.stack import Decoder, Encoder
from regard.model.vision import ImageBody
from regard.recipe import Count, File, Menu, NonNegative, Number, Part, Positive, Share, Slot, choose
from regard.tasks.task import Batch, Batches, Evaluation, Exam, Kept, Loss, Table, Task
from regard.training.optimizer import OptimizerFactory, parameters
from regard.training.schedule import Schedule

__all__ = [
    "SPLITS",
    "Assembly",
    "Attention",
    "Batch",
    "Batches",
    "ByteTrainer",
    "Cell",
    "Count",
    "Data",
    "Decoder",
    "Doc",
    "Encoder",
    "Evaluation",
    "Exam",
    "File",
    "ImageBody",
    "ImageClassifier",
    "ImageRestorer",
    "Kept",
    "Kernel",
    "LanguageModel",
    "Line",
    "Listener",
    "Loss",
    "Mask",
    "Menu",
    "Mlp",
    "NonNegative",
    "Norm",
    "Number",
    "OptimizerFactory",
    "Pair",
    "Pairs",
    "Part",
    "Pattern",
    "Piece",
    "Positions",
    "Positive",
    "Report",
    "Residual",
    "Scene",
    "Schedule",
    "Search",
    "Seq2Seq",
    "SequenceRegressor",
    "Share",
    "Site",
    "Slot",
    "Split",
    "Table",
    "Task",
    "Tokenizer",
    "TokenizerTrainer",
    "View",
    "attend",
    "choose",
    "line",
    "parameters",
    "plain_line",
    "weights",
]
