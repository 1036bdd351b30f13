"""Calls and results as pairs: what several rules ask about them."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Case, Mended
from holdfast.dialects.rules.edit import changed, inserted, stub_for
from holdfast.transcript import Message, Opaque, Part, ToolCall, ToolResult, is_ask


def unanswered(case: Case) -> list[tuple[int, ToolCall]]:
    """Return the calls, each with its message, that the client should have answered."""
    missing = [
        (at, call)
        for (at, call), answer in zip(case.index.calls, case.index.answer_of, strict=True)
        if answer < 0 and call.kind != "server" and not _asks_leave(call)
    ]
    return [] if missing and _holds_references(case) else missing


def before_last_step(case: Case) -> list[tuple[int, ToolCall]]:
    """Return the unanswered calls that the conversation went on from."""
    missing = unanswered(case)
    last = last_step(case) if missing else 0
    return [(at, call) for at, call in missing if at < last]


def of_last_step(case: Case) -> list[tuple[int, ToolCall]]:
    """Return the unanswered calls of the last step."""
    missing = unanswered(case)
    last = last_step(case) if missing else 0
    return [(at, call) for at, call in missing if at >= last]


def may_be_stored(case: Case) -> bool:
    """Return whether the provider may hold a call or result that the list does not show.

    That is so in a chained request, and where an item is named instead of given.
    """
    frame = case.transcript.frame
    chained = frame.setting("previous_response_id") or frame.setting("conversation")
    return bool(chained) or _holds_references(case)


def last_ask(messages: Sequence[Message]) -> int:
    """Return the last message in which the user asks, -1 where there is none."""
    at = len(messages) - 1
    while at >= 0 and not is_ask(messages[at]):
        at -= 1
    return at


def can_stub(call: ToolCall) -> bool:
    """Return whether words can stand for a result: a computer call is answered by a picture."""
    return call.kind != "hosted" or call.name != "computer"


def last_step(case: Case) -> int:
    """Return the message at which the last step begins: calls, with results or nothing after."""
    messages = case.messages
    at = len(messages) - 1
    while at >= 0 and holds_only_results(messages[at]):
        at -= 1
    if at < 0 or messages[at].role != "assistant":
        return len(messages)
    while at > 0 and case.profile.answers != "following run" and _speaks(messages[at - 1]):
        at -= 1
    return at


def holds_only_results(message: Message) -> bool:
    """Return whether a message holds results of client tools and nothing else."""
    return bool(message.parts) and all(is_client_result(part) for part in message.parts)


def is_client_result(part: Part) -> bool:
    """Return whether a part is a result that the client sends."""
    return type(part) is ToolResult and part.kind != "server"


def turn_ends(messages: Sequence[Message]) -> list[int]:
    """Return, for each message, the last of the run of assistant messages that follows it."""
    ends = list(range(len(messages)))
    for at in range(len(messages) - 2, -1, -1):
        if _speaks(messages[at + 1]):
            ends[at] = ends[at + 1]
    return ends


def steps(case: Case) -> list[int]:
    """Return, for each message, the number of the step that it belongs to."""
    numbers: list[int] = []
    number = 0
    before: Message | None = None
    alone = case.profile.answers == "following run"
    for message in case.messages:
        if _speaks(message) and (alone or before is None or not _speaks(before)):
            number += 1
        numbers.append(number)
        before = message
    return numbers


def add_stubs(case: Case, rule: str, missing: Sequence[tuple[int, ToolCall]]) -> Mended:
    """Give each of these calls an explicit stub result, where the profile wants results."""
    stubs: dict[int, list[ToolResult]] = {}
    places = _places(case)
    for at, call in missing:
        stubs.setdefault(places[at], []).append(stub_for(call))
    messages = list(case.messages)
    after: dict[int, list[Message]] = {}
    role = case.profile.result_role
    for place, results in stubs.items():
        if case.profile.answers != "next message":
            after[place] = [Message(role, (each,), origin="stub") for each in results]
        elif place + 1 < len(messages) and any(map(is_client_result, messages[place + 1].parts)):
            messages[place + 1] = _joined(messages[place + 1], results)
        else:
            after[place] = [Message(role, tuple(results), origin="stub")]
    actions = tuple(
        case.action(rule, at, f"added a stub result for the call {call.id!r}")
        for at, call in missing
    )
    return Mended(inserted(messages, after), actions)


def _holds_references(case: Case) -> bool:
    """Return whether an item is named instead of given: it may be any call or result."""
    return case.transcript.dialect == "openai-responses" and any(
        type(part) is Opaque and part.kind == "item_reference"
        for message in case.messages
        for part in message.parts
    )


def _asks_leave(call: ToolCall) -> bool:
    """Return whether a call only asks for approval, which need not be given."""
    return call.kind == "hosted" and (call.wire or {}).get("type") == "mcp_approval_request"


def _speaks(message: Message) -> bool:
    return message.role == "assistant"


def _places(case: Case) -> list[int]:
    """Return, for each message, the one after which the results of its calls belong."""
    messages = case.messages
    if case.profile.answers != "following run":
        return turn_ends(messages)
    places = list(range(len(messages)))
    for at in range(len(messages) - 2, -1, -1):
        if messages[at + 1].role == "tool":
            places[at] = places[at + 1]
    return places


def _joined(message: Message, results: Sequence[ToolResult]) -> Message:
    """Return the message with more results after those that it has."""
    own = [part for part in message.parts if is_client_result(part)]
    rest = [part for part in message.parts if not is_client_result(part)]
    return changed(message, (*own, *results, *rest))
