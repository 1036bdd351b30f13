"""An agent's own list and the view of it: what stays is named by its place, the rest is built.

An agent's message may stand for several of Anthropic's form (an answer of OpenCode holds calls and
results) or for none (what no model sees).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from foldaway.sessions import Edit, Insert, Keep
from foldaway.sessions import Replace as Replaced
from foldaway.transcript import Payload


class ListForm(Protocol):
    """How an agent or a framework writes messages, as objects of its own."""

    def messages_of(self, own: Any) -> list[Payload]:
        """Return one of the agent's messages in the wire format; several, or none."""
        ...

    def built(self, messages: Sequence[Payload], own: Any, listed: Sequence[Any]) -> list[Any]:
        """Return messages of the wire format as the agent writes them.

        `own` is the message that they replace, None if they are new; what is the same in
        it stays the same object's content. `listed` is the agent's whole list.
        """
        ...


class HostForm(ListForm, Protocol):
    """How an agent writes messages, and what answers used."""

    def usage_of(self, own: Payload) -> Payload | None:
        """Return what the provider counted for an answer, None if the message is none."""
        ...


class GivenList(Struct, frozen=True):
    """An agent's list in a wire format."""

    own: Sequence[Any]
    messages: Sequence[Payload]
    owners: Sequence[int]
    """For each message the place of the agent's message that it comes from."""


class Built(Struct, frozen=True):
    """Messages as the agent writes them, in the place of others."""

    messages: list[Any]


def convert_list(own: Sequence[Any], form: ListForm) -> GivenList:
    """Return an agent's list in the wire format of a form."""
    pairs = [(one, at) for at, message in enumerate(own) for one in form.messages_of(message)]
    return GivenList(own, [one for one, _ in pairs], [at for _, at in pairs])


def host_edits(given: GivenList, edits: Sequence[Edit], form: ListForm) -> list[Keep | Built]:
    """Return edits of Anthropic's messages as edits of the agent's own list.

    A message that no model sees stays if the one before it stays.
    """
    if not given.owners:
        return [Keep(0, len(given.own))] if given.own else []
    counts = [0] * len(given.own)
    for at in given.owners:
        counts[at] += 1
    kept: list[Keep | Built] = []
    for owner, messages, is_own in _runs(given, edits):
        if owner is not None and is_own and len(messages) == counts[owner]:
            _keep(kept, owner, counts)
        else:
            own = None if owner is None else given.own[owner]
            kept.append(Built(form.built(messages, own, given.own)))
    return kept


def _runs(given: GivenList, edits: Sequence[Edit]) -> list[tuple[int | None, list[Payload], bool]]:
    """Return what is sent, neighbors from the same message of the agent together: its place, the
    messages, and whether all of them are as they came.
    """
    runs: list[tuple[int | None, list[Payload], bool]] = []

    def add(owner: int | None, message: Payload, *, is_own: bool) -> None:
        if runs and owner is not None and runs[-1][0] == owner:
            runs[-1] = (owner, [*runs[-1][1], message], runs[-1][2] and is_own)
        else:
            runs.append((owner, [message], is_own))

    for edit in edits:
        match edit:
            case Keep(start=start, stop=stop):
                for at in range(start, stop):
                    add(given.owners[at], given.messages[at], is_own=True)
            case Replaced(index=at, payload=payload):
                add(given.owners[at], payload, is_own=False)
            case Insert(payload=payload):
                add(None, payload, is_own=False)
    return runs


def _keep(kept: list[Keep | Built], at: int, counts: Sequence[int]) -> None:
    """Add a message, and those after it that no model sees; at the beginning also those before."""
    start, stop = at, at + 1
    if not kept:
        while start and not counts[start - 1]:
            start -= 1
    while stop < len(counts) and not counts[stop]:
        stop += 1
    last = kept[-1] if kept else None
    if isinstance(last, Keep) and last.stop == start:
        kept[-1] = Keep(last.start, stop)
    else:
        kept.append(Keep(start, stop))
