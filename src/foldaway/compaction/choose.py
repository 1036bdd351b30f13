"""Measure what there is and choose what to fold: the first half of a plan.

If a size is asked for (`target_tokens`), one rule shares it. The summary gets `summary_ratio` of
what it replaces, but at most 60 % of what the system prompt, the tools, the messages that are never
folded and its own frame leave free. Half of the rest is for the newest messages as they are, or
their results are cut to it; the other half is for older messages with their results as digests. If
the size cannot be met so, no more stays than the system prompt, the newest request, what is pinned
and the last message, with a summary of 200 tokens. If that is too much, the report says that the
size was missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from foldaway.compaction.arrival import Copy, as_shown, note_whole
from foldaway.compaction.measure import message_tokens
from foldaway.compaction.partition import (
    Partition,
    allowed_cuts,
    head_stop,
    islands,
    nth_last_ask,
    protected_from,
    snapped_back,
    speaker_at,
    system_stop,
    tail_start,
)
from foldaway.compaction.prune import is_data
from foldaway.compaction.pruner import Pruner
from foldaway.compaction.thinking import has_results, loop_start, unseen_from, words_alone
from foldaway.compaction.work import CompactionInput
from foldaway.facts.digests.line import plural
from foldaway.facts.frame import summary_text
from foldaway.report import Reason
from foldaway.transcript import Folded, Groups, Message, Text, is_ask

SUMMARY_SHARE = 0.6
"""The most of the free size that a summary gets. With a reader's model .3 to .7 differ by less than
chance (`bench/notes/summaries.md`); names from far back are kept more often with more."""
WHOLE_SHARE = 0.5
"""Of the room of the newest messages, what is kept for those that stay as they are; the rest is for
older ones without their results (`bench/notes/summaries.md`)."""
MOSTLY_RESULTS = 1.5
"""If all messages fit without their results, and with them take so many times the size: few turns
with long results. Then a summary that picks lines from all of them keeps more of what is needed
than the turns do (`bench/notes/summaries.md`: names kept .94 and .77), unless they are data: that
is told by rows, wherever they stand."""
LEAST_SUMMARY_TOKENS = 200
"""What a summary gets with its frame if the size is too small for more: the frame has 90 tokens,
and a line or two say what there is to say in so little."""
HEAD_SHARE = 0.15
"""The most of the size asked for, or of the threshold, that the first messages may take to be kept;
measured with `python bench/economics.py`: larger ones cost more in later calls than they save."""


INSTRUCTIONS_SHARE = 0.3
"""The most of the size asked for, or of the threshold, that the text of a skill or command may take
to stay a message; chosen: two thirds are left for the work itself."""


FOLD_MORE = "to fold more, give target_tokens or keep_last"
"""What helps somebody who wants a short session folded."""


class Skipped(Struct, frozen=True):
    """Why there is nothing to do."""

    reason: Reason
    detail: str
    tokens_before: int
    floor_tokens: int = 0


class Selection(Struct, frozen=True):
    """The partition, the pruned messages in it, and the room for the summary."""

    partition: Partition
    rewritten: dict[int, Message]
    """What is kept and not shown as the log has it: pruned, or as it was on arrival."""
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


class _Ground(Struct, frozen=True):
    """What the choice is made on: where cuts may fall, what must stay, where the head ends."""

    work: CompactionInput
    parts: Groups
    cuts: Sequence[int]
    anchored: Sequence[int]
    head: int
    least: int
    """No tail starts before: the head and old summaries end here."""
    before: int
    pruner: Pruner
    min_tail: int
    """How many of the newest messages stay in any case."""


def choose(work: CompactionInput) -> Selection | Skipped:
    """Return what to fold and what to prune, or why nothing is to be done.

    Reads the log from its end as far as it must.
    """
    shown = work.index.shown()
    before = work.outside_tokens + sum(shown.values())
    ground = _ground(work, before)
    floor = _floor(ground)
    target = work.budget.target_tokens
    if target is not None and ground.before <= target:
        detail = f"{ground.before:,} tokens are within the {target:,} that were asked for"
        return Skipped("nothing to compact", detail, ground.before, floor)
    partition, summary_tokens, over = _fitted(ground)
    if over > 0 and target is not None:
        tight = _ground(work, before, tight=True)
        fitted = _fitted(tight)
        if fitted[2] < over:
            ground, (partition, summary_tokens, over) = tight, fitted
    pruner = ground.pruner
    stay = [*partition.between(), *range(partition.tail_start, len(work.log))]
    rewritten = {
        index: pruner.pruned[index]
        for index in stay
        if pruner.pruned.get(index, work.log[index]) is not work.log[index]
    }
    prunes = any(not pruner.is_as_before(index) for index in rewritten)
    is_new = prunes or _folds_anything(work, partition)
    if work.state.carried is not None and not partition.folds():
        is_new = False  # the summary that a message carries would go
    if not is_new and not (work.budget.target_tokens and partition.folds()):
        return _why_nothing(work, ground.before, floor)
    costs = {index: pruner.cost(index) for index in rewritten}
    for index in _words_of_results(work, partition):
        rewritten[index] = words_alone(work.log[index])
        costs[index] = message_tokens(rewritten[index], work.counter)
    for index, (message, tokens) in _shown_again(work, partition.kept(len(work.log)), rewritten):
        rewritten[index], costs[index] = message, tokens
    return Selection(
        partition, rewritten, costs, pruner.references, summary_tokens, ground.before, floor,
        shown, is_new,
    )  # fmt: skip


def _fitted(ground: _Ground) -> tuple[Partition, int, int]:
    """Return the partition, the room for its summary, and by how much a size that was asked for is
    missed all the same; what is kept is cut as far as it may be.
    """
    work = ground.work
    partition, summary_tokens = _partition(ground)
    stay = [*partition.between(), *range(partition.tail_start, len(work.log))]
    left = ground.pruner.squeeze(stay, _excess(ground, partition, summary_tokens))
    if work.budget.target_tokens is None:
        return partition, summary_tokens, 0
    if left <= 0:  # what the messages leave is for the summary
        return partition, min(summary_tokens - left, work.budget.summary_max_tokens), 0
    shorter = max(summary_tokens - left, least_summary(work))
    return partition, shorter, left - (summary_tokens - shorter)


def _ground(work: CompactionInput, before: int, *, tight: bool = False) -> _Ground:
    """Return what the choice is made on; `tight` if no more may stay than what must: the system
    prompt, the newest request, what is pinned, the newest messages.
    """
    parts = work.index.groups
    cuts = allowed_cuts(parts)
    head = head_stop(work.log, cuts, first=0) if tight else _head(work, cuts)
    least = max(head, _after_old_summary(work))
    least = next((cut for cut in cuts if cut >= least), least)  # a result alone may be left
    anchored = _anchored(work, tight=tight)
    min_tail = 1 if tight else work.policy.min_tail
    return _Ground(work, parts, cuts, anchored, head, least, before, Pruner(work), min_tail)


def _anchored(work: CompactionInput, *, tight: bool) -> Sequence[int]:
    """Return what is never folded; of a turn that goes, the words of the user."""
    anchors, pinned = work.index.anchors, work.options.pinned
    wished = frozenset[int]() if tight else _followed(work) | {anchors.reply}
    found = anchors.positions(pinned | wished, len(work.log))
    if work.options.keeps_turn:
        return found
    ask = loop_start(work) - 1
    stay = {at for at in found if at <= ask or at in pinned or at == anchors.ask}
    return sorted(stay | ({ask} if ask >= 0 else set[int]()))


def _followed(work: CompactionInput) -> frozenset[int]:
    """Return the instructions that the work follows, unless they are large beside what is to be
    reached: then the summary has what it has room for.
    """
    at = work.index.anchors.instructions
    wanted = work.budget.target_tokens or work.budget.threshold_tokens
    free = wanted - work.outside_tokens
    return frozenset({at} if at >= 0 and work.costs[at] <= INSTRUCTIONS_SHARE * free else ())


def _words_of_results(work: CompactionInput, partition: Partition) -> list[int]:
    """Return what is kept of a turn that goes and holds results: only its words stay."""
    if work.options.keeps_turn:
        return []
    return [at for at in partition.between() if is_ask(work.log[at]) and has_results(work.log[at])]


def _alone(work: CompactionInput, kept: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Return the islands of a turn that goes: words of the user without the call before them."""
    log = work.log
    return tuple(
        (stop - 1, stop) if is_ask(log[stop - 1]) and has_results(log[stop - 1]) else (start, stop)
        for start, stop in kept
    )


def _head(work: CompactionInput, cuts: Sequence[int]) -> int:
    """Return where the head ends; it goes where it is large beside what is to be reached.

    That is the size asked for, or else the threshold: a head that stays at the cost of most of
    what a compaction would save is read, and paid for, in every call to come.
    """
    if work.state.count or not work.options.keeps_head:
        return head_stop(work.log, cuts, first=0)
    stop = head_stop(work.log, cuts, first=work.policy.protect_first)
    if not work.options.keeps_turn:
        stop = min(stop, loop_start(work))
    least = head_stop(work.log, cuts, first=0)
    if all(speaker_at(work.log, at) == "host" for at in range(least, stop)):
        return least  # what a host noted before anybody spoke
    wanted = work.budget.target_tokens or work.budget.threshold_tokens
    free = wanted - work.outside_tokens - work.costs.span(0, least)
    return least if work.costs.span(least, stop) > HEAD_SHARE * free else stop


def _partition(ground: _Ground) -> tuple[Partition, int]:
    """Return head, folds, islands and tail, and the room for the summary.

    Anchors that fall outside the tail take their share of a size that was asked for, or of a
    window that is too small for both; then the tail is chosen anew.
    """
    work = ground.work
    fixed = work.outside_tokens + work.costs.span(0, ground.head)
    found, summary_tokens, between = _tried(ground, fixed)
    has_target = work.budget.target_tokens is not None
    if between and (has_target or _excess(ground, found, summary_tokens) > 0):
        found, summary_tokens, _ = _tried(ground, fixed + between)
    return found, summary_tokens


def _tried(ground: _Ground, fixed: int) -> tuple[Partition, int, int]:
    """Return a partition, the room for its summary, and what its islands cost."""
    tail_budget, ceiling, summary_tokens = _budgets(ground, fixed)
    start, tail = _tail(ground, tail_budget, ceiling)
    if ground.work.options.keeps_turn and start > ground.least and start not in ground.cuts:
        start = snapped_back(ground.cuts, start)
    found = _from(ground, start, tail)
    if ground.work.state.carried is not None and not found.folds():
        found = _with_fold(ground, found)
    return found, summary_tokens, ground.pruner.stand(found.between())


def _from(ground: _Ground, start: int, tail_tokens: int) -> Partition:
    """Return the partition whose tail starts at a place."""
    kept = islands(ground.anchored, ground.parts, least=ground.head, before=start)
    if not ground.work.options.keeps_turn:
        kept = _alone(ground.work, kept)
    return Partition(ground.head, max(start, ground.head), kept, tail_tokens)


def _with_fold(ground: _Ground, found: Partition) -> Partition:
    """Return the partition with the longest tail that leaves something to fold, if there is one: a
    summary that stands inside a message that stays is told again only in a new one.
    """
    length = len(ground.work.log)
    for cut in ground.cuts:
        if cut > found.tail_start:
            less = _from(ground, cut, sum(map(ground.pruner.cost, range(cut, length))))
            if less.folds():
                return less
    return found


def _tail(ground: _Ground, budget_tokens: int, ceiling_tokens: int) -> tuple[int, int]:
    """Return where the tail starts, as the options or the budget says, and its tokens."""
    log, options, cost = ground.work.log, ground.work.options, ground.pruner.cost
    if not options.keeps_turn:
        start = max(unseen_from(ground.work), ground.head)
        return start, sum(map(cost, range(start, len(log))))
    if options.above is not None or options.keep_last is not None:
        wanted = (
            options.above
            if options.above is not None
            else nth_last_ask(log, options.keep_last or 1)
        )
        start = max(snapped_back(ground.cuts, max(wanted, 0)), ground.least)
        return start, ground.work.costs.span(start, len(log))

    if ground.work.budget.target_tokens is not None:
        return _tail_for_size(ground, budget_tokens)

    def walk(ceiling: int) -> tuple[int, int]:
        return tail_start(
            ground.parts, ground.cuts, cost, least=ground.least, budget_tokens=budget_tokens,
            ceiling_tokens=ceiling, min_messages=ground.min_tail,
        )  # fmt: skip

    start, tokens = walk(ceiling_tokens)
    return (start, tokens) if start > ground.least else walk(budget_tokens)


def _tail_for_size(ground: _Ground, budget_tokens: int) -> tuple[int, int]:
    """Return where the tail starts if a size was asked for, and its tokens.

    The newest messages stay as they are in their share of the room, or are cut to it. Before them
    stand older ones with their results as digests, as far back as the room goes: what the agent
    said and called tells more than the lines of old results.
    """
    log, pruner = ground.work.log, ground.pruner

    def walk(whole_from: int, room: int) -> tuple[int, int]:
        pruner.begin(whole_from)
        newest = range(whole_from, len(log))
        # from the end: of two images the newer one stays
        pruner.squeeze(newest, sum(map(pruner.cost, reversed(newest))) - room)
        return tail_start(
            ground.parts, ground.cuts, pruner.cost, least=ground.least,
            budget_tokens=budget_tokens, ceiling_tokens=budget_tokens,
            min_messages=ground.min_tail,
        )  # fmt: skip

    room = int(WHOLE_SHARE * budget_tokens)
    start, tokens = walk(_whole_from(ground, room), room)
    if _folds_between(ground, start):
        return start, tokens
    free = max(_unfolded(ground), budget_tokens)
    if _text_tokens(ground) > MOSTLY_RESULTS * free:
        start, tokens = walk(protected_from(ground.work.policy, len(log)), len(log) * free)
        if _folds_between(ground, start):
            return start, tokens
    # nothing is folded, so no summary takes room: older results are cut, and not left out
    start = ground.least
    budget_tokens = free
    whole_from = _whole_from(ground, int(WHOLE_SHARE * budget_tokens))
    pruner.begin(start)
    for positions in (range(start, whole_from), range(start, len(log))):
        spent = sum(map(pruner.cost, range(len(log) - 1, start - 1, -1)))
        pruner.squeeze(positions, spent - budget_tokens)
    return start, sum(map(pruner.cost, range(start, len(log))))


def _folds_between(ground: _Ground, start: int) -> bool:
    """Return whether a tail that starts here leaves anything to fold: not what stays anyway."""
    stay = islands(ground.anchored, ground.parts, least=ground.least, before=start)
    return start - ground.least > sum(stop - first for first, stop in stay)


def _text_tokens(ground: _Ground) -> int:
    """Return the tokens of what may be folded, without results that are data."""
    work = ground.work
    return sum(
        work.costs[at] for at in range(ground.least, len(work.log)) if not is_data(work.log[at])
    )


def _whole_from(ground: _Ground, room: int) -> int:
    """Return from where on messages stay as they are: the newest that fit into the room."""
    work, at = ground.work, len(ground.work.log)
    first = protected_from(work.policy, at)
    surely = at - ground.min_tail
    while at > first:
        room -= work.costs[at - 1]
        if room < 0 and at <= surely:
            break
        at -= 1
    return at


def _unfolded(ground: _Ground) -> int:
    """Return the room of the messages after the head if nothing is folded."""
    work = ground.work
    free = (work.budget.target_tokens or 0) - work.outside_tokens
    return free - work.costs.span(0, ground.head)


def _excess(ground: _Ground, partition: Partition, summary_tokens: int) -> int:
    """Return by how many tokens the result would miss the size asked for, or what leaves room for
    the next turns where it would miss the window.
    """
    work, budget = ground.work, ground.work.budget
    kept = work.costs.span(0, partition.head_stop) + partition.tail_tokens
    kept += ground.pruner.stand(partition.between())
    summary = summary_tokens + _frame_tokens(work) if partition.folds() else 0
    total = work.outside_tokens + kept + summary
    if budget.target_tokens is not None:
        return total - budget.target_tokens
    return total - budget.pressure_tokens if total > budget.effective_window else 0


def _budgets(ground: _Ground, fixed: int) -> tuple[int, int, int]:
    """Return the tokens for the tail, its ceiling, and the summary."""
    work, before, budget = ground.work, ground.before, ground.work.budget
    if budget.target_tokens is None:
        summary = summary_room(work, before - fixed - budget.tail_tokens)
        room = max(budget.effective_window - fixed - _frame_tokens(work) - summary, 1)
        return min(budget.tail_tokens, room), min(budget.ceiling_tokens, room), summary
    room = max(budget.target_tokens - fixed - _frame_tokens(work), 1)
    most = int(room * SUMMARY_SHARE)
    summary = min(summary_room(work, before - fixed - (room - most)), most)
    summary = max(summary, least_summary(work))
    tail = max(room - summary, 1)
    return tail, tail, summary


def summary_room(work: CompactionInput, content: int) -> int:
    """Return the room for a summary of so many tokens; what an earlier one says counts in full."""
    older = 0
    if work.state.carried is not None:
        at = [index for index, message in enumerate(work.log) if message.origin == "summary"]
        older = min(sum(work.costs[index] for index in at), max(content, 0))
    wanted = older + int(max(content - older, 0) * work.policy.summary_ratio)
    return min(max(wanted, work.budget.summary_min_tokens), work.budget.summary_max_tokens)


def least_summary(work: CompactionInput) -> int:
    """Return the tokens that a summary gets however small the size is; never less than its frame.

    A smaller size never gives a larger summary.
    """
    free = (work.budget.target_tokens or 0) - work.outside_tokens
    free -= work.costs.span(0, system_stop(work.log))
    frame = _frame_tokens(work)
    return max(min(int(free * SUMMARY_SHARE), LEAST_SUMMARY_TOKENS) - frame, frame)


def _frame_tokens(work: CompactionInput) -> int:
    """Return what the message of a summary costs beside its words."""
    frame = summary_text("", "fa-0123456789", brief=work.is_brief)
    return message_tokens(Message("user", (Text(frame),)), work.counter)


def _after_old_summary(work: CompactionInput) -> int:
    """Return the position after the last generated summary: it never stays in a tail."""
    stop = work.state.folded_to
    for index in range(len(work.log) - 1, stop - 1, -1):
        if work.log[index].origin == "summary":
            return index + 1
    return stop


def _floor(ground: _Ground) -> int:
    """Return the tokens that no fold can remove."""
    work, length = ground.work, len(ground.work.log)
    tail = snapped_back(ground.cuts, max(length - work.policy.min_tail, 0))
    stop = min(system_stop(work.log), tail)
    kept = islands(ground.anchored, ground.parts, least=stop, before=tail)
    newest = sum(map(ground.pruner.standing, range(tail, length)))
    between = sum(ground.pruner.standing(at) for first, end in kept for at in range(first, end))
    return work.outside_tokens + work.costs.span(0, stop) + between + newest


def _folds_anything(work: CompactionInput, partition: Partition) -> bool:
    """Return whether the folds hold anything that is shown and that no compaction wrote.

    That may be what an earlier one had to leave between its folds.
    """
    folds = partition.folds()
    return any(
        work.log[index].origin != "summary"
        for item in work.view.items
        if not isinstance(item, Folded)
        for start, stop in folds
        for index in range(max(start, item.start), min(stop, item.stop))
    )


def _why_nothing(work: CompactionInput, before: int, floor: int) -> Skipped:
    if floor > work.budget.effective_window:
        detail = (
            f"{floor:,} tokens of system prompt, tools, anchors and the newest messages cannot be "
            f"folded, and the window holds {work.budget.effective_window:,}"
        )
        return Skipped("cannot", detail, before, floor)
    detail = (
        f"head and tail already cover everything ({plural(len(work.log), 'message')}, "
        f"{before:,} tokens; the tail may have {work.budget.tail_tokens:,}); {FOLD_MORE}"
    )
    return Skipped("nothing to compact", detail, before, floor)


def _shown_again(
    work: CompactionInput, ranges: Sequence[tuple[int, int]], pruned: Mapping[int, Message]
) -> Iterator[tuple[int, tuple[Message, int]]]:
    """Yield what is kept and was shown otherwise from its arrival on, with its tokens.

    A marker is set only where the result that it points at is shown whole above it: what pointed
    at something that is folded or pruned now is shown itself again. `pruned` is left alone.
    """
    log, index = work.log, work.index
    whole: dict[Copy, str] = {}
    if not any(index.arrives(at) for start, stop in ranges for at in range(start, stop)):
        return
    for start, stop in ranges:
        for at in range(start, stop):
            if at in pruned:
                continue
            if not index.arrives(at):
                note_whole(log[at], log[at], None, whole)
                continue
            form = index.arrived(at)
            made, tokens = as_shown(log[at], form, work.costs[at], whole, work.counter)
            if made is not log[at]:
                yield at, (made, tokens)
