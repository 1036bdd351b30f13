"""What the last compaction of a conversation left out, commitments first: ours, or the agent's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Policy
from foldaway.engine import unpack_view
from foldaway.facts import Entry, FactReader, LogReading, Section, Summary, names_in, recognize
from foldaway.facts.ledger import Around, Ledger, summarize
from foldaway.sessions.exporting import show_controls, transcript_of
from foldaway.sessions.hiding import Show
from foldaway.stores import SessionInfo, Store
from foldaway.transcript import Estimator, Folded, Kept, Message, Rewritten, View, texts

DroppedKind: TypeAlias = Literal["rule", "decision", "number", "open", "asked", "file", "fact"]
"""In this order: what commits comes first."""

_ROOM_CHARS = 24_000.0
"""Of the record that is compared with what the compaction kept: about three briefs."""
_KINDS: Mapping[Section, DroppedKind] = {
    "constraints": "rule",
    "decisions": "decision",
    "pending": "open",
    "remaining": "open",
    "blocked": "open",
    "goal": "asked",
    "task": "asked",
    "resolved": "asked",
    "files": "file",
    "state": "fact",
    "critical": "fact",
}
"""What the entries of a section are; what was done is in the files and the asks."""


class DroppedFact(Struct, frozen=True, kw_only=True):
    """A fact that the model does not see since a compaction."""

    kind: DroppedKind
    text: str
    position: int
    """Of the message that says it; `foldaway recall m12 --session ID` prints it."""
    reference: str = ""
    """What brings back the messages that were folded with it; "" if the agent compacted."""


class Dropped(Struct, frozen=True, kw_only=True):
    """What the last compaction left out of what the model sees."""

    by: Literal["", "agent", "foldaway"] = ""
    """Who compacted; "" if nobody did."""
    at: int = 0
    """How long the log was then."""
    folded: int = 0
    """Messages that the model does not see since, or not as they were."""
    facts: tuple[DroppedFact, ...] = ()
    """By kind, then the newest first."""

    @classmethod
    def of_session(cls, store: Store, info: SessionInfo, show: Show) -> Dropped:
        """Return what a stored session lost, without secrets."""
        stored = store.view(info.id)
        view = unpack_view(stored.items, info.dialect) if stored else None
        return cls.of(transcript_of(store, info).messages, show, view)

    @classmethod
    def of(cls, messages: Sequence[Message], show: Show, view: View | None = None) -> Dropped:
        """Return what a conversation lost, with the summaries of its agent marked as such.

        Of `view` and the agent's own compactions the newest counts.
        """
        log = recognize(messages)
        written = [at for at, one in enumerate(log) if one.origin == "summary"]
        if view is not None and not (written and written[-1] >= view.length):
            return _left_out(log, view, show)
        if not written:
            return cls()
        last = start = written[-1]
        while start - 1 in written:  # some agents write several messages
            start -= 1
        said = log[start : last + 1]
        found = _left_out(log, View((Folded(0, start, tuple(said)),), start), show)
        return replace(found, by="agent")


def _left_out(log: Sequence[Message], view: View, show: Show) -> Dropped:
    """Return what is in the log before a view and not in the view."""
    kept: list[str] = []
    folded: dict[int, str] = {}
    for item in view.items:
        match item:
            case Kept(start=start, stop=stop):
                kept += [text for one in log[start:stop] for text in texts(one)]
            case Rewritten(start=at, message=message, reference=reference):
                kept += texts(message)
                folded[at] = reference
            case Folded(start=start, stop=stop, messages=messages, reference=reference):
                kept += [text for one in messages for text in texts(one)]
                folded |= dict.fromkeys(range(start, stop), reference)
    reading = LogReading(Estimator(), Policy())
    ledger = FactReader(log[: view.length], reading).ledger(view.length)
    record = summarize(ledger, Around(room_chars=_ROOM_CHARS, for_person=True))
    left = _in_lines(record, ledger).untold("\n".join(kept))
    places = {one.label: one.position for one in log[: view.length]}
    facts = [
        DroppedFact(
            kind=kind, text=show_controls(show(entry.text)), position=at, reference=folded[at]
        )
        for kind, entry in _named(left)
        if (at := places.get(entry.source, -1)) in folded
    ]
    order = get_args(DroppedKind)
    # of one message the strongest rule is the last
    facts.reverse()
    facts.sort(key=lambda fact: (order.index(fact.kind), -fact.position))
    return Dropped(by="foldaway", at=view.length, folded=len(folded), facts=tuple(facts))


def _in_lines(record: Summary, ledger: Ledger) -> Summary:
    """Return a record in which each line of what was said is an entry, and each rule, also one that
    stands in a request.
    """
    lines = [
        Entry(piece.text, entry.source, piece.weight)
        for entry in record.sections.get("critical", ())
        for piece in entry.pieces or (entry,)
    ]
    lines += [
        Entry(line, report.source)
        for report in ledger.replies[-1:]
        for line in report.text.splitlines()
        if names_in(line)
    ]
    rules = [Entry(rule.text, rule.source) for rule in ledger.constraints.values()]
    said: dict[Section, tuple[Entry, ...]] = {"constraints": tuple(rules), "critical": tuple(lines)}
    return replace(record, sections={**record.sections, **said})


def _named(record: Summary) -> Iterator[tuple[DroppedKind, Entry]]:
    for section, entries in record.sections.items():
        for entry in entries:
            kind = _KINDS.get(section)
            if kind == "fact" and any(name.kind == "number" for name in names_in(entry.text)):
                kind = "number"
            if kind is not None:
                yield kind, entry
