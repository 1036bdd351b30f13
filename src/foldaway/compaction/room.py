"""What a choice is made on, and the sizes of what is kept: the head, the tail, the record."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from foldaway.compaction.measure import message_tokens
from foldaway.compaction.partition import (
    allowed_cuts,
    head_stop,
    islands,
    snapped_back,
    speaker_at,
    system_stop,
)
from foldaway.compaction.thinking import loop_start
from foldaway.compaction.work import CompactionInput
from foldaway.facts import summary_text
from foldaway.transcript import Groups, Message, Rewritten, Text

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


class Ground(Struct, frozen=True):
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


def find_ground(work: CompactionInput, before: int, *, tight: bool = False) -> Ground:
    """Return what the choice is made on; `tight` if no more may stay than what must: the system
    prompt, the newest request, what is pinned, the last message.
    """
    parts = work.index.groups
    cuts = allowed_cuts(parts)
    head = head_stop(work.log, cuts, first=0) if tight else _head(work, cuts)
    least = max(head, _after_old_summary(work))
    least = next((cut for cut in cuts if cut >= least), least)  # a result alone may be left
    anchored = _anchored(work, tight=tight)
    return Ground(work, parts, cuts, anchored, head, least, before, tight)


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


def _after_old_summary(work: CompactionInput) -> int:
    """Return the position after the last generated summary: it never stays in a tail."""
    stop = work.state.folded_to
    for index in range(len(work.log) - 1, stop - 1, -1):
        if work.log[index].origin == "summary":
            return index + 1
    return stop


def find_floor(ground: Ground) -> int:
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


def size_to_reach(ground: Ground) -> int:
    """Return the size to reach: the one that was asked for, or what the settings give to the tail
    and to a summary.
    """
    work, budget = ground.work, ground.work.budget
    if budget.target_tokens is not None:
        return budget.target_tokens
    summary = summary_room(work, ground.before - ground.fixed - budget.tail_tokens)
    wanted = ground.fixed + budget.tail_tokens + summary + count_frame(work)
    return min(wanted, budget.effective_window)


def tail_room(ground: Ground) -> int:
    """Return the room of a tail whose messages all stay whole."""
    budget = ground.work.budget
    if budget.target_tokens is None:
        return budget.tail_tokens
    return int((budget.target_tokens - ground.fixed) * (1 - SUMMARY_SHARE))


def record_room(work: CompactionInput, room: int) -> int:
    """Return what the record has of a room that everything shares."""
    if work.writer != "ledger":
        most = int(room * SUMMARY_SHARE)
        return max(
            min(summary_room(work, work.costs.span(0, len(work.log))), most), least_summary(work)
        )
    return max(min(int(room * RECORD_SHARE), work.budget.summary_max_tokens), least_summary(work))


def summary_beside(ground: Ground, kept: int) -> int:
    """Return the room of a summary beside what is kept whole."""
    work, target = ground.work, ground.work.budget.target_tokens
    if target is None:
        return summary_room(work, ground.before - ground.fixed - work.budget.tail_tokens)
    free = target - ground.fixed - kept - count_frame(work)
    return max(min(free, work.budget.summary_max_tokens), least_summary(work))


def summary_room(work: CompactionInput, content: int) -> int:
    """Return the room for a summary of `content` tokens; an earlier summary counts in full."""
    older = 0
    if work.state.carried is not None:
        at = [index for index, message in enumerate(work.log) if message.origin == "summary"]
        older = min(sum(work.costs[index] for index in at), max(content, 0))
    return work.budget.summary_room(max(content - older, 0), older)


def least_summary(work: CompactionInput) -> int:
    """Return the tokens that a summary gets however small the size is; never less than its frame.

    A smaller size never gives a larger summary.
    """
    free = (work.budget.target_tokens or 0) - work.outside_tokens
    free -= work.costs.span(0, system_stop(work.log))
    frame = count_frame(work)
    return max(min(int(free * SUMMARY_SHARE), LEAST_SUMMARY_TOKENS) - frame, frame)


def count_frame(work: CompactionInput) -> int:
    """Return what the message of a summary costs beside its words."""
    frame = summary_text("", "fa-0123456789", brief=work.is_brief)
    return message_tokens(Message("user", (Text(frame),)), work.counter)
