"""Rules about thinking: that it is signed, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from foldaway.dialects.rule import Action, Case, Mended, Rule
from foldaway.dialects.rules.edits import Edits, drop_parts
from foldaway.dialects.rules.pairs import is_client_result, last_ask
from foldaway.transcript import Payload, Thinking, ToolCall, Violation

THINKING_SIGNED = "thinking-signed"
THINKING_FIRST = "thinking-first"
THINKING_BOUND = "thinking-bound"
REASONING_FOLLOWED = "reasoning-followed"
THOUGHT_SIGNATURE = "thought-signature"

_NOT_OURS = "skip_thought_signature_validator"
"""The signature that Gemini documents for calls that it did not write itself."""
_DROP_HEADERS = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
_LATE = "thinking stands after what it led to"


def check_signed(case: Case) -> list[Violation]:
    """Return the thinking blocks without a signature or without data."""
    return [
        case.fault(
            THINKING_SIGNED,
            at,
            part.at,
            _missing_field(part),
            "remove the block, or put back what the provider sent",
        )
        for at, part in case.index.thinking
        if not part.signature
    ]


def mend_signed(case: Case, _: Sequence[Violation]) -> Mended:
    """Drop the blocks, and messages that held nothing else."""
    found = [
        (at, part, f"dropped {case.path(at, part.at)}: {_missing_field(part)}")
        for at, part in case.index.thinking
        if not part.signature
    ]
    return drop_parts(case, THINKING_SIGNED, found)


def _missing_field(part: Thinking) -> str:
    return "redacted thinking has no data" if part.redacted else "thinking has no signature"


def check_first(case: Case) -> list[Violation]:
    """Return thinking after a call or at the end of a turn, and a tool loop begun without it."""
    found = [
        case.fault(
            THINKING_FIRST,
            at,
            part.at,
            _LATE,
            "put it back before the call that it led to, or remove it",
        )
        for at, part in _list_late(case)
    ]
    return found + _open_loop(case)


def mend_first(case: Case, _: Sequence[Violation]) -> Mended:
    """Drop the blocks that are out of place: a moved one would be an altered one."""
    found = [
        (at, part, f"dropped {case.path(at, part.at)}: {_LATE}") for at, part in _list_late(case)
    ]
    return drop_parts(case, THINKING_FIRST, found)


def _list_late(case: Case) -> list[tuple[int, Thinking]]:
    found: list[tuple[int, Thinking]] = []
    for at in dict.fromkeys(at for at, _ in case.index.thinking):
        parts = case.messages[at].parts
        called = False
        end = len(parts) - _count_trailing(case, at)
        for place, part in enumerate(parts):
            if type(part) is Thinking:
                if called or place >= end:
                    found.append((at, part))
            elif type(part) is ToolCall and part.kind != "server":
                called = True
    return found


def _count_trailing(case: Case, at: int) -> int:
    """Return how many thinking blocks a turn ends with."""
    following = case.messages[at + 1] if at + 1 < len(case.messages) else None
    if following is not None and following.role == "assistant":
        return 0
    count = 0
    for part in reversed(case.messages[at].parts):
        if type(part) is not Thinking:
            break
        count += 1
    return count


def _open_loop(case: Case) -> list[Violation]:
    """Return the first message of a tool loop in progress that has no thinking at all."""
    if not is_enabled(case.transcript.frame.setting("thinking")):
        return []
    if not any(map(is_client_result, case.messages[-1].parts)):
        return []
    start = last_ask(case.messages[:-1]) + 1
    if any(at >= start for at, _ in case.index.thinking) or start >= len(case.messages):
        return []
    return [
        case.fault(
            THINKING_FIRST,
            start,
            "",
            "thinking is enabled, but the tool loop in progress has none",
            "disable thinking for this request, make it adaptive, or wait for the user's next "
            "message",
            mendable=False,
        )
    ]


def check_bound(case: Case) -> list[Violation]:
    """Return signed thinking after a message that Foldaway wrote, changed, moved or removed."""
    return [
        case.fault(
            THINKING_BOUND,
            at,
            part.at,
            f"thinking is bound to messages that changed (before message {start})",
            "remove it, or ask the provider to drop such blocks",
        )
        for start, at, part in _list_unbound(case)
    ]


def mend_bound(case: Case, _: Sequence[Violation]) -> Mended:
    """Drop the thinking of the turns after the first change."""
    found = [
        (at, part, f"dropped {case.path(at, part.at)}: earlier messages changed")
        for _, at, part in _list_unbound(case)
    ]
    return drop_parts(case, THINKING_BOUND, found)


def _list_unbound(case: Case) -> list[tuple[int, int, Thinking]]:
    if not case.index.thinking or not case.model_is(case.profile.bound_thinking_models):
        return []
    if is_set_to_drop(case.transcript.frame.setting("thinking")):
        return []
    start = _first_unbound(case)
    return [
        (start, at, part)
        for at, part in case.index.thinking
        if part.signature and (at >= start or (at == start - 1 and not _leads(case, at, part)))
    ]


def _first_unbound(case: Case) -> int:
    """Return the first message before which something changed; one past the last for none.

    A message that moved up has lost one before it. What changed in a message comes after the
    thinking that leads it.
    """
    for at, message in enumerate(case.messages):
        if message.position != at and message.origin in ("real", "arrival"):
            return at
        if message.origin == "arrival":  # it was never shown otherwise
            continue
        if message.origin != "real" or not message.intact:
            return at + 1
    return len(case.messages) + 1


def _leads(case: Case, at: int, part: Thinking) -> bool:
    for each in case.messages[at].parts:
        if each is part:
            return True
        if type(each) is not Thinking:
            break
    return False


def is_enabled(thinking: Any) -> bool:
    """Return whether a request's setting makes the model think before it calls tools."""
    return isinstance(thinking, dict) and cast("Payload", thinking).get("type") == "enabled"


def is_set_to_drop(thinking: Any) -> bool:
    """Return whether a request's setting has the provider drop thinking bound to something else."""
    return _field(_field(thinking, "block_binding"), "prefix_mismatch_behavior") == "drop_block"


class DropSettings(NamedTuple):
    """What asks a provider to drop thinking that is bound to something else."""

    fields: Payload
    headers: Mapping[str, str]


def drop_settings(body: Payload) -> DropSettings:
    """Return the fields and headers that a request must have so that the provider drops thinking
    bound to something else; none if it has the fields. Models that bind thinking think adaptively
    by default.
    """
    thinking = body.get("thinking")
    if is_set_to_drop(thinking):
        return DropSettings({}, {})
    binding = {"prefix_mismatch_behavior": "drop_block"}
    given = cast("Payload", thinking) if isinstance(thinking, dict) else {"type": "adaptive"}
    return DropSettings({"thinking": {**given, "block_binding": binding}}, _DROP_HEADERS)


def _field(value: Any, name: str) -> Any:
    return cast("Payload", value).get(name) if isinstance(value, dict) else None


def check_followed(case: Case) -> list[Violation]:
    """Return the reasoning items after which the assistant neither speaks nor calls."""
    return [
        case.fault(
            REASONING_FOLLOWED,
            at,
            part.at,
            "the reasoning is not followed by what it led to",
            "put back the message or call that followed it, or remove it",
        )
        for at, part in _list_unfollowed(case)
    ]


def mend_followed(case: Case, _: Sequence[Violation]) -> Mended:
    """Drop the reasoning items."""
    what = "dropped reasoning without the item that it led to"
    return drop_parts(
        case, REASONING_FOLLOWED, [(at, part, what) for at, part in _list_unfollowed(case)]
    )


def _list_unfollowed(case: Case) -> list[tuple[int, Thinking]]:
    messages = case.messages
    found: list[tuple[int, Thinking]] = []
    followed: dict[int, bool] = {}
    for at, part in reversed(case.index.thinking):
        after = messages[at + 1] if at + 1 < len(messages) else None
        if after is not None and len(after.parts) == 1 and type(after.parts[0]) is Thinking:
            followed[at] = followed.get(at + 1, False)
        else:
            followed[at] = after is not None and after.role == "assistant"
        if not followed[at]:
            found.append((at, part))
    return found[::-1]


def check_call_signature(case: Case) -> list[Violation]:
    """Return the first calls without a signature, on models that sign them.

    Where the model is not known, a signed call in the current turn says that it does.
    """
    return [
        case.fault(
            THOUGHT_SIGNATURE,
            at,
            call.at,
            f"{call.name!r}, the first call of the step, has no thought signature",
            f"put back the signature; for a foreign call the provider takes {_NOT_OURS!r}",
        )
        for at, call in _list_unsigned(case)
    ]


def mend_call_signature(case: Case, _: Sequence[Violation]) -> Mended:
    """Set the documented signature of calls that the provider did not write."""
    edits = Edits()
    actions: list[Action] = []
    for at, call in _list_unsigned(case):
        edits.put(at, call, replace(call, signature=_NOT_OURS, intact=False))
        what = f"carries {_NOT_OURS!r}, as documented for calls without a signature"
        actions.append(case.action(THOUGHT_SIGNATURE, at, f"the call {call.name!r} {what}"))
    return Mended(edits.apply(case.messages), tuple(actions))


def _list_unsigned(case: Case) -> list[tuple[int, ToolCall]]:
    if not case.index.calls:
        return []
    start = last_ask(case.messages)
    current = [(at, call) for at, call in case.index.calls if at > start]
    signs = case.model_is(case.profile.signed_call_models) or any(
        call.signature for _, call in current
    )
    if not signs:
        return []
    first = dict(reversed(current))
    return [(at, call) for at, call in sorted(first.items()) if not call.signature]


RULES = (
    Rule(
        name=THINKING_SIGNED,
        states="A thinking block carries its signature, a redacted one its data.",
        check=check_signed,
        mend=mend_signed,
        mends="drops the block",
    ),
    Rule(
        name=THINKING_FIRST,
        states="Thinking stands before what it led to, never at the end of a turn.",
        check=check_first,
        mend=mend_first,
        mends="drops the block; a tool loop without thinking where it is enabled is refused",
    ),
    Rule(
        name=THINKING_BOUND,
        states="Signed thinking follows exactly the messages that it followed when it was written.",
        check=check_bound,
        mend=mend_bound,
        mends="drops thinking after the first message that changed",
    ),
    Rule(
        name=REASONING_FOLLOWED,
        states="A reasoning item is followed by the item that it led to.",
        check=check_followed,
        mend=mend_followed,
        mends="drops the reasoning",
    ),
    Rule(
        name=THOUGHT_SIGNATURE,
        states="The first call of each step of the current turn carries its thought signature.",
        check=check_call_signature,
        mend=mend_call_signature,
        mends=f"sets the signature that is documented for foreign calls, `{_NOT_OURS}`",
    ),
)
