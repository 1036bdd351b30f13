"""Rules about results: each answers a call, in the right place, in the same turn."""

from __future__ import annotations

from collections.abc import Sequence

from foldaway.dialects.rule import Case, Mended, Rule
from foldaway.dialects.rules.edits import drop_parts, replace_parts
from foldaway.dialects.rules.pairs import has_only_results, is_perhaps_stored, turn_ends
from foldaway.dialects.shape import quote
from foldaway.transcript import Message, Part, Text, ToolCall, ToolResult, Violation

RESULT_HAS_CALL = "result-has-call"
RESULTS_ADJACENT = "results-adjacent"
SERVER_TOOLS_PAIRED = "server-tools-paired"


def check_has_call(case: Case) -> list[Violation]:
    """Return the results that answer no call, or one that is answered already.

    Silent where the provider may hold the call. Not mendable if nothing would be left of the
    list.
    """
    orphans = _orphans(case)
    if not orphans or is_perhaps_stored(case):
        return []
    something_stays = len({at for at, _ in orphans}) < len(case.messages) or any(
        not has_only_results(message) for message in case.messages
    )
    called = _find_callers(case)
    return [
        case.fault(
            RESULT_HAS_CALL,
            at,
            result.at,
            f"the call {quote(result.call_id)} has its result already"
            if called.get(result.call_id, at) < at
            else f"the result for {quote(result.call_id)} answers no call before it",
            "remove it, or put back the call that it answers",
            mendable=something_stays,
        )
        for at, result in orphans
    ]


def mend_has_call(case: Case, _: Sequence[Violation]) -> Mended:
    """Drop the orphans, and messages that held nothing else."""
    called = _find_callers(case)
    found: list[tuple[int, Part, str]] = []
    for at, result in _orphans(case):
        again = called.get(result.call_id, at) < at
        which = "a further result" if again else "the result"
        why = "the call has its result already" if again else "no call before it"
        what = f"dropped {which} for {quote(result.call_id)} with {_size(result)}: {why}"
        found.append((at, result, what))
    return drop_parts(case, RESULT_HAS_CALL, found)


def _find_callers(case: Case) -> dict[str, int]:
    """Return the first message that calls, by call id."""
    return {call.id: at for at, call in reversed(case.index.calls)}


def _size(result: ToolResult) -> str:
    """Return what is lost with a result, in words."""
    chars = sum(len(part.text) for part in result.parts if isinstance(part, Text))
    others = sum(not isinstance(part, Text) for part in result.parts)
    text = f"its text ({chars:,} characters)" if chars else "no text"
    return f"{text} and {others:,} other part{'s' if others > 1 else ''}" if others else text


def _orphans(case: Case) -> list[tuple[int, ToolResult]]:
    return [
        (at, result)
        for (at, result), call in zip(case.index.results, case.index.call_of, strict=True)
        if call < 0 and result.kind != "server" and result.call_id
    ]


def check_adjacent(case: Case) -> list[Violation]:
    """Return the results that do not directly follow their call."""
    match case.profile.answers:
        case "anywhere":
            return []
        case "following run":
            found = _list_outside_run(case)
            where = "directly after the call, before any other role"
        case "next message":
            found = _list_outside_next(case)
            where = "in the message directly after the call, before other content"
    return [
        case.fault(
            RESULTS_ADJACENT,
            at,
            result.at,
            f"the result for {quote(result.call_id)} is out of place",
            f"put it {where}",
        )
        for at, result in found
    ]


def mend_adjacent(case: Case, violations: Sequence[Violation]) -> Mended:
    """Move the results to their place; untouched messages are moved whole."""
    move = _move_into_runs if case.profile.answers == "following run" else _move_into_next
    actions = tuple(
        case.action(RESULTS_ADJACENT, found.index, f"moved the result at {found.path} to its call")
        for found in violations
    )
    return Mended(move(case), actions)


def _list_outside_run(case: Case) -> list[tuple[int, ToolResult]]:
    found: list[tuple[int, ToolResult]] = []
    calls = case.index.calls
    run = before = -2
    for (at, result), call in zip(case.index.results, case.index.call_of, strict=True):
        if at not in (before, before + 1):
            run = at
        before = at
        if call >= 0 and calls[call][0] != run - 1:
            found.append((at, result))
    return found


def _list_outside_next(case: Case) -> list[tuple[int, ToolResult]]:
    found: list[tuple[int, ToolResult]] = []
    calls = case.index.calls
    starts: list[int] = []
    ends: list[int] = []
    place = before = -1
    for (at, result), call in zip(case.index.results, case.index.call_of, strict=True):
        place = place + 1 if at == before else 0
        before = at
        if call < 0 or result.kind == "server":
            continue
        is_next = at == calls[call][0] + 1
        if not is_next:
            ends = ends or turn_ends(case.messages)
            starts = starts or (_list_result_starts(case) if case.profile.merges_users else [])
            is_next = (starts[at] if starts else at) == ends[calls[call][0]] + 1
        if not is_next or (
            case.profile.results_first and case.messages[at].parts[place] is not result
        ):
            found.append((at, result))
    return found


def _list_result_starts(case: Case) -> list[int]:
    """Return, for each message, where the messages with only results begin that it continues."""
    starts: list[int] = []
    for at, message in enumerate(case.messages):
        before = case.messages[at - 1] if at else None
        goes_on = before is not None and before.role == message.role and has_only_results(before)
        starts.append(starts[-1] if goes_on else at)
    return starts


def _move_into_runs(case: Case) -> tuple[Message, ...]:
    """Return the messages with every tool message directly after its call."""
    following: dict[int, list[int]] = {}
    moved: set[int] = set()
    for (at, _), call in zip(case.index.results, case.index.call_of, strict=True):
        if call >= 0:
            following.setdefault(case.index.calls[call][0], []).append(at)
            moved.add(at)
    order: list[Message] = []
    for index, message in enumerate(case.messages):
        if index not in moved:
            order.append(message)
            order.extend(case.messages[at] for at in following.get(index, ()))
    return tuple(order)


def _move_into_next(case: Case) -> tuple[Message, ...]:
    """Return the messages with the results of each turn in the one after it, before all else."""
    messages = case.messages
    ends = turn_ends(messages)
    wanted: dict[int, list[tuple[int, ToolResult]]] = {}
    for (at, result), call in zip(case.index.results, case.index.call_of, strict=True):
        if call >= 0 and result.kind != "server":
            wanted.setdefault(ends[case.index.calls[call][0]], []).append((at, result))
    misplaced = {id(result) for _, result in _list_outside_next(case)}
    wanted = {
        end: results
        for end, results in wanted.items()
        if any(id(result) in misplaced for _, result in results)
    }
    placed = {id(result) for results in wanted.values() for _, result in results}
    done: list[Message] = []
    hosts: set[int] = set()
    for index, message in enumerate(messages):
        if index not in hosts:
            done.extend(_take_out(message, placed))
        if index in wanted:
            sources = {at for at, _ in wanted[index]}
            host = index + 1 if index + 1 in sources else min(sources)
            hosts.update({index + 1} & sources)
            results = tuple(result for _, result in wanted[index])
            done.append(_hold(messages[host], results, placed, case, host == index + 1))
    return tuple(done)


def _take_out(message: Message, placed: set[int]) -> list[Message]:
    """Return the message without the results that are placed again; none if nothing is left."""
    left = _list_others(message, placed)
    if len(left) == len(message.parts):
        return [message]
    return [replace_parts(message, left)] if left else []


def _list_others(message: Message, placed: set[int]) -> tuple[Part, ...]:
    return tuple(part for part in message.parts if id(part) not in placed)


def _hold(
    host: Message, results: tuple[Part, ...], placed: set[int], case: Case, in_place: bool
) -> Message:
    """Return a message of these results: the host itself if it holds exactly them."""
    rest = _list_others(host, placed)
    if not in_place and rest:
        return Message(case.profile.result_role, results, host.position)
    parts = (*results, *rest)
    if len(parts) == len(host.parts) and all(map(_is_same, host.parts, parts)):
        return host
    return replace_parts(host, parts)


def _is_same(one: Part, other: Part) -> bool:
    return one is other


def check_server_tools(case: Case) -> list[Violation]:
    """Return server calls whose turn ended without a result, and results without their call."""
    return [
        case.fault(
            SERVER_TOOLS_PAIRED,
            at,
            part.at,
            f"the server tool block {quote(_call_id(part))} has no counterpart",
            "remove it, or put back its counterpart in the same turn",
        )
        for at, part in _list_unpaired(case)
    ]


def mend_server_tools(case: Case, _: Sequence[Violation]) -> Mended:
    """Drop the block that is alone."""
    found = [
        (at, part, f"dropped the server tool block {quote(_call_id(part))}: no counterpart")
        for at, part in _list_unpaired(case)
    ]
    return drop_parts(case, SERVER_TOOLS_PAIRED, found)


def _list_unpaired(case: Case) -> list[tuple[int, ToolCall | ToolResult]]:
    index = case.index
    if not any(part.kind == "server" for _, part in (*index.calls, *index.results)):
        return []
    over = _turns_over(case.messages)
    last = len(case.messages) - 1
    found: list[tuple[int, ToolCall | ToolResult]] = []
    for (at, call), answer in zip(index.calls, index.answer_of, strict=True):
        until = index.results[answer][0] if answer >= 0 else last
        if call.kind == "server" and over[at] <= until:
            found.append((at, call))
    for (at, result), call in zip(index.results, index.call_of, strict=True):
        if result.kind == "server" and (call < 0 or over[index.calls[call][0]] <= at):
            found.append((at, result))
    return sorted(found, key=lambda each: each[0])


def _turns_over(messages: Sequence[Message]) -> list[int]:
    """Return, for each message, the next one in which someone else takes a turn."""
    over = [len(messages)] * len(messages)
    for at in range(len(messages) - 2, -1, -1):
        after = messages[at + 1]
        goes_on = after.role == "assistant" or has_only_results(after)
        over[at] = over[at + 1] if goes_on else at + 1
    return over


def _call_id(part: ToolCall | ToolResult) -> str:
    return part.id if isinstance(part, ToolCall) else part.call_id


RULES = (
    Rule(
        name=RESULT_HAS_CALL,
        states="A tool result answers a call that stands before it.",
        check=check_has_call,
        mend=mend_has_call,
        mends="drops the orphan",
    ),
    Rule(
        name=RESULTS_ADJACENT,
        states="The results of a call stand where the provider looks for them.",
        check=check_adjacent,
        mend=mend_adjacent,
        mends="moves them there, into one message where the provider wants one",
    ),
    Rule(
        name=SERVER_TOOLS_PAIRED,
        states="Server tool calls and their results stand in the same assistant turn.",
        check=check_server_tools,
        mend=mend_server_tools,
        mends="drops the block that is alone",
    ),
)
