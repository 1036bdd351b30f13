"""Rules about roles: which there are, who speaks first, next and last, and who calls tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from foldaway.dialects.rule import Action, Case, Mended, Rule
from foldaway.dialects.rules.content import begins_with_compaction
from foldaway.dialects.rules.edits import flaws_of, insert_messages, replace_parts, rewrite
from foldaway.dialects.shape import quote
from foldaway.transcript import (
    Message,
    Part,
    Payload,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Violation,
)

ROLE_KNOWN = "role-known"
TOOL_SPEAKER = "tool-speaker"
SYSTEM_FIRST = "system-first"
USER_FIRST = "user-first"
ROLES_ALTERNATE = "roles-alternate"
NO_PREFILL = "no-prefill"

_START = "[the start of this conversation is missing]"
_BRIDGE = "[no reply was recorded here]"
_SYSTEM_MARK = "[system] "
"""Before the words of a system message that becomes a user message."""
_TURNS = ("user", "assistant")


def check_known(case: Case) -> list[Violation]:
    """Return the roles that nobody knows, and system messages for a model that takes none."""
    found = flaws_of(ROLE_KNOWN)(case)
    if not case.model_is(case.profile.no_system_models):
        return found
    return found + [
        case.fault(
            ROLE_KNOWN,
            at,
            "role",
            f"{case.model!r} takes no system messages in the list",
            "put its text into the field `system` of the request",
            mendable=False,
        )
        for at, message in enumerate(case.messages)
        if message.role == "system"
    ]


def mend_known(case: Case, violations: Sequence[Violation]) -> Mended:
    """Write the role that an alias stands for."""
    actions = tuple(
        case.action(
            ROLE_KNOWN,
            found.index,
            f"role {_former_role(case, found.index)} is now {found.remedy.removeprefix('use ')}",
        )
        for found in violations
    )
    return Mended(rewrite(case, violations).messages, actions)


def _former_role(case: Case, at: int) -> str:
    wire: Any = case.messages[at].wire
    return quote(cast("Payload", wire).get("role")) if isinstance(wire, dict) else "(none)"


def check_tool_speaker(case: Case) -> list[Violation]:
    """Return the calls that are not the assistant's, and the client's results that are."""
    messages = case.messages
    found = [
        case.fault(
            TOOL_SPEAKER,
            at,
            call.at,
            f"the call {quote(call.id)} is not in an assistant message",
            "give the message the role of who wrote it",
            mendable=False,
        )
        for at, call in case.index.calls
        if messages[at].role != "assistant"
    ]
    found += [
        case.fault(
            TOOL_SPEAKER,
            at,
            result.at,
            f"the result for {quote(result.call_id)} is in an assistant message",
            "give the message the role of who wrote it",
            mendable=False,
        )
        for at, result in case.index.results
        if result.kind != "server" and messages[at].role == "assistant"
    ]
    return found


def check_system_first(case: Case) -> list[Violation]:
    """Return the system messages after the first message, and developer messages anywhere."""
    return [
        case.fault(
            SYSTEM_FIRST,
            at,
            "role",
            f"a {message.role} message {_describe_problem(message, at)}",
            "put all of it into one system message at the start",
        )
        for at, message in enumerate(case.messages)
        if message.role == "developer" or (message.role == "system" and at)
    ]


def mend_system_first(case: Case, _: Sequence[Violation]) -> Mended:
    """Merge the leading ones; later ones become user messages marked `[system]`, in place."""
    done: list[Message] = []
    actions: list[Action] = []
    leading = True
    for at, message in enumerate(case.messages):
        if message.role not in ("system", "developer"):
            leading = False
            done.append(message)
        elif not leading:
            done.append(_as_user(message))
            actions.append(case.action(SYSTEM_FIRST, at, "is now a user message marked '[system]'"))
        elif done:
            done[0] = _merge_system(done[0], message)
            actions.append(
                case.action(SYSTEM_FIRST, at, "merged into the system message at the start")
            )
        else:
            own = message.role == "system"
            done.append(message if own else _with_role(message, "system", message.parts))
            actions += [] if own else [case.action(SYSTEM_FIRST, at, "is now a system message")]
    return Mended(tuple(done), tuple(actions))


def _describe_problem(message: Message, at: int) -> str:
    return "is not at the start" if at else "is not known here"


def _with_role(message: Message, role: str, parts: tuple[Part, ...]) -> Message:
    return replace(replace_parts(message, parts), role=role)


def _as_user(message: Message) -> Message:
    first, *rest = message.parts or (Text(""),)
    if type(first) is Text:
        marked = replace(first, text=f"{_SYSTEM_MARK}{first.text}", intact=False)
        return _with_role(message, "user", (marked, *rest))
    return _with_role(message, "user", (Text(_SYSTEM_MARK.strip()), first, *rest))


def _merge_system(one: Message, other: Message) -> Message:
    last, first = (one.parts or (None,))[-1], (other.parts or (None,))[0]
    if type(last) is Text and type(first) is Text and last.wire is None and first.wire is None:
        joined = replace(last, text=f"{last.text}\n\n{first.text}")
        return replace_parts(one, (*one.parts[:-1], joined, *other.parts[1:]))
    return replace_parts(one, (*one.parts, *other.parts))


def check_user_first(case: Case) -> list[Violation]:
    """Return the first message after the system messages if it is the assistant's.

    A compaction block stands for the messages before it, the user's first one among them.
    """
    at = _first_turn(case)
    if at < 0 or case.messages[at].role != "assistant" or begins_with_compaction(case.messages[at]):
        return []
    return [
        case.fault(
            USER_FIRST,
            at,
            "",
            "the conversation begins with the assistant",
            "begin with the message of the user that it answers",
        )
    ]


def mend_user_first(case: Case, _: Sequence[Violation]) -> Mended:
    """Put a placeholder before it that says that the start is missing."""
    at = _first_turn(case)
    start = Message("user", (Text(_START),), origin="placeholder")
    action = case.action(
        USER_FIRST, at, "put a placeholder of the user before the assistant's message"
    )
    return Mended(insert_messages(case.messages, {at - 1: [start]}), (action,))


def _first_turn(case: Case) -> int:
    for at, message in enumerate(case.messages):
        if message.role not in ("system", "developer"):
            return at
    return -1


def check_alternate(case: Case) -> list[Violation]:
    """Return the messages that follow one of the same role, or a user's after a tool's."""
    found: list[Violation] = []
    before = ""
    for at, message in enumerate(case.messages):
        role = message.role
        if role == before and role in _TURNS and _is_same_kind(case, at):
            found.append(
                case.fault(
                    ROLES_ALTERNATE,
                    at,
                    "",
                    f"follows another {role} message",
                    "merge the two, or put the reply between them",
                )
            )
        elif role == "user" and before == "tool" and not case.profile.user_after_tool:
            found.append(
                case.fault(
                    ROLES_ALTERNATE,
                    at,
                    "",
                    "a user message follows a tool message directly",
                    "put the assistant's reply between them",
                )
            )
        before = role
    return found


def mend_alternate(case: Case, violations: Sequence[Violation]) -> Mended:
    """Merge neighbours; if that would lose something, put a placeholder between them."""
    at_fault = {violation.index for violation in violations}
    done: list[Message] = []
    actions: list[Action] = []
    for at, message in enumerate(case.messages):
        if at not in at_fault:
            done.append(message)
        elif done[-1].role == message.role and _can_merge(done[-1], message):
            done[-1] = _merge_turns(done[-1], message)
            actions.append(
                case.action(ROLES_ALTERNATE, at, f"merged with the {message.role} message before")
            )
        else:
            role = "user" if message.role == "assistant" else "assistant"
            done += [Message(role, (Text(_BRIDGE),), origin="placeholder"), message]
            actions.append(
                case.action(ROLES_ALTERNATE, at, f"put a placeholder of the {role} before it")
            )
    return Mended(tuple(done), tuple(actions))


def _is_same_kind(case: Case, at: int) -> bool:
    """Return whether the dialect writes the two with the same speaker."""
    one, other = _fields(case.messages[at - 1]), _fields(case.messages[at])
    return one.get("from") == other.get("from") or not one or not other


def _can_merge(one: Message, other: Message) -> bool:
    """Return whether no field but role and content tells the two apart."""
    ours, theirs = _fields(one), _fields(other)
    return ours.get("name") == theirs.get("name") or not ours or not theirs


def _fields(message: Message) -> dict[str, Any]:
    wire: Any = message.wire
    return wire if isinstance(wire, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _merge_turns(one: Message, other: Message) -> Message:
    parts: list[Part] = list(one.parts)
    for part in other.parts:
        last = parts[-1] if parts else None
        if type(part) is Text and type(last) is Text and part.wire is None and last.wire is None:
            parts[-1] = replace(last, text=f"{last.text}\n\n{part.text}")
        elif type(part) is Thinking and not part.signature and (own := _first_thought(parts)) >= 0:
            thought = parts[own]
            assert isinstance(thought, Thinking)
            parts[own] = replace(thought, text=f"{thought.text}\n\n{part.text}", intact=False)
        else:
            parts.append(part)
    merged = replace_parts(one, tuple(parts))
    origin = one.origin if one.origin == other.origin else "real"
    return replace(merged, origin=origin, flaws=(*one.flaws, *other.flaws))


def _first_thought(parts: Sequence[Part]) -> int:
    for at, part in enumerate(parts):
        if type(part) is Thinking and not part.signature:
            return at
    return -1


def check_no_prefill(case: Case) -> list[Violation]:
    """Return the last message if it is a prefill and the model is known to refuse one.

    A turn that a server tool paused is sent back as it is, and calls are another rule's.
    """
    if not case.messages:
        return []
    last = case.messages[-1]
    if last.role != "assistant" or not case.model_is(case.profile.no_prefill_models):
        return []
    if any(type(part) in (ToolCall, ToolResult) for part in last.parts):
        return []
    return [
        case.fault(
            NO_PREFILL,
            len(case.messages) - 1,
            "",
            f"the request ends with the assistant, which {case.model!r} refuses as a prefill",
            "append the user's next message, or remove this one",
            mendable=False,
        )
    ]


RULES = (
    Rule(
        name=ROLE_KNOWN,
        states="Every message has a role that the provider knows.",
        check=check_known,
        mend=mend_known,
        mends="writes the role that an alias stands for; any other is refused",
    ),
    Rule(
        name=TOOL_SPEAKER,
        states="The assistant calls tools; results come from the other side.",
        check=check_tool_speaker,
    ),
    Rule(
        name=SYSTEM_FIRST,
        states="There is one system message, and it is the first.",
        check=check_system_first,
        mend=mend_system_first,
        mends="merges the leading ones; a later one becomes a user message marked `[system]`, "
        "in place",
    ),
    Rule(
        name=USER_FIRST,
        states="The conversation begins with a message of the user.",
        check=check_user_first,
        mend=mend_user_first,
        mends="puts a placeholder first that says that the start is missing",
    ),
    Rule(
        name=ROLES_ALTERNATE,
        states="User and assistant take turns.",
        check=check_alternate,
        mend=mend_alternate,
        mends="merges same-role neighbors; if that would lose something a placeholder goes between",
    ),
    Rule(
        name=NO_PREFILL,
        states="A request does not end with a message of the assistant.",
        check=check_no_prefill,
    ),
)
