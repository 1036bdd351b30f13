"""Rules about calls that have no result, and what several rules ask about calls and results."""

from __future__ import annotations

from collections.abc import Sequence

from foldaway.dialects.rule import Case, Mended, Rule
from foldaway.dialects.rules.edits import insert_messages, replace_parts
from foldaway.dialects.shape import quote
from foldaway.transcript import Message, Opaque, Part, Text, ToolCall, ToolResult, Violation, is_ask

CALL_ANSWERED = "call-answered"
CALL_PENDING = "call-pending"
_STUB = "[no result was recorded for this call]"
"""The text of a result that was never recorded; brackets say that nobody wrote it."""


def check_answered(case: Case) -> list[Violation]:
    """Return the calls without a result before the last step."""
    return [
        case.fault(
            CALL_ANSWERED,
            at,
            call.at,
            f"the call {quote(call.id)} has no result",
            "add its result, or remove the call",
            mendable=_can_stub(call),
        )
        for at, call in _unanswered_before_last_step(case)
    ]


def mend_answered(case: Case, _: Sequence[Violation]) -> Mended:
    """Add explicit stub results."""
    return _add_stubs(case, CALL_ANSWERED, _unanswered_before_last_step(case))


def check_pending(case: Case) -> list[Violation]:
    """Return the calls of the last step that have no result yet."""
    return [
        case.fault(
            CALL_PENDING,
            at,
            call.at,
            f"the call {quote(call.id)} has no result yet",
            "send the list when all results are there, or add a result that says why not",
            mendable=_can_stub(call),
        )
        for at, call in _unanswered_in_last_step(case)
    ]


def mend_pending(case: Case, _: Sequence[Violation]) -> Mended:
    """Add explicit stub results."""
    return _add_stubs(case, CALL_PENDING, _unanswered_in_last_step(case))


def _unanswered_before_last_step(case: Case) -> list[tuple[int, ToolCall]]:
    """Return the unanswered calls that the conversation went on from."""
    missing = _unanswered(case)
    last = _last_step(case) if missing else 0
    return [(at, call) for at, call in missing if at < last]


def _unanswered_in_last_step(case: Case) -> list[tuple[int, ToolCall]]:
    """Return the unanswered calls of the last step."""
    missing = _unanswered(case)
    last = _last_step(case) if missing else 0
    return [(at, call) for at, call in missing if at >= last]


def _unanswered(case: Case) -> list[tuple[int, ToolCall]]:
    """Return the calls, each with its message, that the client should have answered."""
    missing = [
        (at, call)
        for (at, call), answer in zip(case.index.calls, case.index.answer_of, strict=True)
        if answer < 0 and call.kind != "server" and not _is_approval_request(call)
    ]
    return [] if missing and _has_references(case) else missing


def _last_step(case: Case) -> int:
    """Return the message at which the last step begins: calls, with results or nothing after."""
    messages = case.messages
    at = len(messages) - 1
    while at >= 0 and has_only_results(messages[at]):
        at -= 1
    if at < 0 or messages[at].role != "assistant":
        return len(messages)
    while at > 0 and case.profile.answers != "following run" and _has_words(messages[at - 1]):
        at -= 1
    return at


def _can_stub(call: ToolCall) -> bool:
    """Return whether words can stand for a result: a computer call is answered by a picture."""
    return call.kind != "hosted" or call.name != "computer"


def _is_approval_request(call: ToolCall) -> bool:
    """Return whether a call only asks for approval, which need not be given."""
    return call.kind == "hosted" and (call.wire or {}).get("type") == "mcp_approval_request"


def _add_stubs(case: Case, rule: str, missing: Sequence[tuple[int, ToolCall]]) -> Mended:
    """Give each of these calls an explicit stub result, in the place that the profile wants."""
    stubs: dict[int, list[ToolResult]] = {}
    places = _result_places(case)
    for at, call in missing:
        stubs.setdefault(places[at], []).append(_make_stub(call))
    messages = list(case.messages)
    after: dict[int, list[Message]] = {}
    role = case.profile.result_role
    for place, results in stubs.items():
        if case.profile.answers != "next message":
            after[place] = [Message(role, (each,), origin="stub") for each in results]
        elif place + 1 < len(messages) and any(map(is_client_result, messages[place + 1].parts)):
            messages[place + 1] = _join_results(messages[place + 1], results)
        else:
            after[place] = [Message(role, tuple(results), origin="stub")]
    actions = tuple(
        case.action(rule, at, f"added a stub result for the call {call.id!r}")
        for at, call in missing
    )
    return Mended(insert_messages(messages, after), actions)


def _make_stub(call: ToolCall) -> ToolResult:
    """Return the explicit result of a call that has none; a hosted one can only have failed."""
    failed = call.kind == "hosted"
    return ToolResult(call.id, (Text(_STUB),), failed, name=call.name, kind=call.kind)


def _result_places(case: Case) -> list[int]:
    """Return, for each message, the one after which the results of its calls belong."""
    messages = case.messages
    if case.profile.answers != "following run":
        return turn_ends(messages)
    places = list(range(len(messages)))
    for at in range(len(messages) - 2, -1, -1):
        if messages[at + 1].role == "tool":
            places[at] = places[at + 1]
    return places


def _join_results(message: Message, results: Sequence[ToolResult]) -> Message:
    """Return the message with more results after those that it has."""
    own = [part for part in message.parts if is_client_result(part)]
    rest = [part for part in message.parts if not is_client_result(part)]
    return replace_parts(message, (*own, *results, *rest))


def is_perhaps_stored(case: Case) -> bool:
    """Return whether the provider may hold a call or result that the list does not show.

    That is so in a chained request, and if an item is named instead of given.
    """
    frame = case.transcript.frame
    chained = frame.setting("previous_response_id") or frame.setting("conversation")
    return bool(chained) or _has_references(case)


def _has_references(case: Case) -> bool:
    """Return whether an item is named instead of given: it may be any call or result."""
    return case.transcript.dialect == "openai-responses" and any(
        type(part) is Opaque and part.kind == "item_reference"
        for message in case.messages
        for part in message.parts
    )


def last_ask(messages: Sequence[Message]) -> int:
    """Return the last message in which the user asks, -1 if there is none."""
    at = len(messages) - 1
    while at >= 0 and not is_ask(messages[at]):
        at -= 1
    return at


def has_only_results(message: Message) -> bool:
    """Return whether a message holds results of client tools and nothing else."""
    return bool(message.parts) and all(is_client_result(part) for part in message.parts)


def is_client_result(part: Part) -> bool:
    """Return whether a part is a result that the client sends."""
    return type(part) is ToolResult and part.kind != "server"


def turn_ends(messages: Sequence[Message]) -> list[int]:
    """Return, for each message, the last of the run of assistant messages that follows it."""
    ends = list(range(len(messages)))
    for at in range(len(messages) - 2, -1, -1):
        if _has_words(messages[at + 1]):
            ends[at] = ends[at + 1]
    return ends


def number_steps(case: Case) -> list[int]:
    """Return, for each message, the number of the step that it belongs to."""
    numbers: list[int] = []
    number = 0
    before: Message | None = None
    alone = case.profile.answers == "following run"
    for message in case.messages:
        if _has_words(message) and (alone or before is None or not _has_words(before)):
            number += 1
        numbers.append(number)
        before = message
    return numbers


def _has_words(message: Message) -> bool:
    return message.role == "assistant"


RULES = (
    Rule(
        name=CALL_ANSWERED,
        states="Every call that the conversation went on from has its result.",
        check=check_answered,
        mend=mend_answered,
        mends="adds a stub result that says so",
    ),
    Rule(
        name=CALL_PENDING,
        states="The calls of the last step have their results before the list is sent.",
        check=check_pending,
        mend=mend_pending,
        mends="adds a stub result that says so",
    ),
)
