"""An agent's own list and the view of it: what stays is named by its place, the rest is built.

An agent's message may stand for several of Anthropic's form (an answer of OpenCode holds calls and
results) or for none (what no model sees).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from foldaway.sessions import Insert, Keep
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


class Built(Struct, frozen=True):
    """Messages as the agent writes them, in the place of others."""

    messages: list[Any]


class _WireForm:
    """A list in the wire format."""

    def messages_of(self, own: Any) -> list[Payload]:
        return [own]

    def built(self, messages: Sequence[Payload], own: Any, listed: Sequence[Any]) -> list[Any]:
        return list(messages)


class ConvertedList:
    """The whole list of an agent or a framework, and the same in the wire format of a form; without
    a form it is in the wire format already.
    """

    def __init__(self, own: Sequence[Any], form: ListForm | None = None) -> None:
        self._own, self._form = own, form or _WireForm()
        given = [self._form.messages_of(one) for one in own]
        self.messages = [one for some in given for one in some]
        """The list in the wire format."""
        self.owners = [at for at, some in enumerate(given) for _ in some]
        """For each message the place of the agent's message that it comes from."""

    def apply(self, edits: Sequence[Keep | Insert | Replaced]) -> list[Any]:
        """Return what is sent, as the host writes it; what stays are its own objects."""
        found: list[Any] = []
        for one in self.convert_edits(edits):
            found += one.messages if isinstance(one, Built) else self._own[one.start : one.stop]
        return found

    def convert_edits(self, edits: Sequence[Keep | Insert | Replaced]) -> list[Keep | Built]:
        """Return edits of the wire format as edits of the agent's own list.

        A message that no model sees stays if the one before it stays.
        """
        if not self.owners:
            return [Keep(0, len(self._own))] if self._own else []
        counts = [0] * len(self._own)
        for at in self.owners:
            counts[at] += 1
        kept: list[Keep | Built] = []
        for owner, messages, is_own in self._runs(edits):
            if owner is not None and is_own and len(messages) == counts[owner]:
                _keep(kept, owner, counts)
            else:
                own = None if owner is None else self._own[owner]
                kept.append(Built(self._form.built(messages, own, self._own)))
        return kept

    def _runs(
        self, edits: Sequence[Keep | Insert | Replaced]
    ) -> list[tuple[int | None, list[Payload], bool]]:
        """Return what is sent, neighbors from the same message of the agent together: its place,
        the messages, and whether all of them are as they came.
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
                        add(self.owners[at], self.messages[at], is_own=True)
                case Replaced(index=at, payload=payload):
                    add(self.owners[at], payload, is_own=False)
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
