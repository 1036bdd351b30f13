"""The results of a call stand where the provider looks for them."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import changed
from holdfast.dialects.rules.pairs import turn_ends
from holdfast.dialects.shape import shown
from holdfast.transcript import Message, Part, ToolResult, Violation

NAME = "results-adjacent"


def check(case: Case) -> list[Violation]:
    """Return the results that do not directly follow their call."""
    match case.profile.answers:
        case "anywhere":
            return []
        case "following run":
            found = _outside_run(case)
            where = "directly after the call, before any other role"
        case "next message":
            found = _outside_next(case)
            where = "in the message directly after the call, before other content"
    return [
        case.fault(
            NAME, at, result.at, f"the result for {shown(result.call_id)} is out of place",
            f"put it {where}",
        )
        for at, result in found
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Move the results to their place; untouched messages are moved whole."""
    move = _into_runs if case.profile.answers == "following run" else _into_next
    actions = tuple(
        case.action(NAME, found.index, f"moved the result at {found.path} to its call")
        for found in violations
    )
    return Mended(move(case), actions)


def _outside_run(case: Case) -> list[tuple[int, ToolResult]]:
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


def _outside_next(case: Case) -> list[tuple[int, ToolResult]]:
    found: list[tuple[int, ToolResult]] = []
    calls = case.index.calls
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
            is_next = at == ends[calls[call][0]] + 1
        if not is_next or (
            case.profile.results_first and case.messages[at].parts[place] is not result
        ):
            found.append((at, result))
    return found


def _into_runs(case: Case) -> tuple[Message, ...]:
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


def _into_next(case: Case) -> tuple[Message, ...]:
    """Return the messages with the results of each turn in the one after it, before all else."""
    messages = case.messages
    ends = turn_ends(messages)
    wanted: dict[int, list[tuple[int, ToolResult]]] = {}
    placed: set[int] = set()
    for (at, result), call in zip(case.index.results, case.index.call_of, strict=True):
        if call >= 0 and result.kind != "server":
            wanted.setdefault(ends[case.index.calls[call][0]], []).append((at, result))
            placed.add(id(result))
    done: list[Message] = []
    hosts: set[int] = set()
    for index, message in enumerate(messages):
        if index not in hosts:
            done.extend(_without(message, placed))
        if index in wanted:
            sources = {at for at, _ in wanted[index]}
            host = index + 1 if index + 1 in sources else min(sources)
            hosts.update({index + 1} & sources)
            results = tuple(result for _, result in wanted[index])
            done.append(_holding(messages[host], results, placed, case, host == index + 1))
    return tuple(done)


def _without(message: Message, placed: set[int]) -> list[Message]:
    """Return the message without the results that are placed anew; none where nothing is left."""
    left = _rest(message, placed)
    if len(left) == len(message.parts):
        return [message]
    return [changed(message, left)] if left else []


def _rest(message: Message, placed: set[int]) -> tuple[Part, ...]:
    return tuple(part for part in message.parts if id(part) not in placed)


def _holding(
    host: Message, results: tuple[Part, ...], placed: set[int], case: Case, in_place: bool
) -> Message:
    """Return a message of these results: the host itself where it holds exactly them."""
    rest = _rest(host, placed)
    if not in_place and rest:
        return Message(case.profile.result_role, results, host.position)
    parts = (*results, *rest)
    if len(parts) == len(host.parts) and all(map(_is, host.parts, parts)):
        return host
    return changed(host, parts)


def _is(one: Part, other: Part) -> bool:
    return one is other


RULE = Rule(
    name=NAME,
    states="The results of a call stand where the provider looks for them.",
    check=check,
    mend=mend,
    mends="moves them there, into one message where the provider wants one",
)
