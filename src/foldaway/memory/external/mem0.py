"""mem0 as a provider: its library in this process, its store in a folder of ours.

A model at any address that speaks OpenAI's interface takes facts out of turns and embeds them;
the vectors are in a Qdrant of files. Nothing is sent anywhere else: telemetry is switched off.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from foldaway._core import make_private_folder
from foldaway.errors import InvalidSetting, MissingExtra
from foldaway.memory.external.options import (
    ANSWER_CHARS,
    QUERY_CHARS,
    TEXT_CHARS,
    check_url,
    clean_text,
    read_options,
    silence_logger,
)
from foldaway.memory.provider import MemoryProvider, MemoryTurn, provider_tools

SEARCH, ADD = "mem0_search", "mem0_add"
TOOLS = provider_tools("mem0")
_NO_KEY = "none"


class Mem0Options(Struct, frozen=True, kw_only=True):
    """The table `[memory.mem0]`."""

    url: str = ""
    """The address of a server that speaks OpenAI's interface, for both models; "" is OpenAI."""
    key: str = ""
    """Its key, best as "${NAME}" of a variable; without one, OPENAI_API_KEY counts for OpenAI."""
    model: str = "gpt-5-mini"
    """Takes the facts out of a turn."""
    embedder: str = "text-embedding-3-small"
    embedder_url: str = ""
    """Its address, if it is not that of the model."""
    dimensions: int = 1536
    """Of the embedder's vectors; a store keeps the ones that it was made with."""
    user: str = "default"
    """Whose memories these are."""
    folder: str = ""
    """Where they are kept; "" is a folder of the profile."""
    results: int = 10
    timeout: float = 60.0
    """Seconds for one request to a model."""


def make(options: Mapping[str, object], folder: Path) -> Mem0Memory:
    """Return the provider; raise `InvalidSetting`, and `MissingExtra` without the package."""
    read = read_options("mem0", options, Mem0Options)
    for name in ("url", "embedder_url"):
        check_url(f"memory.mem0.{name}", getattr(read, name))
    for name in ("dimensions", "results", "timeout"):
        if not getattr(read, name) > 0:
            raise InvalidSetting(f"memory.mem0.{name}", getattr(read, name), "above 0")
    if not read.user.strip():
        raise InvalidSetting("memory.mem0.user", read.user, "a name")
    if find_spec("mem0") is None:
        raise MissingExtra("mem0", "the memory mem0")
    place = Path(read.folder).expanduser() if read.folder else folder
    return Mem0Memory(read, lambda: open_mem0(read, place))


class Mem0Memory(MemoryProvider):
    """Searches before a turn, and lets mem0 take the facts out of it afterwards."""

    name = "mem0"

    def __init__(self, options: Mem0Options, open_: Callable[[], Any]) -> None:
        """Take what opens a `mem0.Memory`: it is called at the first use, for it takes seconds."""
        self._options, self._open = options, open_
        self._opening = threading.Lock()
        self._memory: Any = None

    def tools(self) -> Sequence[Mapping[str, object]]:
        """Return the two tools for the model."""
        return TOOLS

    def call(self, name: str, arguments: Mapping[str, object]) -> str:
        """Search, or keep a text as it is."""
        if name == SEARCH:
            return self._search_facts(str(arguments.get("query", ""))) or "nothing was found"
        if name == ADD:
            text = clean_text(str(arguments.get("text", "")), TEXT_CHARS)
            if not text:
                return "nothing to keep: the text is empty"
            self._open_once().add(text, user_id=self._options.user, infer=False)
            return "kept"
        raise LookupError(name)

    def prefetch(self, query: str, session_id: str) -> str:
        """Return what mem0 finds for this user, from all sessions."""
        del session_id
        return self._search_facts(query)

    def sync(self, turn: MemoryTurn) -> None:
        """Let mem0 take the facts out of a turn; they are in its files when this returns."""
        said = (("user", turn.user), ("assistant", turn.agent))
        messages = [
            {"role": role, "content": sent}
            for role, text in said
            if (sent := clean_text(text, TEXT_CHARS))
        ]
        if messages:
            run = turn.session_id or None
            self._open_once().add(messages, user_id=self._options.user, run_id=run)

    def close(self) -> None:
        """Close the store, so that another process may open it."""
        with self._opening:
            memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()
            memory.vector_store.client.close()

    def _open_once(self) -> Any:
        with self._opening:
            if self._memory is None:
                self._memory = self._open()
            return self._memory

    def _search_facts(self, query: str) -> str:
        """Return the facts, the likeliest first, a line each, none twice."""
        asked = clean_text(query, QUERY_CHARS)
        if not asked:
            return ""
        options = self._options
        said: Any = self._open_once().search(
            asked, filters={"user_id": options.user}, top_k=options.results
        )
        facts = [str(one["memory"]) for one in cast("list[Mapping[str, object]]", said["results"])]
        return "\n".join(f"- {fact}" for fact in dict.fromkeys(facts))[:ANSWER_CHARS]


def open_mem0(options: Mem0Options, folder: Path) -> Any:
    """Return a `mem0.Memory` on the files in a folder, which is made if it is missing.

    One process at a time: Qdrant locks its files.
    """
    make_private_folder(folder)
    mem0, qdrant = _imported(folder), import_module("qdrant_client")
    client: Any = qdrant.QdrantClient(
        path=str(folder / "qdrant"), force_disable_check_same_thread=True
    )
    memory: Any = mem0.Memory.from_config(configuration(options, folder, client=client))
    memory.vector_store.client = _OneAtATime(client)
    for part in (memory.llm, memory.embedding_model):
        part.client = part.client.with_options(timeout=options.timeout, max_retries=1)
    return memory


def configuration(options: Mem0Options, folder: Path, *, client: Any) -> dict[str, object]:
    """Return mem0's own configuration.

    A model at an address of one's own is `vllm` to mem0: its `openai` goes to OpenRouter, whatever
    the address, where the key of that is among the variables.
    """
    model: dict[str, object] = {"model": options.model}
    embedder: dict[str, object] = {"model": options.embedder, "embedding_dims": options.dimensions}
    embedder_url = options.embedder_url or options.url
    if options.url:
        model |= {"vllm_base_url": options.url, "api_key": options.key or _NO_KEY}
    elif options.key:
        model["api_key"] = options.key
    if embedder_url:
        embedder |= {"openai_base_url": embedder_url, "api_key": options.key or _NO_KEY}
    elif options.key:
        embedder["api_key"] = options.key
    store = {
        "collection_name": "foldaway",
        "client": client,
        "path": str(folder / "qdrant"),
        "embedding_model_dims": options.dimensions,
    }
    return {
        "llm": {"provider": "vllm" if options.url else "openai", "config": model},
        "embedder": {"provider": "openai", "config": embedder},
        "vector_store": {"provider": "qdrant", "config": store},
        "history_db_path": str(folder / "history.db"),
    }


class _OneAtATime:
    """Qdrant's files for the two threads of a provider: a call at a time."""

    def __init__(self, client: Any) -> None:
        self._client, self._lock = client, threading.Lock()

    def __getattr__(self, name: str) -> Any:
        found: Any = getattr(self._client, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            with self._lock:
                return cast("Any", found)(*given, **named)

        return call


def _imported(folder: Path) -> Any:
    """Import mem0 without its telemetry, and without the folder that it makes in one's home.

    It reads both variables when it is imported, and only then. Where the host imported it before,
    the host has chosen.
    """
    silence_logger("mem0")
    # said four times at the first start, about a server's indexes
    warnings.filterwarnings("ignore", message="Payload indexes have no effect in the local Qdrant")
    ours = {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        return import_module("mem0")
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
