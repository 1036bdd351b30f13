"""What was before a cut, in a store of its own, searched as an agent searches its past."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from types import TracebackType

from holdfast.dialects.load import load
from holdfast.lab.scoring.session import Message
from holdfast.search.query import parse_query
from holdfast.search.values import Wanted
from holdfast.sessions.rows import new_message, tool_names
from holdfast.stores.open import open_store
from holdfast.stores.values import NewSession

FIRST_HITS = 5


class Archive:
    """A session in a store that grows from cut to cut; what is later is not in it yet."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="holdfast-lab-")
        self._store = open_store(f"{self._folder.name}/lab.db")
        self._session = self._store.create(NewSession(dialect="openai-chat", started=0.0)).id
        self._length = 0
        self._known: dict[str, list[str]] = {}

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._store.close()
        self._folder.cleanup()

    def grow(self, messages: Sequence[Message]) -> None:
        """Hold these messages, which begin with those that are held already."""
        if len(messages) <= self._length:
            return
        self._known.clear()
        transcript = load(list(messages), dialect="openai-chat")
        names = tool_names(transcript.messages)
        self._store.append(
            self._session,
            [
                new_message(message, 0, names=names, time=float(at))
                for at, message in enumerate(transcript.messages)
                if at >= self._length
            ],
        )
        self._length = len(messages)

    def find(self, query: str) -> list[str]:
        """Return the texts of the first five hits."""
        if query not in self._known:
            wanted = Wanted(query=parse_query(query))
            hits = self._store.match(wanted, most=FIRST_HITS)
            self._known[query] = [hit.text for hit in hits]
        return self._known[query]
