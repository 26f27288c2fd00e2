"""What a recipe may say about data and tokenizers."""

from regard.datasets.dates import Dates
from regard.datasets.documents import Documents
from regard.datasets.files import Files
from regard.datasets.images import Glyphs, ImageFolder, Images, Mnist
from regard.datasets.numbers import Numbers
from regard.datasets.pairs import Pairs
from regard.datasets.phrases import Phrases
from regard.datasets.pydoc import Pydoc
from regard.datasets.shakespeare import Shakespeare
from regard.datasets.texts import TextFiles
from regard.datasets.tokenizer import Bpe, Bytes, Characters, Pretrained, TokenizerTrainer, Unigram, Words
from regard.datasets.toys import Toys
from regard.recipe import Slot

HINT = """say what to learn from: data.train=FILE (FILE.de and FILE.en) data.source=de data.target=en
or take built-in data: data.kind=numbers; `regard menu pairs` lists them all"""

TEXT_HINT = """say what to learn from: data.train=FILE (or a folder, or several)
or take built-in data: data.kind=pydoc; `regard menu texts` lists them all"""

IMAGE_HINT = """say what to learn from: data.train=FOLDER (with a folder for each class, or a .zip or .tar of such)
or take built-in data: data.kind=glyphs; `regard menu images` lists them all"""

SLOTS = (
    Slot("pairs", Pairs, "data: sentence pairs to learn from", {
        "files": Files,
        "numbers": Numbers,
        "dates": Dates,
        "phrases": Phrases,
        "toy": Toys,
    }, default="files", hint=HINT),
    Slot("texts", Documents, "data: texts to go on with", {
        "text": TextFiles,
        "pydoc": Pydoc,
        "shakespeare": Shakespeare,
    }, default="text", hint=TEXT_HINT, yields_to="train"),
    Slot("images", Images, "data: images and what each shows", {
        "folder": ImageFolder,
        "glyphs": Glyphs,
        "mnist": Mnist,
    }, default="folder", hint=IMAGE_HINT, yields_to="train"),
    Slot("tokenizer", TokenizerTrainer, "how text is cut", {
        "bpe": Bpe,
        "unigram": Unigram,
        "words": Words,
        "characters": Characters,
        "bytes": Bytes,
        "pretrained": Pretrained,
    }, default="bpe"),
)  # fmt: skip
