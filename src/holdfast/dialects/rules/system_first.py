"""There is one system message, and it is the first."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.dialects.rule import Action, Case, Mended, Rule
from holdfast.dialects.rules.edit import changed
from holdfast.transcript import Message, Part, Text, Violation

NAME = "system-first"
MARK = "[system] "


def check(case: Case) -> list[Violation]:
    """Return the system messages after the first message, and developer messages anywhere."""
    return [
        case.fault(
            NAME, at, "role", f"a {message.role} message {_why(message, at)}",
            "put all of it into one system message at the start",
        )
        for at, message in enumerate(case.messages)
        if message.role == "developer" or (message.role == "system" and at)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Merge the leading ones; later ones become user messages marked `[system]`, in place."""
    del violations
    done: list[Message] = []
    actions: list[Action] = []
    leading = True
    for at, message in enumerate(case.messages):
        if message.role not in ("system", "developer"):
            leading = False
            done.append(message)
        elif not leading:
            done.append(_as_user(message))
            actions.append(case.action(NAME, at, "is now a user message marked '[system]'"))
        elif done:
            done[0] = _merged(done[0], message)
            actions.append(case.action(NAME, at, "merged into the system message at the start"))
        else:
            own = message.role == "system"
            done.append(message if own else _as(message, "system", message.parts))
            actions += [] if own else [case.action(NAME, at, "is now a system message")]
    return Mended(tuple(done), tuple(actions))


def _why(message: Message, at: int) -> str:
    return "is not at the start" if at else "is not known here"


def _as(message: Message, role: str, parts: tuple[Part, ...]) -> Message:
    return replace(changed(message, parts), role=role)


def _as_user(message: Message) -> Message:
    first, *rest = message.parts or (Text(""),)
    if type(first) is Text:
        marked = replace(first, text=f"{MARK}{first.text}", intact=False)
        return _as(message, "user", (marked, *rest))
    return _as(message, "user", (Text(MARK.strip()), first, *rest))


def _merged(one: Message, other: Message) -> Message:
    last, first = (one.parts or (None,))[-1], (other.parts or (None,))[0]
    if type(last) is Text and type(first) is Text and last.wire is None and first.wire is None:
        joined = replace(last, text=f"{last.text}\n\n{first.text}")
        return changed(one, (*one.parts[:-1], joined, *other.parts[1:]))
    return changed(one, (*one.parts, *other.parts))


RULE = Rule(
    name=NAME,
    states="There is one system message, and it is the first.",
    check=check,
    mend=mend,
    mends="merges the leading ones; a later one becomes a user message marked `[system]`, in place",
)
