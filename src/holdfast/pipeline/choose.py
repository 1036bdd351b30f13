"""Measure what there is and choose what to fold: the first half of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.pipeline.cuts import allowed_cuts
from holdfast.pipeline.frame import SUMMARY_AFTERWORD, SUMMARY_PREAMBLE, SYSTEM_NOTE
from holdfast.pipeline.measure import message_tokens
from holdfast.pipeline.partition import (
    Partition,
    anchors,
    head_stop,
    nth_last_ask,
    protected_from,
    snapped_back,
    system_stop,
    tail_start,
)
from holdfast.pipeline.prune import Newer, excerpt, note_newer, nothing_newer, prune_message
from holdfast.pipeline.references import reference_of
from holdfast.pipeline.work import Work
from holdfast.report import Reason
from holdfast.transcript import (
    Folded,
    Group,
    Kept,
    Message,
    Rewritten,
    ToolCall,
    ToolResult,
    View,
    groups,
)

_FRAME_TOKENS = (len(SUMMARY_PREAMBLE) + len(SUMMARY_AFTERWORD) + len(SYSTEM_NOTE)) // 4 + 60
"""What the frame of a summary and the note in the system prompt cost, on the safe side."""


_LEAST_SQUEEZED_TOKENS = 200


class Choice(Struct, frozen=True):
    """The partition, the pruned messages in it, and the room for the summary.

    `partition` is None where there is nothing to do; then `reason` and `detail` say why.
    """

    partition: Partition | None
    rewritten: dict[int, Message]
    costs: dict[int, int]
    """The tokens of the rewritten messages, by position."""
    summary_tokens: int
    tokens_before: int
    floor_tokens: int
    reason: Reason = ""
    detail: str = ""


def choose(work: Work) -> Choice:
    """Return what to fold and what to prune; reads the log from its end as far as it must."""
    log = work.log
    before = work.outside_tokens + view_tokens(work.view, log, work.tokens, work)
    parts = groups(log)
    cuts = allowed_cuts(log, parts)
    first = 0 if work.state.count else work.policy.protect_first
    head = head_stop(log, cuts, first=first)
    pruner = _Pruner(work)
    floor = _floor(work, parts, cuts)
    partition, summary_tokens = _partition(work, parts, cuts, head, pruner, before)
    pruner.squeeze(partition, _excess(work, partition, summary_tokens))
    rewritten = {
        index: message
        for index, message in pruner.pruned.items()
        if index >= partition.tail_start and message is not log[index]
    }
    if not partition.folds() and not _prunes(work, rewritten):
        detail = _why_nothing(work, before, floor)
        return Choice(None, {}, {}, 0, before, floor, "nothing to compact", detail)
    costs = {index: pruner.cost(index) for index in rewritten}
    return Choice(partition, rewritten, costs, summary_tokens, before, floor)


def _partition(
    work: Work, parts: Sequence[Group], cuts: Sequence[int], head: int, pruner: _Pruner, before: int
) -> tuple[Partition, int]:
    log, budget, wish = work.log, work.budget, work.wish
    least = max(head, _after_old_summary(work))
    fixed = work.outside_tokens + sum(work.tokens[:head])
    tail_budget, ceiling, summary_tokens = _budgets(work, before, fixed)
    if wish.above is not None or wish.keep_last is not None:
        wanted = wish.above if wish.above is not None else nth_last_ask(log, wish.keep_last or 1)
        start = max(snapped_back(cuts, max(wanted, 0)), least)
        tail = sum(pruner.cost(index) for index in range(len(log) - 1, start - 1, -1))
    else:
        start, tail = tail_start(
            parts, cuts, pruner.cost, least=least, budget_tokens=tail_budget,
            ceiling_tokens=ceiling, min_messages=work.policy.min_tail,
        )  # fmt: skip
        if start <= least and budget.target_tokens is None:
            start, tail = tail_start(
                parts, cuts, pruner.cost, least=least, budget_tokens=tail_budget,
                ceiling_tokens=tail_budget, min_messages=work.policy.min_tail,
            )  # fmt: skip
    if start > least and start not in cuts:
        start = snapped_back(cuts, start)
    islands = anchors(log, parts, before=start, least=head, pinned=wish.pinned)
    return Partition(head, max(start, head), islands, tail), summary_tokens


def _excess(work: Work, partition: Partition, summary_tokens: int) -> int:
    """Return by how many tokens the result would miss the window, or the size asked for."""
    budget = work.budget
    limit = budget.target_tokens or budget.effective_window
    kept = sum(work.tokens[: partition.head_stop]) + partition.tail_tokens
    kept += sum(sum(work.tokens[start:stop]) for start, stop in partition.islands)
    summary = summary_tokens + _FRAME_TOKENS if partition.folds() else 0
    return work.outside_tokens + kept + summary - limit


def _budgets(work: Work, before: int, fixed: int) -> tuple[int, int, int]:
    """Return the tokens for the tail, its ceiling, and the summary."""
    policy, budget = work.policy, work.budget
    content = max(before - fixed - budget.tail_tokens, 0)
    summary = max(int(content * policy.summary_ratio), budget.summary_min_tokens)
    summary = min(summary, budget.summary_max_tokens)
    if budget.target_tokens is None:
        return budget.tail_tokens, budget.ceiling_tokens, summary
    room = max(budget.target_tokens - fixed - _FRAME_TOKENS, 1)
    summary = max(min(summary, int(room * 0.4)), 1)
    tail = max(room - summary, 1)
    return tail, tail, summary


def _after_old_summary(work: Work) -> int:
    """Return the position after the last generated summary: it never stays in a tail."""
    stop = work.state.folded_to
    for index in range(len(work.log) - 1, stop - 1, -1):
        if work.log[index].origin == "summary":
            return index + 1
    return stop


class _Pruner:
    """Prunes from the end of the log, each message once; what a view already rewrote stays so."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.pruned: dict[int, Message] = {}
        self._costs: dict[int, int] = {}
        self._newer: Newer = nothing_newer()
        self._calls: dict[str, ToolCall] = {}
        self._from = protected_from(work.policy, len(work.log))
        self._was = {
            item.start: item.message for item in work.view.items if isinstance(item, Rewritten)
        }
        self._seen_calls_to = len(work.log)

    def cost(self, index: int) -> int:
        """Return the tokens of the message at `index` after pruning."""
        if index not in self._costs:
            self._costs[index] = self._cost(index)
        return self._costs[index]

    def _cost(self, index: int) -> int:
        work = self.work
        message = work.log[index]
        if index in self._was:
            self.pruned[index] = self._was[index]
            note_newer(message, self._calls_near(index), self._newer, work.policy)
            return message_tokens(self._was[index], work.counter)
        if index >= self._from:
            note_newer(message, self._calls_near(index), self._newer, work.policy)
            return work.tokens[index]
        made = prune_message(
            message, self._calls_near(index), self._newer, work.policy, self._reference
        )
        if made is message:
            return work.tokens[index]
        tokens = message_tokens(made, work.counter)
        if tokens >= work.tokens[index]:
            return work.tokens[index]
        self.pruned[index] = made
        return tokens

    def squeeze(self, partition: Partition, excess: int) -> None:
        """Cut the largest results of the tail until `excess` tokens are gone, as far as it goes."""
        work = self.work
        tail = range(partition.tail_start, len(work.log))
        for index in sorted(tail, key=self.cost, reverse=True):
            cost = self.cost(index)
            if excess <= 0 or cost < _LEAST_SQUEEZED_TOKENS:
                return
            share = max(cost - excess - 40, _LEAST_SQUEEZED_TOKENS // 2) / cost
            message = self.pruned.get(index, work.log[index])
            made = excerpt(message, share, self._reference(work.log[index]))
            tokens = message_tokens(made, work.counter)
            if made is not message and tokens < cost:
                self.pruned[index], self._costs[index] = made, tokens
                excess -= cost - tokens

    def _calls_near(self, index: int) -> dict[str, ToolCall]:
        """Return the calls of the group of `index`: a result stands after its call."""
        log = self.work.log
        if not any(type(part) is ToolResult for part in log[index].parts):
            return {}
        found: dict[str, ToolCall] = {}
        for at in range(index, -1, -1):
            calls = [part for part in log[at].parts if isinstance(part, ToolCall)]
            found.update((call.id, call) for call in calls)
            if (log[at].role == "assistant" and calls) or at < index - 64:
                break
        return found

    def _reference(self, message: Message) -> str:
        return reference_of(message) if self.work.wish.references else ""


def view_tokens(view: View, log: Sequence[Message], tokens: Sequence[int], work: Work) -> int:
    """Return the tokens of what the model sees now."""
    total = 0
    for item in view.items:
        match item:
            case Kept(start=start, stop=stop):
                total += sum(tokens[start:stop])
            case Rewritten(message=message):
                total += message_tokens(message, work.counter)
            case Folded(messages=messages):
                total += sum(message_tokens(message, work.counter) for message in messages)
    return total


def _floor(work: Work, parts: Sequence[Group], cuts: Sequence[int]) -> int:
    """Return the tokens that no compaction can remove."""
    log, length = work.log, len(work.log)
    tail = snapped_back(cuts, max(length - work.policy.min_tail, 0))
    stop = min(system_stop(log), tail)
    kept = anchors(log, parts, before=tail, least=stop, pinned=work.wish.pinned)
    islands = sum(sum(work.tokens[start:end]) for start, end in kept)
    return work.outside_tokens + sum(work.tokens[:stop]) + islands + sum(work.tokens[tail:])


def _prunes(work: Work, rewritten: dict[int, Message]) -> bool:
    was = {item.start for item in work.view.items if isinstance(item, Rewritten)}
    return any(index not in was for index in rewritten)


def _why_nothing(work: Work, before: int, floor: int) -> str:
    if floor > work.budget.effective_window:
        return (
            f"{floor:,} tokens of system prompt, tools, anchors and the newest messages cannot be "
            f"folded, and the window holds {work.budget.effective_window:,}"
        )
    return (
        f"head and tail already cover all {len(work.log):,} messages "
        f"({before:,} tokens; the tail may have {work.budget.tail_tokens:,})"
    )
