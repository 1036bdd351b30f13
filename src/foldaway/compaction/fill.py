"""Fill a room with blocks: of turns, words and pieces of outputs, what is worth most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldaway.compaction.blocks import (
    BlockGroup,
    BlockPiece,
    Zone,
    cut_groups,
    show,
    take,
    used_names,
)
from foldaway.compaction.measure import message_tokens
from foldaway.compaction.partition import newest_requests, speaker_at
from foldaway.compaction.references import holds_media, reference_of
from foldaway.compaction.thinking import has_results
from foldaway.compaction.work import CompactionInput
from foldaway.compaction.worth import SIZES
from foldaway.facts.ledger import find_topic
from foldaway.transcript import Message, text_length

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
_FAILURE_CHARS = 0.4
"""What is shown of open failures for their own sake, in characters for each token of the room:
about a tenth of it; chosen."""
_LOOKED_THROUGH_CHARS = 200_000
"""A message of more is not looked through for secrets as a whole: only what may be shown of it."""
_ROUNDS = 6
"""The tokens of a whole are not quite the sum of its parts; each round comes nearer."""
_NEARLY = 0.985
"""Of the room; nearer no further round is worth it."""


class Blocks(Struct, frozen=True):
    """What may stay, newest first, and the names that count in it."""

    zone: Zone
    ranges: list[tuple[int, int]]
    groups: list[BlockGroup]
    used: dict[str, float]
    references: dict[int, str]
    """Those that were made for what is cut, by position."""

    def without_secrets(self, unclean: frozenset[int]) -> Blocks:
        """Return the same, with more messages whose texts may hold secrets."""
        zone = replace(self.zone, unclean=self.zone.unclean | unclean)
        return replace(self, zone=zone, groups=cut_groups(zone, self.ranges, self.used))

    def without_oldest(self, must: Sequence[tuple[int, int]]) -> Blocks:
        """Return the same without the oldest group that may go: so something is folded."""
        free = next((one for one in self.ranges if one not in must), None)
        ranges = [one for one in self.ranges if one != free]
        groups = [one for one in self.groups if (one.start, one.stop) != free]
        return replace(self, ranges=ranges, groups=groups)


class Chosen(Struct, frozen=True):
    """The groups that stay, in order, and their messages that are not shown as they are."""

    ranges: list[tuple[int, int]]
    rewritten: dict[int, Message]
    references: dict[int, str]
    tokens: int


def cut_blocks(
    work: CompactionInput,
    candidates: Sequence[tuple[int, int]],
    room: int,
    must: Sequence[tuple[int, int]],
    whole: frozenset[int],
) -> Blocks:
    """Return the candidates as blocks; `whole` are messages of which nothing is cut."""
    references: dict[int, str] = {}
    zone = _zone(work, whole, references, room)
    ranges = _looked_at(zone, candidates, room, must)
    used = used_names(zone, ranges)
    return Blocks(zone, ranges, cut_groups(zone, ranges, used), used, references)


def _looked_at(
    zone: Zone, candidates: Sequence[tuple[int, int]], room: int, must: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the newest of the candidates, as many as might be taken, what must stay, and as much
    of the others that speaks of a focus.
    """
    most = left = 4 * _LOOKED_AT * max(room, 0)
    found: list[tuple[int, int]] = []
    others: list[tuple[float, int, tuple[int, int]]] = []
    needed = set(must)
    for start, stop in reversed(candidates):
        chars = sum(min(text_length(zone.log[at]), _BARE_CHARS) for at in range(start, stop))
        left -= chars
        if left >= 0 or (start, stop) in needed:
            found.append((start, stop))
        elif (lift := zone.focus_in(start, stop)) > 0:
            others.append((-lift, chars, (start, stop)))
    for _, chars, group in sorted(others, key=lambda row: row[0]):
        most -= chars
        if most >= 0:
            found.append(group)
    return sorted(found)


def _zone(
    work: CompactionInput, whole: frozenset[int], references: dict[int, str], room: int
) -> Zone:
    log = work.log

    def reference(message: Message) -> str:
        if not work.options.references:
            return ""
        found = references.get(message.position)
        if found is None:
            found = references[message.position] = reference_of(message)
        return found

    return Zone(
        log,
        work.counter,
        lambda at: speaker_at(log, at),
        reference,
        whole,
        _with_media(work),
        _LOOKED_AT_CHARS * max(room, 0),
        work.redact,
        work.index.open_lines(_FAILURE_CHARS * max(room, 0)),
        find_topic(work.options.focus, newest_requests(log)),
    )


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


def fill(
    work: CompactionInput, blocks: Blocks, room: int, must: Sequence[tuple[int, int]]
) -> Chosen:
    """Return what is worth most of the blocks, within a room, with what must stay; what is shown in
    part is looked through for secrets.
    """
    while True:
        taken, shown, size = _taken(work, blocks, room, must)
        ranges = sorted((blocks.groups[at].start, blocks.groups[at].stop) for at in taken)
        parted = [
            at
            for start, stop in ranges
            if not shown.keys().isdisjoint(range(start, stop))
            for at in range(start, stop)
        ]
        small = [at for at in parted if text_length(work.log[at]) <= _LOOKED_THROUGH_CHARS]
        unclean = frozenset(parted).difference(work.index.clean_among(small))
        if unclean <= blocks.zone.unclean:
            return Chosen(ranges, shown, blocks.references, size)
        blocks = blocks.without_secrets(unclean)


def _taken(
    work: CompactionInput, blocks: Blocks, room: int, must: Sequence[tuple[int, int]]
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
