"""The values that the shell parser gives: commands, their words and redirections, in order."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct


class Variable(Struct, frozen=True, gc=False):
    """`$name` or `${name}`; unquoted, its value splits at blanks."""

    name: str
    quoted: bool


class Output(Struct, frozen=True, gc=False):
    """`$(…)` that is one command; its value is known where that command prints a heredoc."""

    command: Command


Piece: TypeAlias = str | Variable | Output | None
"""Part of a word; None where the value cannot be known."""


class Compound(Struct, frozen=True, gc=False):
    """A word that is not plain text."""

    pieces: tuple[Piece, ...]


Word: TypeAlias = str | Compound


class Redirect(Struct, gc=False):
    """`>`, `>>`, `<` with a target, or `<<` with a body. Only the parser fills the body in."""

    operator: Literal[">", ">>", "<", "<<"]
    target: Word
    body: str = ""


class Command(Struct, gc=False):
    """A simple command as written, reserved words and assignments in front included."""

    words: list[Word]
    redirects: list[Redirect]
    piped: bool
    """Whether it reads what the command before it prints."""


class Scope(Struct, frozen=True, gc=False):
    """The edge of a subshell: a change of directory does not leave it."""

    opens: bool


class Background(Struct, frozen=True, gc=False):
    """What stood before a `&`."""

    text: str


Item: TypeAlias = Command | Scope | Background
