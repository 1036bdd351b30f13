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
from foldaway.compaction.blocks import (
    BlockGroup,
    BlockPiece,
    Zone,
    cut_groups,
    show,
    take,
    used_names,
)
from foldaway.compaction.measure import message_tokens, text_length
from foldaway.compaction.media import holds_media
from foldaway.compaction.partition import (
    Partition,
    allowed_cuts,
    head_stop,
    islands,
    nth_last_ask,
    snapped_back,
    speaker_at,
    system_stop,
)
from foldaway.compaction.references import reference_of
from foldaway.compaction.thinking import has_results, loop_start, unseen_from, words_alone
from foldaway.compaction.work import CompactionInput
from foldaway.compaction.worth import SIZES
from foldaway.facts import summary_text
from foldaway.reduction import plural
from foldaway.transcript import Folded, Groups, Message, Rewritten, Text, is_ask

RECORD_SHARE = 0.20
"""Of the room, what the record of what is folded has; 30 or 45 % from the second compaction on keep
no more after eight (`bench/notes/worth.md`)."""
SUMMARY_SHARE = 0.6
"""The most of a size that was asked for that a summary by a model gets."""
LEAST_SUMMARY_TOKENS = 200
"""What a summary gets with its frame if the size is too small for more: the frame has 90 tokens,
and a line or two say what there is to say in so little."""
HEAD_SHARE = 0.15
"""The most of the size asked for, or of the threshold, that the first messages may take to be kept;
measured with `python bench/economics.py`: larger ones cost more in later calls than they save."""
INSTRUCTIONS_SHARE = 0.3
"""The most of the size asked for, or of the threshold, that the text of a skill or command may take
to stay a message; chosen: two thirds are left for the work itself."""
PROTECTED_SHARE = 0.5
"""The most of the room that the newest messages have to stay whole; a reader is indifferent from 0
to 50 % (`bench/notes/worth.md`), and an agent reads no file again that it has just read."""
UNSEEN_SHARE = 0.25
"""The most of a size that a result may take to stay whole as long as the model has not seen it;
chosen, so that what was just asked for, as by a recall, is not asked for again."""
FOLD_MORE = "to fold more, give target_tokens or keep_last"
"""What helps somebody who wants a short session folded."""
_LOOKED_AT = 3
"""So many times the room, in bare turns, is looked at from the end on; chosen, older ones would not
be taken."""
_MEDIA_WITHIN = 800
"""Newest messages in which media are looked for; chosen."""
_BARE_CHARS = 800
"""Of a message that is shown bare, about; a token is four of them."""
_LOOKED_AT_CHARS = 24
"""What is near, in characters for each token of the room: any piece of an output there may be
shown, of older ones a few. Chosen, six times what the room holds."""
_LOOKED_THROUGH_CHARS = 200_000
"""A message of more is not looked through for secrets as a whole: only what may be shown of it."""
_ROUNDS = 6
"""The tokens of a whole are not quite the sum of its parts; each round comes nearer."""
_NEARLY = 0.985
"""Of the room; nearer no further round is worth it."""


class Skipped(Struct, frozen=True):
    """Why there is nothing to do."""

    reason: Reason
    detail: str
    tokens_before: int
    floor_tokens: int = 0


class Selection(Struct, frozen=True):
    """The partition, the messages in it that are cut, and the room for the summary."""

    partition: Partition
    rewritten: dict[int, Message]
    """What is kept and not shown as the log has it: cut, or as it was on arrival."""
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
    tight: bool
    """Whether no more may stay than what must."""

    @property
    def fixed(self) -> int:
        """The tokens before the room that is shared."""
        return self.work.outside_tokens + self.work.costs.span(0, self.head)


class _Layout(Struct, frozen=True):
    """A choice: what stays where, what is cut, and by how much a size is missed all the same."""

    partition: Partition
    rewritten: dict[int, Message]
    references: dict[int, str]
    summary_tokens: int
    over: int = 0


def choose(work: CompactionInput, spare: int = 0) -> Selection | Skipped:
    """Return what to fold and what to cut, or why nothing is to be done; `spare` tokens of a size
    that was asked for stay free.
    """
    shown = work.index.count_shown()
    before = work.outside_tokens + sum(shown.values())
    ground = _ground(work, before)
    floor = _floor(ground)
    target = work.budget.target_tokens
    if target is not None and before <= target:
        detail = f"{before:,} tokens are within the {target:,} that were asked for"
        return Skipped("nothing to compact", detail, before, floor)
    layout = _layout(ground, spare)
    if layout.over > 0:
        layout = min(
            layout, _layout(_ground(work, before, tight=True), spare), key=lambda one: one.over
        )
    partition = layout.partition
    was = {item.start: item.message for item in work.view.items if isinstance(item, Rewritten)}
    changes = any(was.get(at) != message for at, message in layout.rewritten.items())
    is_new = changes or _folds_anything(work, partition)
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
        partition, rewritten, costs, layout.references, layout.summary_tokens, before, floor,
        shown, is_new,
    )  # fmt: skip


def _ground(work: CompactionInput, before: int, *, tight: bool = False) -> _Ground:
    """Return what the choice is made on; `tight` if no more may stay than what must: the system
    prompt, the newest request, what is pinned, the last message.
    """
    parts = work.index.groups
    cuts = allowed_cuts(parts)
    head = head_stop(work.log, cuts, first=0) if tight else _head(work, cuts)
    least = max(head, _after_old_summary(work))
    least = next((cut for cut in cuts if cut >= least), least)  # a result alone may be left
    anchored = _anchored(work, tight=tight)
    return _Ground(work, parts, cuts, anchored, head, least, before, tight)


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
    """Return where the head ends; it is the shortest one if more is large for the target.

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


def _layout(ground: _Ground, spare: int) -> _Layout:
    """Return what stays: by its worth, if we are free to choose (`_is_free`); otherwise the tail
    that the options say, and a summary of all before it.
    """
    work = ground.work
    if _is_free(work):
        return _by_worth(ground, _size(ground) - spare, is_again=spare > 0)
    start = _given_tail(ground)
    if work.options.keeps_turn and start > ground.least and start not in ground.cuts:
        start = snapped_back(ground.cuts, start)
    found = _from(ground, start)
    if work.state.carried is not None and not found.folds():
        found = _with_fold(ground, found)
    kept = found.tail_tokens + sum(map(work.costs.__getitem__, found.between()))
    summary = _summary_beside(ground, kept) if found.folds() else 0
    total = ground.fixed + kept + summary + (_frame_tokens(work) if summary else 0)
    target = work.budget.target_tokens
    layout = _Layout(found, {}, {}, summary, total - (target or total))
    if not work.options.keeps_turn and total > (target or work.budget.effective_window):
        return _with_cut_tail(ground, layout, total - (target or work.budget.pressure_tokens))
    return layout


def _size(ground: _Ground) -> int:
    """Return the size to reach: the one that was asked for, or what the settings give to the tail
    and to a summary.
    """
    work, budget = ground.work, ground.work.budget
    if budget.target_tokens is not None:
        return budget.target_tokens
    summary = summary_room(work, ground.before - ground.fixed - budget.tail_tokens)
    wanted = ground.fixed + budget.tail_tokens + summary + _frame_tokens(work)
    return min(wanted, budget.effective_window)


def _with_cut_tail(ground: _Ground, layout: _Layout, excess: int) -> _Layout:
    """Return a layout with so much less of the results in its tail, as far as they have it."""
    work, found = ground.work, layout.partition
    room = found.tail_tokens - excess
    tail = [(found.tail_start, len(work.log))]
    whole = {at for at in ground.anchored if not has_results(work.log[at])} | work.options.pinned
    chosen = _chosen(work, _blocks(ground, tail, room, tail, frozenset(whole)), room, tail)
    partition = replace(found, tail_tokens=chosen.tokens)
    return _Layout(
        partition, layout.rewritten | chosen.rewritten, layout.references | chosen.references,
        layout.summary_tokens, layout.over and max(chosen.tokens - room, 0),
    )  # fmt: skip


def _is_free(work: CompactionInput) -> bool:
    """Return whether it is left to us what stays, message by message."""
    options = work.options
    is_given = options.above is not None or options.keep_last is not None
    return options.keeps_turn and not is_given and work.writer != "provider"


def _summary_beside(ground: _Ground, kept: int) -> int:
    """Return the room of a summary beside what is kept whole."""
    work, target = ground.work, ground.work.budget.target_tokens
    if target is None:
        return summary_room(work, ground.before - ground.fixed - work.budget.tail_tokens)
    free = target - ground.fixed - kept - _frame_tokens(work)
    return max(min(free, work.budget.summary_max_tokens), least_summary(work))


def _record(work: CompactionInput, room: int) -> int:
    """Return what the record has of a room that everything shares."""
    if work.writer != "ledger":
        most = int(room * SUMMARY_SHARE)
        return max(
            min(summary_room(work, work.costs.span(0, len(work.log))), most), least_summary(work)
        )
    return max(min(int(room * RECORD_SHARE), work.budget.summary_max_tokens), least_summary(work))


def _by_worth(ground: _Ground, size: int, *, is_again: bool = False) -> _Layout:
    """Return what stays of everything after the head, within a size; if it was missed before, the
    record gives way to what must stay.
    """
    work, length = ground.work, len(ground.work.log)
    room = max(size - ground.fixed, 0)
    candidates = list(_visible(ground, length))
    protected = length if ground.tight else _protected_from(ground, candidates, room)
    newest = min(protected, length - (1 if ground.tight else work.policy.min_tail))
    must = [(a, b) for a, b in candidates
            if b > newest or any(a <= at < b for at in ground.anchored)]  # fmt: skip
    whole = {at for at in ground.anchored if at != work.index.anchors.reply} | work.options.pinned
    if not ground.tight:
        unseen = range(max(unseen_from(work), 0), length)
        whole |= {at for at in unseen if work.costs[at] <= UNSEEN_SHARE * room}
        whole.update(range(protected, length))
    blocks = _blocks(ground, candidates, room, must, frozenset(whole))
    record = _record(work, room)
    beside = room - record - _frame_tokens(work)
    may_fit = work.budget.target_tokens is not None and work.writer == "ledger"
    free = room if may_fit else beside  # a size may be reached by cutting alone, without a record
    chosen = _chosen(work, blocks, free, must)
    fits = chosen.tokens <= free and _covers(chosen.ranges, ground.head, length)
    if work.state.carried is None and fits:
        return _spread(ground, chosen, 0)
    if work.state.carried is not None:
        blocks = _without_oldest(blocks, must)
    elif free == beside:
        return _spread(ground, chosen, record)
    chosen = _chosen(work, blocks, beside, must)
    missing = max(chosen.tokens - beside, 0) if is_again else 0
    helps = record - missing >= _frame_tokens(work)  # otherwise the size cannot be reached at all
    return _spread(ground, chosen, record - missing if helps else record)


def _protected_from(ground: _Ground, candidates: Sequence[tuple[int, int]], room: int) -> int:
    """Return from where on everything stays whole: the messages that the settings protect, as far
    as they have their share of the room.
    """
    work, start = ground.work, len(ground.work.log)
    first = start - work.policy.protect_last
    left = PROTECTED_SHARE * room
    for begin, stop in reversed(candidates):
        left -= work.costs.span(begin, stop)
        if stop != start or begin < first or left < 0:
            break
        start = begin
    return start


def _covers(ranges: Sequence[tuple[int, int]], start: int, stop: int) -> bool:
    return sum(b - a for a, b in ranges) == stop - start


class _Blocks(Struct, frozen=True):
    """What may stay, newest first, and the names that count in it."""

    zone: Zone
    ranges: list[tuple[int, int]]
    groups: list[BlockGroup]
    used: dict[str, float]
    references: dict[int, str]
    """Those that were made for what is cut, by position."""

    def without_secrets(self, unclean: frozenset[int]) -> _Blocks:
        """Return the same, with more messages whose texts may hold secrets."""
        zone = replace(self.zone, unclean=self.zone.unclean | unclean)
        return replace(self, zone=zone, groups=cut_groups(zone, self.ranges, self.used))


class _Chosen(Struct, frozen=True):
    """The groups that stay, in order, and their messages that are not shown as they are."""

    ranges: list[tuple[int, int]]
    rewritten: dict[int, Message]
    references: dict[int, str]
    tokens: int


def _blocks(
    ground: _Ground, candidates: Sequence[tuple[int, int]], room: int,
    must: Sequence[tuple[int, int]], whole: frozenset[int],
) -> _Blocks:  # fmt: skip
    """Return the candidates as blocks; `whole` are messages of which nothing is cut."""
    references: dict[int, str] = {}
    ranges = _looked_at(ground.work, candidates, room, must)
    zone = _zone(ground, whole, references, room)
    used = used_names(zone, ranges)
    return _Blocks(zone, ranges, cut_groups(zone, ranges, used), used, references)


def _without_oldest(blocks: _Blocks, must: Sequence[tuple[int, int]]) -> _Blocks:
    """Return the blocks without the oldest group that may go: so something is folded."""
    free = next((one for one in blocks.ranges if one not in must), None)
    return replace(
        blocks, ranges=[one for one in blocks.ranges if one != free],
        groups=[group for group in blocks.groups if (group.start, group.stop) != free],
    )  # fmt: skip


def _chosen(
    work: CompactionInput, blocks: _Blocks, room: int, must: Sequence[tuple[int, int]]
) -> _Chosen:
    """Return what is worth most of the blocks, within a room, with what must stay; what is shown in
    part is looked through for secrets.
    """
    while True:
        taken, shown, size = _taken(work, blocks, room, must)
        ranges = sorted((blocks.groups[at].start, blocks.groups[at].stop) for at in taken)
        parted = [at for start, stop in ranges if not shown.keys().isdisjoint(range(start, stop))
                  for at in range(start, stop)]  # fmt: skip
        small = [at for at in parted if text_length(work.log[at]) <= _LOOKED_THROUGH_CHARS]
        unclean = frozenset(parted).difference(work.index.clean_among(small))
        if unclean <= blocks.zone.unclean:
            return _Chosen(ranges, shown, blocks.references, size)
        blocks = blocks.without_secrets(unclean)


def _taken(
    work: CompactionInput, blocks: _Blocks, room: int, must: Sequence[tuple[int, int]]
) -> tuple[Mapping[int, set[BlockPiece]], dict[int, Message], int]:
    """Return the groups that are taken, their messages that are shown otherwise, and the tokens."""
    groups, zone = blocks.groups, blocks.zone
    known = set(must)
    needed = [number for number, group in enumerate(groups) if (group.start, group.stop) in known]
    best: tuple[int, dict[int, set[BlockPiece]], dict[int, Message]] | None = None
    wanted = float(room)
    for _ in range(_ROUNDS):
        taken = take(groups, int(wanted), needed, blocks.used)
        shown = _shown(zone, groups, taken)
        size = sum(
            message_tokens(shown[at], work.counter) if at in shown else work.costs[at]
            for number in taken
            for at in range(groups[number].start, groups[number].stop)
        )
        if best is None or _is_nearer(size, best[0], room):
            best = size, taken, shown
        is_all = len(taken) == len(groups) and not shown
        if is_all or _NEARLY * room <= size <= room or wanted <= 0:
            break
        if size > room:
            wanted -= size - room + SIZES.output / 3
        else:
            wanted = min(wanted * room / max(size, 1), 2.0 * room)
    assert best is not None
    size, taken, shown = best
    return taken, shown, size


def _is_nearer(size: int, than: int, room: int) -> bool:
    """Return whether a size fills the room better than another: within it, more; beyond, less."""
    if size <= room:
        return than > room or size > than
    return than > room and size < than


def _shown(
    zone: Zone, groups: Sequence[BlockGroup], taken: Mapping[int, set[BlockPiece]]
) -> dict[int, Message]:
    found: dict[int, Message] = {}
    for number, pieces in taken.items():
        group = groups[number]
        chosen: dict[int, list[int]] = {}
        for piece in pieces:
            chosen.setdefault(piece.cut, []).append(piece.order)
        found |= show(zone, group.start, group.stop, group.cuts, chosen)
    return found


def _zone(ground: _Ground, whole: frozenset[int], references: dict[int, str], room: int) -> Zone:
    work = ground.work
    log = work.log

    def reference(message: Message) -> str:
        if not work.options.references:
            return ""
        found = references.get(message.position)
        if found is None:
            found = references[message.position] = reference_of(message)
        return found

    return Zone(
        log, work.counter, lambda at: speaker_at(log, at), reference, whole,
        work.policy.digest_from_chars, work.policy.argument_chars, _with_media(work),
        _LOOKED_AT_CHARS * max(room, 0), work.redact,
    )  # fmt: skip


def _with_media(work: CompactionInput) -> frozenset[int]:
    """Return the messages whose media stay: the newest of a user's and of a tool's that bear some,
    the newest request, what is pinned.
    """
    newest: dict[bool, int] = {}
    for at in range(len(work.log) - 1, max(len(work.log) - _MEDIA_WITHIN, 0) - 1, -1):
        message = work.log[at]
        if holds_media(message.parts):
            newest.setdefault(has_results(message), at)
    return frozenset({*newest.values(), work.index.anchors.ask, *work.options.pinned})


def _looked_at(
    work: CompactionInput, candidates: Sequence[tuple[int, int]], room: int,
    must: Sequence[tuple[int, int]],
) -> list[tuple[int, int]]:  # fmt: skip
    """Return the newest of the candidates, as many as might be taken, and what must stay."""
    most = 4 * _LOOKED_AT * max(room, 0)
    found: list[tuple[int, int]] = []
    needed = set(must)
    for start, stop in reversed(candidates):
        most -= sum(min(text_length(work.log[at]), _BARE_CHARS) for at in range(start, stop))
        if most >= 0 or (start, stop) in needed:
            found.append((start, stop))
    return found[::-1]


def _visible(ground: _Ground, stop: int) -> Iterator[tuple[int, int]]:
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


def _spread(ground: _Ground, chosen: _Chosen, record: int) -> _Layout:
    """Return a choice as a layout: what is kept without a gap up to the end is the tail."""
    work = ground.work
    start = len(work.log)
    tail = 0
    ranges = list(chosen.ranges)
    while ranges and ranges[-1][1] == start and ranges[-1][0] >= ground.least:
        start, stop = ranges.pop()
        tail += sum(_cost(work, chosen, at) for at in range(start, stop))
    partition = Partition(ground.head, max(start, ground.head), tuple(ranges), tail)
    total = ground.fixed + chosen.tokens + record + (_frame_tokens(work) if record else 0)
    over = total - (work.budget.target_tokens or work.budget.effective_window)
    return _Layout(partition, chosen.rewritten, chosen.references, record, max(over, 0))


def _cost(work: CompactionInput, chosen: _Chosen, at: int) -> int:
    made = chosen.rewritten.get(at)
    return work.costs[at] if made is None else message_tokens(made, work.counter)


def _from(ground: _Ground, start: int) -> Partition:
    """Return the partition whose tail starts at a place."""
    work = ground.work
    kept = islands(ground.anchored, ground.parts, least=ground.head, before=start)
    if not work.options.keeps_turn:
        kept = _alone(work, kept)
    tail = max(start, ground.head)
    return Partition(ground.head, tail, kept, work.costs.span(tail, len(work.log)))


def _with_fold(ground: _Ground, found: Partition) -> Partition:
    """Return the partition with the longest tail that leaves something to fold, if there is one: a
    summary that stands inside a message that stays is told again only in a new one.
    """
    later = (_from(ground, cut) for cut in ground.cuts if cut > found.tail_start)
    return next((less for less in later if less.folds()), found)


def _given_tail(ground: _Ground) -> int:
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
        wanted = _within(ground, _tail_tokens(ground))
    return max(snapped_back(ground.cuts, max(wanted, 0)), ground.least)


def _tail_tokens(ground: _Ground) -> int:
    budget = ground.work.budget
    if budget.target_tokens is None:
        return budget.tail_tokens
    return int((budget.target_tokens - ground.fixed) * (1 - SUMMARY_SHARE))


def _within(ground: _Ground, tokens: int) -> int:
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


def summary_room(work: CompactionInput, content: int) -> int:
    """Return the room for a summary of `content` tokens; an earlier summary counts in full."""
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
    shown = {item.start: item.message for item in work.view.items if isinstance(item, Rewritten)}
    stay = (at for start, end in (*kept, (tail, length)) for at in range(start, end))
    standing = sum(
        message_tokens(shown[at], work.counter) if at in shown else work.costs[at] for at in stay
    )
    return work.outside_tokens + work.costs.span(0, stop) + standing


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
