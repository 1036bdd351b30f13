"""What a compaction keeps, as it was on arrival: forms stay, markers are set anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from holdfast.compaction.arrival import Copy, as_shown, note_whole
from holdfast.compaction.work import Work
from holdfast.transcript import Message


def shown_again(
    work: Work, ranges: Sequence[tuple[int, int]], pruned: Mapping[int, Message]
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
