"""regard data: data sets from the package registry."""

from pathlib import Path
from typing import Annotated

import typer

from regard.commands.show import as_json, columns, console

data = typer.Typer(help="Data that come with Regard, and data from the package registry.", no_args_is_help=True)
