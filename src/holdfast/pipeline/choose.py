"""Measure what there is and choose what to fold: the first half of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.pipeline.breakdown import by_category
from holdfast.pipeline.cuts import allowed_cuts
from holdfast.pipeline.frame import (
    SYSTEM_NOTE,
    carried_summary,
    summary_text,
)
from holdfast.pipeline.measure import message_tokens, text_length
from holdfast.pipeline.partition import (
    Partition,
    anchors,
    head_stop,
    islands,
    nth_last_ask,
    protected_from,
    snapped_back,
    system_stop,
    tail_start,
)
from holdfast.pipeline.prune import (
    Newer,
    Prepared,
    excerpt,
    note_newer,
    nothing_newer,
    prepare,
    prune_message,
)
from holdfast.pipeline.references import reference_of
from holdfast.pipeline.work import Work
from holdfast.report import Reason
from holdfast.transcript import (
    Group,
    Message,
    Rewritten,
    ToolCall,
    ToolResult,
    groups,
)

_LEAST_SQUEEZED_TOKENS = 200
_FRAME_MARGIN_TOKENS = 24
_LEAST_SUMMARY_TOKENS = 80
"""A summary that says less than this is not worth its frame."""
_SQUEEZES = 4
"""A share of the characters is not the same share of the tokens; each round comes nearer."""
_HEAD_SHARE = 0.15
"""How much of a size that was asked for the protected head may take."""
_LOOK_BACK = 256
_CLEARLY_LESS = 8
"""A text of so many characters per token is not worth measuring: what replaces it is smaller."""


class Choice(Struct, frozen=True):
    """The partition, the pruned messages in it, and the room for the summary.

    `partition` is None where there is nothing to do; then `reason` and `detail` say why.
    """

    partition: Partition | None
    rewritten: dict[int, Message]
    costs: dict[int, int]
    """The tokens of the rewritten messages, by position."""
    references: dict[int, str]
    """References that were made already, by position."""
    summary_tokens: int
    tokens_before: int
    floor_tokens: int
    shown: dict[str, int]
    """The tokens before, by category."""
    is_new: bool = True
    """Whether the folds hold more than what an earlier compaction wrote."""
    reason: Reason = ""
    detail: str = ""


def choose(work: Work) -> Choice:
    """Return what to fold and what to prune; reads the log from its end as far as it must."""
    log = work.log
    shown = by_category(work.view, log, work.costs, {}, work.counter)
    before = work.outside_tokens + sum(shown.values())
    parts = groups(log)
    cuts = allowed_cuts(log, parts)
    head = _head(work, cuts)
    pruner = _Pruner(work)
    fixed = anchors(log, work.wish.pinned)
    floor = _floor(work, parts, cuts, fixed)
    partition, summary_tokens = _partition(work, parts, cuts, head, pruner, before, fixed)
    pruner.squeeze(partition, _excess(work, partition, summary_tokens))
    rewritten = {
        index: message
        for index, message in pruner.pruned.items()
        if index >= partition.tail_start and message is not log[index]
    }
    is_new = _folds_anything(work, partition) or _prunes(work, rewritten)
    if not is_new and not (work.budget.target_tokens and partition.folds()):
        detail = _why_nothing(work, before, floor)
        return Choice(
            None, {}, {}, {}, 0, before, floor, shown, False, "nothing to compact", detail
        )
    costs = {index: pruner.cost(index) for index in rewritten}
    return Choice(
        partition,
        rewritten,
        costs,
        pruner.references,
        summary_tokens,
        before,
        floor,
        shown,
        is_new,
    )


def _head(work: Work, cuts: Sequence[int]) -> int:
    """Return where the head ends; a size asked for that leaves it no room takes it away."""
    if work.state.count or not work.wish.keeps_head:
        return head_stop(work.log, cuts, first=0)
    stop = head_stop(work.log, cuts, first=work.policy.protect_first)
    least = head_stop(work.log, cuts, first=0)
    target = work.budget.target_tokens
    if target is not None and work.costs.span(least, stop) > _HEAD_SHARE * target:
        return least
    return stop


def _partition(
    work: Work,
    parts: Sequence[Group],
    cuts: Sequence[int],
    head: int,
    pruner: _Pruner,
    before: int,
    anchored: Sequence[int],
) -> tuple[Partition, int]:
    least = max(head, _after_old_summary(work))
    fixed = work.outside_tokens + work.costs.span(0, head)
    found, summary_tokens, between = _tried(
        work, parts, cuts, pruner, before, fixed, least, anchored
    )
    if work.budget.target_tokens is not None and between:
        again = _tried(work, parts, cuts, pruner, before, fixed + between, least, anchored)
        found, summary_tokens, _ = again
    return found, summary_tokens


def _tried(
    work: Work,
    parts: Sequence[Group],
    cuts: Sequence[int],
    pruner: _Pruner,
    before: int,
    fixed: int,
    least: int,
    anchored: Sequence[int],
) -> tuple[Partition, int, int]:
    """Return a partition, the room for its summary, and what its islands cost."""
    head = _head(work, cuts)
    tail_budget, ceiling, summary_tokens = _budgets(work, before, fixed)
    start, tail = _tail(work, parts, cuts, pruner, least, (tail_budget, ceiling))
    if start > least and start not in cuts:
        start = snapped_back(cuts, start)
    kept = islands(anchored, parts, least=head, before=start)
    between = sum(work.costs.span(first, stop) for first, stop in kept)
    return Partition(head, max(start, head), kept, tail), summary_tokens, between


def _tail(
    work: Work,
    parts: Sequence[Group],
    cuts: Sequence[int],
    pruner: _Pruner,
    least: int,
    room: tuple[int, int],
) -> tuple[int, int]:
    """Return where the tail starts, as the wish or the budget says, and its tokens."""
    log, wish, (budget_tokens, ceiling_tokens) = work.log, work.wish, room
    if wish.above is not None or wish.keep_last is not None:
        wanted = wish.above if wish.above is not None else nth_last_ask(log, wish.keep_last or 1)
        start = max(snapped_back(cuts, max(wanted, 0)), least)
        return start, sum(pruner.cost(index) for index in range(len(log) - 1, start - 1, -1))

    def walk(ceiling: int) -> tuple[int, int]:
        return tail_start(
            parts, cuts, pruner.cost, least=least, budget_tokens=budget_tokens,
            ceiling_tokens=ceiling, min_messages=work.policy.min_tail,
        )  # fmt: skip

    start, tokens = walk(ceiling_tokens)
    return (start, tokens) if start > least else walk(budget_tokens)


def _excess(work: Work, partition: Partition, summary_tokens: int) -> int:
    """Return by how many tokens the result would miss the window, or the size asked for."""
    budget = work.budget
    limit = budget.target_tokens or budget.effective_window
    kept = work.costs.span(0, partition.head_stop) + partition.tail_tokens
    kept += sum(work.costs.span(start, stop) for start, stop in partition.islands)
    summary = summary_tokens + _frame_tokens(work) if partition.folds() else 0
    return work.outside_tokens + work.note_tokens + kept + summary - limit


def _budgets(work: Work, before: int, fixed: int) -> tuple[int, int, int]:
    """Return the tokens for the tail, its ceiling, and the summary."""
    policy, budget = work.policy, work.budget
    content = max(before - fixed - budget.tail_tokens, 0)
    summary = max(int(content * policy.summary_ratio), budget.summary_min_tokens)
    summary = min(summary, budget.summary_max_tokens)
    if budget.target_tokens is None:
        return budget.tail_tokens, budget.ceiling_tokens, summary
    room = max(budget.target_tokens - fixed - _frame_tokens(work), 1)
    summary = max(min(summary, int(room * 0.4)), _LEAST_SUMMARY_TOKENS)
    tail = max(room - summary, 1)
    return tail, tail, summary


def _frame_tokens(work: Work) -> int:
    """Return what the frame of a summary and the note in the system prompt cost."""
    frame = work.counter.count(summary_text("", "hf-0123456789"))
    return frame + work.counter.count(SYSTEM_NOTE) + _FRAME_MARGIN_TOKENS


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
        self.references: dict[int, str] = {}
        self._shares: dict[int, float] = {}
        self._costs: dict[int, int] = {}
        self._newer: Newer = nothing_newer()
        self._from = protected_from(work.policy, len(work.log))
        self._was = {
            item.start: item.message
            for item in work.view.items
            if isinstance(item, Rewritten) and carried_summary(item.message) is None
        }

    def cost(self, index: int) -> int:
        """Return the tokens of the message at `index` after pruning."""
        found = self._costs.get(index)
        if found is None:
            found = self._costs[index] = self._cost(index)
        return found

    def _cost(self, index: int) -> int:
        work = self.work
        message = work.log[index]

        def ready(result: ToolResult) -> Prepared | None:
            return self._prepared(index, result)

        if index in self._was:
            self.pruned[index] = self._was[index]
            note_newer(message, ready, self._newer)
            return message_tokens(self._was[index], work.counter)
        if index >= self._from:
            note_newer(message, ready, self._newer)
            return work.costs[index]
        made = prune_message(message, ready, self._newer, work.policy, self._reference)
        if made is message:
            return work.costs[index]
        tokens = message_tokens(made, work.counter)
        if tokens * _CLEARLY_LESS > text_length(message) and tokens >= work.costs[index]:
            return work.costs[index]
        self.pruned[index] = made
        return tokens

    def _prepared(self, index: int, result: ToolResult) -> Prepared | None:
        """Return what pruning needs of a result, from its arrival where it was made ready then."""
        log, ready = self.work.log, self.work.prepared
        if ready is not None and len(log[index].parts) == 1:
            return ready[index]
        calls: dict[str, ToolCall] = {}
        for at in range(index - 1, max(index - _LOOK_BACK, -1), -1):
            found = [part for part in log[at].parts if isinstance(part, ToolCall)]
            calls.update((call.id, call) for call in found)
            if result.call_id in calls:
                break
        alone = Message("tool", (result,))
        return prepare(alone, calls, self.work.policy)

    def squeeze(self, partition: Partition, excess: int) -> None:
        """Cut the largest results of the tail until `excess` tokens are gone, as far as it goes."""
        for _ in range(_SQUEEZES):
            if excess <= 0:
                return
            left = self._squeezed_once(partition, excess)
            if left == excess:
                return
            excess = left

    def _squeezed_once(self, partition: Partition, excess: int) -> int:
        work = self.work
        tail = range(partition.tail_start, len(work.log))
        for index in sorted(tail, key=self.cost, reverse=True):
            cost, original = self.cost(index), work.log[index]
            if excess <= 0 or cost < _LEAST_SQUEEZED_TOKENS:
                break
            wanted = max(cost - excess - _FRAME_MARGIN_TOKENS, _LEAST_SQUEEZED_TOKENS // 2)
            share = self._shares.get(index, 1.0) * wanted / cost
            made = excerpt(original, share, self._reference(original))
            self._shares[index] = share
            tokens = message_tokens(made, work.counter)
            if made is not original and tokens < cost:
                self.pruned[index], self._costs[index] = made, tokens
                excess -= cost - tokens
        return excess

    def _reference(self, message: Message) -> str:
        if not self.work.wish.references:
            return ""
        found = self.references.get(message.position)
        if found is None:
            found = self.references[message.position] = reference_of(message)
        return found


def _floor(work: Work, parts: Sequence[Group], cuts: Sequence[int], fixed: Sequence[int]) -> int:
    """Return the tokens that no compaction can remove."""
    log, length = work.log, len(work.log)
    tail = snapped_back(cuts, max(length - work.policy.min_tail, 0))
    stop = min(system_stop(log), tail)
    kept = islands(fixed, parts, least=stop, before=tail)
    between = sum(work.costs.span(start, end) for start, end in kept)
    return work.outside_tokens + work.costs.span(0, stop) + between + work.costs.span(tail, length)


def _folds_anything(work: Work, partition: Partition) -> bool:
    """Return whether the folds hold more than what an earlier compaction wrote."""
    return any(
        work.log[index].origin != "summary"
        for start, stop in partition.folds()
        for index in range(start, stop)
        if index >= work.state.folded_to
    )


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
