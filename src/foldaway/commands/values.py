"""What a command answers: values that a terminal, a chat platform or a web page can show."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Figure(Struct, frozen=True):
    """One number with its name."""

    name: str
    value: float
    unit: Literal["tokens", "messages", "requests", "dollars", "share", ""] = ""
    """A `share` is from 0 to 1."""

    @property
    def text(self) -> str:
        """The number as people read it."""
        match self.unit:
            case "dollars":
                return f"${self.value:,.4f}" if self.value < 0.1 else f"${self.value:,.2f}"
            case "share":
                return f"{self.value:.0%}"
            case _:
                return f"{self.value:,.0f}"


class CommandChoice(Struct, frozen=True):
    """Something to go on with: to choose it, run its line."""

    line: str
    label: str
    detail: str = ""


class Completion(Struct, frozen=True):
    """What the last word of a line may become."""

    text: str
    help: str = ""


class CommandAnswer(Struct, frozen=True, kw_only=True):
    """What a command did; nothing in it is raw content but `text` and `rows`, without secrets."""

    command: str
    """Its name, without the slash; "" if there is no such command."""
    status: Literal["done", "unchanged", "failed"] = "done"
    headline: str
    """One sentence."""
    figures: tuple[Figure, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """A table; its first row has the heads."""
    text: str = ""
    """Longer words: an original, a preview, an export."""
    warnings: tuple[str, ...] = ()
    choices: tuple[CommandChoice, ...] = ()
    session_id: str = ""
    """The current session afterwards; another one than before if the command switched."""


def as_text(answer: CommandAnswer) -> str:
    """Return an answer as plain text, for hosts that show nothing else."""
    parts = [answer.headline, *(f"Note: {one}" for one in answer.warnings)]
    parts += [f"{one.name}: {one.text}" for one in answer.figures]
    if answer.rows:
        widths = [max(map(len, column)) for column in zip(*answer.rows, strict=True)]
        parts += [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in answer.rows
        ]
    parts += [answer.text] if answer.text else []
    parts += [f"{one.line}  {one.label} {one.detail}".rstrip() for one in answer.choices]
    return "\n".join(parts)
