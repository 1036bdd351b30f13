"""Measure what there is and choose what to fold: the first half of a plan.

One room is shared by everything between the head and the end, by its worth (`worth.toml`): turns,
words, pieces of outputs (`blocks.py`). It is what was asked for, or what the settings give to the
tail and to a summary. The record of what is folded has a small share of it. Outside the ranking are
what must stay (a person's newest request, what is pinned, the newest messages) and what a caller
asked to keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Reason
from foldaway.compaction.arrival import Copy, as_shown, note_whole
from foldaway.compaction.fill import Chosen, cut_blocks, fill
from foldaway.compaction.measure import message_tokens
from foldaway.compaction.partition import Partition, Selection, islands, nth_last_ask, snapped_back
from foldaway.compaction.room import (
    Ground,
    count_frame,
    find_floor,
    find_ground,
    least_summary,
    record_room,
    size_to_reach,
    summary_beside,
    tail_room,
)
from foldaway.compaction.thinking import has_results, unseen_from, words_alone
from foldaway.compaction.work import CompactionInput
from foldaway.facts import is_known_at
from foldaway.reduction import plural
from foldaway.transcript import Folded, Message, Rewritten, is_ask

FOLD_MORE = "to fold more, ask for a smaller size or to keep fewer exchanges"
"""What helps somebody who wants a short session folded."""
UNSEEN_SHARE = 0.25
"""The most of a size that a result may take to stay whole as long as the model has not seen it;
chosen, so that what was just asked for, as by a recall, is not asked for again."""
_MOST_BY_HAND = 0.5
"""Of what a person has folded in a short session, what the record takes at most; chosen."""


class Skipped(Struct, frozen=True):
    """Why there is nothing to do."""

    reason: Reason
    detail: str
    tokens_before: int
    floor_tokens: int = 0


def choose(work: CompactionInput, spare: int = 0) -> Selection | Skipped:
    """Return what to fold and what to cut, or why nothing is to be done; `spare` tokens of a size
    that was asked for stay free.
    """
    shown = work.index.count_shown()
    before = work.outside_tokens + sum(shown.values())
    ground = find_ground(work, before)
    floor = find_floor(ground)
    target = work.budget.target_tokens
    if target is not None and before <= target:
        detail = f"{before:,} tokens are within the {target:,} that were asked for"
        return Skipped("nothing to compact", detail, before, floor)
    layout = lay_out(ground, spare)
    if layout.over > 0:
        layout = min(
            layout, lay_out(find_ground(work, before, tight=True), spare), key=lambda one: one.over
        )
    if work.options.force and target is None and is_free(work):
        layout = fold_something(ground, layout)
    partition = layout.partition
    was = {item.start: item.message for item in work.view.items if isinstance(item, Rewritten)}
    changes = any(was.get(at) != message for at, message in layout.rewritten.items())
    is_new = changes or folds_anything(work, partition)
    if work.state.carried is not None and not partition.folds():
        is_new = False  # the summary that a message carries would go
    if not is_new and not (target and partition.folds()):
        return _why_nothing(work, before, floor)
    rewritten = dict(layout.rewritten)
    for index in _words_of_results(work, partition):
        rewritten[index] = words_alone(work.log[index])
    again = _shown_again(work, partition.kept(len(work.log)), rewritten)
    rewritten |= {index: message for index, (message, _) in again}
    costs = {at: message_tokens(message, work.counter) for at, message in rewritten.items()}
    return Selection(
        partition,
        rewritten,
        costs,
        layout.references,
        layout.summary_tokens,
        before,
        floor,
        shown,
        is_new,
    )


def _words_of_results(work: CompactionInput, partition: Partition) -> list[int]:
    """Return what is kept of a turn that goes and holds results: only its words stay."""
    if work.options.keeps_turn:
        return []
    return [at for at in partition.between() if is_ask(work.log[at]) and has_results(work.log[at])]


def _shown_again(
    work: CompactionInput, ranges: Sequence[tuple[int, int]], cut: Mapping[int, Message]
) -> Iterator[tuple[int, tuple[Message, int]]]:
    """Yield what is kept and was shown otherwise from its arrival on, with its tokens.

    A marker is set only where the result that it points at is shown whole above it: what pointed
    at something that is folded or cut now is shown itself again. `cut` is left alone.
    """
    log, index = work.log, work.index
    whole: dict[Copy, str] = {}
    if not any(index.arrives(at) for start, stop in ranges for at in range(start, stop)):
        return
    for start, stop in ranges:
        for at in range(start, stop):
            if at in cut:
                continue
            if not index.arrives(at):
                note_whole(log[at], log[at], None, whole)
                continue
            form = index.find_form(at)
            made, tokens = as_shown(log[at], form, work.costs[at], whole, work.counter)
            if made is not log[at]:
                yield at, (made, tokens)


def beyond_window(work: CompactionInput, floor: int) -> str:
    """Return that what no fold can remove is larger than the window, "" if it is not."""
    window = work.budget.effective_window
    if floor <= window:
        return ""
    return (
        f"{floor:,} tokens of system prompt, tools, anchors and the newest messages cannot be "
        f"folded, and the window holds {window:,}"
    )


def _why_nothing(work: CompactionInput, before: int, floor: int) -> Skipped:
    if detail := beyond_window(work, floor):
        return Skipped("cannot", detail, before, floor)
    detail = (
        f"head and tail already cover everything ({plural(len(work.log), 'message')}, "
        f"{before:,} tokens; the tail may have {work.budget.tail_tokens:,}); {FOLD_MORE}"
    )
    return Skipped("nothing to compact", detail, before, floor)


class _Layout(Struct, frozen=True):
    """A choice: what stays where, what is cut, and by how much a size is missed all the same."""

    partition: Partition
    rewritten: dict[int, Message]
    references: dict[int, str]
    summary_tokens: int
    over: int = 0


def lay_out(ground: Ground, spare: int) -> _Layout:
    """Return what stays: by its worth, if we are free to choose (`is_free`); otherwise the tail
    that the options say, and a summary of all before it.
    """
    work = ground.work
    if is_free(work):
        return _by_worth(ground, size_to_reach(ground) - spare, is_again=spare > 0)
    start = _given_tail(ground)
    if work.options.keeps_turn and start > ground.least and start not in ground.cuts:
        start = snapped_back(ground.cuts, start)
    found = _from(ground, start)
    if work.state.carried is not None and not found.folds():
        found = _with_fold(ground, found)
    kept = found.tail_tokens + sum(map(work.costs.__getitem__, found.between()))
    summary = summary_beside(ground, kept) if found.folds() else 0
    total = ground.fixed + kept + summary + (count_frame(work) if summary else 0)
    target = work.budget.target_tokens
    layout = _Layout(found, {}, {}, summary, total - (target or total))
    if not work.options.keeps_turn and total > (target or work.budget.effective_window):
        return _with_cut_tail(ground, layout, total - (target or work.budget.pressure_tokens))
    return layout


def is_free(work: CompactionInput) -> bool:
    """Return whether it is left to us what stays, message by message."""
    options = work.options
    is_given = options.above is not None or options.keep_last is not None
    return options.keeps_turn and not is_given and work.writer != "provider"


def _by_worth(ground: Ground, size: int, *, is_again: bool = False) -> _Layout:
    """Return what stays of everything after the head, within a size; if it was missed before, the
    record gives way to what must stay.
    """
    work, length = ground.work, len(ground.work.log)
    near = max(size - ground.fixed, 0)
    candidates = list(_visible(ground, length))
    protected = length if ground.tight else _protected_from(ground, candidates, near)
    room = work.budget.widen(near, work.costs.span(protected, length))
    newest = min(protected, length - (1 if ground.tight else work.policy.min_tail))
    must = [
        (a, b) for a, b in candidates if b > newest or any(a <= at < b for at in ground.anchored)
    ]
    whole = {at for at in ground.anchored if at != work.index.anchors.reply} | work.options.pinned
    if not ground.tight:
        unseen = range(max(unseen_from(work), 0), length)
        whole |= {at for at in unseen if work.costs[at] <= UNSEEN_SHARE * room}
        whole.update(range(protected, length))
    blocks = cut_blocks(work, candidates, near, must, frozenset(whole))
    record = record_room(work, room)
    beside = room - record - count_frame(work)
    may_fit = work.budget.target_tokens is not None and work.writer == "ledger"
    free = room if may_fit else beside  # a size may be reached by cutting alone, without a record
    chosen = fill(work, blocks, free, must)
    fits = chosen.tokens <= free and _covers(chosen.ranges, ground.head, length)
    if work.state.carried is None and fits:
        return _spread(ground, chosen, 0)
    if work.state.carried is not None:
        blocks = blocks.without_oldest(must)
        chosen = fill(work, blocks, beside, must)
    else:
        if free != beside:
            chosen = fill(work, blocks, beside, must)
        folds = _spread(ground, chosen, record).partition.folds()
        if folds and not is_known_at(work.log, folds[0][0]):
            chosen = fill(work, blocks.without_oldest(must), beside, must)
    may_miss = is_again and (work.state.carried is not None or free != beside)
    missing = max(chosen.tokens - beside, 0) if may_miss else 0
    helps = record - missing >= count_frame(work)  # otherwise the size cannot be reached at all
    return _spread(ground, chosen, record - missing if helps else record)


def _visible(ground: Ground, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the groups after the head that the model sees now and nobody but we wrote."""
    work, parts = ground.work, ground.parts
    folded = [item for item in work.view.items if isinstance(item, Folded)]
    number = 0
    for group in parts:
        if group.start < ground.head or group.stop > stop:
            continue
        while number < len(folded) and folded[number].stop <= group.start:
            number += 1
        hidden = number < len(folded) and folded[number].start < group.stop
        written = any(work.log[at].origin == "summary" for at in range(group.start, group.stop))
        if not hidden and not written:
            yield group.start, group.stop


def _protected_from(ground: Ground, candidates: Sequence[tuple[int, int]], room: int) -> int:
    """Return from where on everything stays whole: the messages that the settings protect, as many
    as have what the budget gives them.
    """
    work, start = ground.work, len(ground.work.log)
    first = start - work.policy.protect_last
    left = work.budget.protected_tokens(ground.before, ground.fixed, room)
    for begin, stop in reversed(candidates):
        left -= work.costs.span(begin, stop)
        if stop != start or begin < first or left < 0:
            break
        start = begin
    return start


def _covers(ranges: Sequence[tuple[int, int]], start: int, stop: int) -> bool:
    return sum(b - a for a, b in ranges) == stop - start


def _spread(ground: Ground, chosen: Chosen, record: int) -> _Layout:
    """Return a choice as a layout: what is kept without a gap up to the end is the tail."""
    work = ground.work
    start = len(work.log)
    tail = 0
    ranges = list(chosen.ranges)
    while ranges and ranges[-1][1] == start and ranges[-1][0] >= ground.least:
        start, stop = ranges.pop()
        tail += sum(_cost(work, chosen, at) for at in range(start, stop))
    partition = Partition(ground.head, max(start, ground.head), tuple(ranges), tail)
    total = ground.fixed + chosen.tokens + record + (count_frame(work) if record else 0)
    over = total - (work.budget.target_tokens or work.budget.effective_window)
    return _Layout(partition, chosen.rewritten, chosen.references, record, max(over, 0))


def _cost(work: CompactionInput, chosen: Chosen, at: int) -> int:
    made = chosen.rewritten.get(at)
    return work.costs[at] if made is None else message_tokens(made, work.counter)


def _with_cut_tail(ground: Ground, layout: _Layout, excess: int) -> _Layout:
    """Return a layout with so much less of the results in its tail, as far as they have it."""
    work, found = ground.work, layout.partition
    room = found.tail_tokens - excess
    tail = [(found.tail_start, len(work.log))]
    whole = {at for at in ground.anchored if not has_results(work.log[at])} | work.options.pinned
    chosen = fill(work, cut_blocks(work, tail, room, tail, frozenset(whole)), room, tail)
    partition = replace(found, tail_tokens=chosen.tokens)
    return _Layout(
        partition,
        layout.rewritten | chosen.rewritten,
        layout.references | chosen.references,
        layout.summary_tokens,
        layout.over and max(chosen.tokens - room, 0),
    )


def _given_tail(ground: Ground) -> int:
    """Return where the tail starts as the options say, or else by its budget; if the turn goes,
    with what the model has not seen.
    """
    work, options = ground.work, ground.work.options
    if not options.keeps_turn:
        return max(unseen_from(work), ground.head)
    if options.above is not None:
        wanted = options.above
    elif options.keep_last is not None:
        wanted = nth_last_ask(work.log, options.keep_last)
    else:
        wanted = _within(ground, tail_room(ground))
    return max(snapped_back(ground.cuts, max(wanted, 0)), ground.least)


def _within(ground: Ground, tokens: int) -> int:
    """Return where the tail starts: as early as its tokens allow, and never after the newest
    messages that the settings always keep.
    """
    work = ground.work
    start = length = len(work.log)
    for begin in reversed(ground.parts.starts):
        tokens -= work.costs.span(begin, start)
        if tokens < 0 and length - start >= work.policy.min_tail:
            break
        start = begin
    return start


def _from(ground: Ground, start: int) -> Partition:
    """Return the partition whose tail starts at a place."""
    work = ground.work
    kept = islands(ground.anchored, ground.parts, least=ground.head, before=start)
    if not work.options.keeps_turn:
        kept = _alone(work, kept)
    tail = max(start, ground.head)
    return Partition(ground.head, tail, kept, work.costs.span(tail, len(work.log)))


def _alone(work: CompactionInput, kept: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Return the islands of a turn that goes: words of the user without the call before them."""
    log = work.log
    return tuple(
        (stop - 1, stop) if is_ask(log[stop - 1]) and has_results(log[stop - 1]) else (start, stop)
        for start, stop in kept
    )


def _with_fold(ground: Ground, found: Partition) -> Partition:
    """Return the partition with the longest tail that leaves something to fold, if there is one: a
    summary that stands inside a message that stays is told again only in a new one.
    """
    later = (_from(ground, cut) for cut in ground.cuts if cut > found.tail_start)
    return next((less for less in later if less.folds()), found)


def fold_something(ground: Ground, layout: _Layout) -> _Layout:
    """Return a layout that folds something new, if it can be: what is before the newest messages
    that always stay. The record has at most half of the room of what it stands for.
    """
    work = ground.work
    if folds_anything(work, layout.partition):
        return layout
    start = snapped_back(ground.cuts, len(work.log) - work.policy.min_tail)
    found = _from(ground, max(start, ground.least))
    if not folds_anything(work, found):
        return layout
    kept = found.tail_tokens + sum(map(work.costs.__getitem__, found.between()))
    folded = sum(work.costs.span(start, stop) for start, stop in found.folds())
    most = max(int(folded * _MOST_BY_HAND), least_summary(work))
    stays = {at for begin, stop in found.kept(len(work.log)) for at in range(begin, stop)}
    shown = {at: message for at, message in layout.rewritten.items() if at in stays}
    return _Layout(found, shown, layout.references, min(summary_beside(ground, kept), most))


def folds_anything(work: CompactionInput, partition: Partition) -> bool:
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
