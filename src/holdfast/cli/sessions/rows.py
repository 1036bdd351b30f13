"""A session as the commands name it, and as `--json` prints it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from holdfast.dialects.jsontext import dump
from holdfast.sessions.finding import Shown
from holdfast.stores.values import SessionInfo

F = TypeVar("F", bound=Callable[..., Any])

_PLACE = re.compile(r"m?([0-9]{1,12})")


class Position(click.ParamType[int]):
    """A place in a log: 12 or m12."""

    name = "position"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:  # fmt: skip
        """Return the number, or fail with a sentence."""
        found = _PLACE.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is no place in a session; give one from m0 on", param, ctx)
        return int(found[1])


def session_argument(command: F) -> F:
    """Add the argument that names a session."""
    return click.argument("session")(command)


def row_of(info: SessionInfo) -> dict[str, Any]:
    """Return a session as it is printed for programs."""
    return {
        "session": info.id, "source": info.source, "source_id": info.source_id,
        "title": info.title, "goal": info.goal, "model": info.model, "kind": info.kind,
        "dialect": info.dialect, "folder": info.cwd, "profile": info.profile,
        "started": info.started, "updated": info.updated, "ended": info.ended,
        "end_reason": info.end_reason, "messages": info.length, "tokens": info.tokens,
        "compactions": info.compactions, "view": info.view, "mode": info.mode,
        "parent": info.parent_id, "root": info.root_id, "descent": info.descent,
        "forked_at": info.forked_at, "first_ask": info.first_ask,
    }  # fmt: skip


def message_row(message: Shown) -> dict[str, Any]:
    """Return a message as it is printed for programs."""
    return {
        "position": message.position, "role": message.role, "time": message.time,
        "text": message.text, "cut": message.cut, "tools": list(message.tools),
        "generated": message.generated,
    }  # fmt: skip


def print_row(value: dict[str, Any]) -> None:
    """Print one line of JSON."""
    click.echo(dump(value))


def print_session(info: SessionInfo, told: str, *, as_json: bool) -> None:
    """Print a session that was changed, and for people what was done."""
    if as_json:
        print_row(row_of(info))
    else:
        click.echo(f"{info.id}: {told}")
