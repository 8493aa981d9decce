"""The command line. Every command calls public functions and prints what they return.

Data go to standard output, messages to standard error, colours to terminals only.

A new command is a function in one of these files and a line in ``COMMANDS`` of ``program``. It imports what it
needs inside, so that ``exactfit --help`` stays quick, and raises: ``main`` turns errors into one line and an exit
code.
"""

from __future__ import annotations

from .lab_commands import DEMO
from .output import ExitCode
from .program import app, main

__all__ = ["DEMO", "ExitCode", "app", "main"]
