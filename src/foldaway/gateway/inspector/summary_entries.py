"""The summary of a view as a value: its entries, each with the messages that it comes from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway.facts import (
    NOTES_WITHOUT_MODEL,
    SECTIONS,
    Section,
    carried_summary,
    parse_summary,
    summary_body,
)
from foldaway.facts.languages import phrases_for
from foldaway.sessions import Show
from foldaway.transcript import Folded, Message, Rewritten, View, texts

_PLACE = re.compile(r"m(\d{1,9})")
Ids: TypeAlias = Callable[[], dict[str, tuple[int, ...]]]
"""Returns the positions of messages by their wire ids."""
_EARLIER = "earlier "
"""Before the label of an entry whose message stood in another list."""

Unplaced: TypeAlias = Literal["", "note", "unsourced", "earlier", "unknown"]
"""Why an entry has no position: it is a note on the summary itself; a model wrote it, or it stands
for several messages; its message stood in a list before this log; its label is not in the log."""


class SummaryEntry(Struct, frozen=True, kw_only=True):
    """One entry of a summary."""

    text: str
    label: str
    """What the summary calls its message: the id of the wire, or `m` and the position."""
    positions: tuple[int, ...]
    """Where its messages are in the log; several if they share an id."""
    unplaced: Unplaced = ""


PRESENT: frozenset[Section] = frozenset(("goal", "constraints", "state", "blocked", "files"))
"""The sections that say the present state. The others tell what happened: what is settled, and what
the record itself calls historical."""


class SummarySection(Struct, frozen=True, kw_only=True):
    """One section of a summary, with its heading in English."""

    name: Section
    heading: str
    entries: tuple[SummaryEntry, ...]


class ShownSummary(Struct, frozen=True, kw_only=True):
    """The summary that a view shows."""

    sections: tuple[SummarySection, ...] = ()
    text: str = ""
    """As it was written, without its frame."""
    is_shadow: bool = False
    """Whether the model saw the provider's own item instead, of the same messages."""


def summary_in(
    view: View, length: int, ids: Ids, show: Show, shadow: str = ""
) -> ShownSummary | None:
    """Return the summary that a view shows of a log of `length` messages; None if it has none.

    `ids` gives the positions of wire ids, and is asked only if a label is one. `shadow` is our own
    summary of the messages that a provider's item replaces.
    """
    bodies = list(_bodies(view))
    hidden = summary_body(shadow) if shadow and not bodies else None
    if hidden is not None:
        bodies = [hidden]
    if not bodies:
        return None
    body = "\n\n".join(bodies)
    return ShownSummary(
        sections=sections_of(body, length, ids, show), text=show(body), is_shadow=hidden is not None
    )


def _bodies(view: View) -> Iterator[str]:
    """Yield the texts of the summaries that compactions put into a view."""
    for item in view.items:
        messages: Sequence[Message] = ()
        if isinstance(item, Folded):
            messages = item.messages
        elif isinstance(item, Rewritten):
            messages = (item.message,)
        for message in messages:
            body = carried_summary(message)
            if body is None and isinstance(item, Folded):
                body = summary_body("\n".join(texts(message)))
            if body is not None:
                yield body


def sections_of(body: str, length: int, ids: Ids, show: Show) -> tuple[SummarySection, ...]:
    """Return the entries of a summary by section, each with the places of its messages."""
    parsed, headings = parse_summary(body), phrases_for("en").headings
    found: list[SummarySection] = []
    for name in SECTIONS:
        entries = tuple(
            _entry(entry.text, entry.source, body, length, ids, show)
            for entry in parsed.sections.get(name, ())
        )
        if entries:
            found.append(SummarySection(name=name, heading=headings[name], entries=entries))
    return tuple(found)


def _entry(text: str, source: str, body: str, length: int, ids: Ids, show: Show) -> SummaryEntry:
    # reading marks every label as one of an earlier list: the text says whether it was
    last = text.rpartition("\n")[2]
    is_earlier = bool(source) and f"{last} [{source}]" in body
    label = source.removeprefix(_EARLIER)
    positions: tuple[int, ...] = ()
    why: Unplaced = ""
    if not label:
        why = "note" if text in NOTES_WITHOUT_MODEL else "unsourced"
    elif (place := _PLACE.fullmatch(label)) and int(place[1]) < length and not is_earlier:
        positions = (int(place[1]),)
    else:
        positions = () if place else ids().get(label, ())
        if not positions:
            why = "earlier" if is_earlier else "unknown"
    return SummaryEntry(text=show(text), label=show(label), positions=positions, unplaced=why)
