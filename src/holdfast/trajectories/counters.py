"""Who counts the tokens: a tokenizer file, a vocabulary by name, or our estimate."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Protocol

from holdfast.compaction.measure import Estimator
from holdfast.errors import ExactCountingUnavailable, MissingExtra, NotReadable
from holdfast.ports import TokenCounter
from holdfast.tokens import exact_counter
from holdfast.trajectories.tokenizer_file import counter_of

_REMEMBERED_CHARS = 4_000_000
"""System prompts and tools stand in thousands of records."""
_SHORT_CHARS = 200
"""What is shorter is as soon counted as looked up."""


def counter_for(spec: str) -> TokenCounter:
    """Return who counts by `spec`: a `tokenizers` JSON file, a name that tiktoken knows (of a
    model or a vocabulary), or "" for the estimate.

    Raises `NotReadable`, `MissingExtra` or `ExactCountingUnavailable`, each with the remedy.
    """
    if not spec:
        return Estimator()
    is_file = spec.endswith(".json") or os.path.exists(spec)
    return Remembering(_from_file(spec) if is_file else _by_name(spec))


class _Exact(Protocol):
    name: str

    def count(self, text: str) -> int: ...


class Remembering:
    """An exact counter that does not count the same text again and again.

    The texts that were asked for last are kept, `most_chars` of them together.
    """

    is_estimate = False

    def __init__(self, counts: _Exact, most_chars: int = _REMEMBERED_CHARS) -> None:
        self.name = counts.name
        self._count = counts.count
        self._known: dict[str, int] = {}
        """By text, those that were asked for last at the end."""
        self._most = self._room = most_chars

    def count(self, text: str) -> int:
        """Return the tokens of `text`."""
        if not _SHORT_CHARS <= len(text) <= self._most:
            return self._count(text)
        found = self._known.pop(text, None)
        if found is None:
            found = self._count(text)
            self._room -= len(text)
            while self._room < 0:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._room += len(oldest)
        self._known[text] = found
        return found


def _from_file(path: str) -> _Exact:
    if not os.path.isfile(path):
        raise NotReadable("does not exist", where=path, remedy="name a tokenizer.json")
    try:
        tokenizers: Any = import_module("tokenizers")
    except ImportError:
        raise MissingExtra("trajectories", "a tokenizer file") from None
    try:
        loaded = tokenizers.Tokenizer.from_file(path)
    # the package raises a bare Exception for whatever it does not understand
    except Exception as error:  # noqa: BLE001
        what = f"is no tokenizer file ({str(error)[:120]})"
        raise NotReadable(what, where=path, remedy="name a tokenizer.json") from None
    return counter_of(f"tokenizers, {os.path.basename(path)}", loaded)


def _by_name(name: str) -> _Exact:
    try:
        return exact_counter(name)
    except ExactCountingUnavailable as error:
        if "knows no vocabulary" not in error.reason:
            raise
    tiktoken: Any = import_module("tiktoken")
    try:
        return _Encoding(f"tiktoken, {name}", tiktoken.get_encoding(name))
    except ValueError:
        known = ", ".join(tiktoken.list_encoding_names())
        raise ExactCountingUnavailable(
            name, "tiktoken knows no such model or vocabulary",
            f"name a tokenizer.json, a model of OpenAI's, or one of {known}",
        ) from None  # fmt: skip
    except OSError as error:
        raise ExactCountingUnavailable(
            name, f"its vocabulary could not be loaded ({type(error).__name__})",
            "go online once, or point TIKTOKEN_CACHE_DIR at a filled cache",
        ) from None  # fmt: skip


class _Encoding:
    def __init__(self, name: str, encoding: Any) -> None:
        self.name = name
        self._encode = encoding.encode_ordinary

    def count(self, text: str) -> int:
        return len(self._encode(text))
