"""The commands of the shared sessions; skipped where the data is not there."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldaway.facts.effects.calls import effects_of_call

REPOSITORY = Path(__file__).resolve().parents[3]
SESSIONS = Path(os.environ.get("FOLDAWAY_DATA", REPOSITORY.parent / "shared" / "data")) / "sessions"
FILES = sorted(SESSIONS.glob("c[lo]*.jsonl.gz")) + sorted(SESSIONS.glob("[ops]*.jsonl.gz"))

if not FILES:
    pytest.skip(f"no shared data at {SESSIONS}; set FOLDAWAY_DATA", allow_module_level=True)
pytestmark = pytest.mark.shared


def calls() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and arguments of every call, once."""
    seen: set[tuple[str, str]] = set()
    for path in FILES:
        for line in gzip.decompress(path.read_bytes()).splitlines():
            for message in json.loads(line)["messages"]:
                for call in message.get("tool_calls") or ():
                    name, text = call["function"]["name"], call["function"]["arguments"]
                    if (name, text) not in seen:
                        seen.add((name, text))
                        arguments = json.loads(text)
                        if isinstance(arguments, dict):
                            yield name, arguments


@pytest.fixture(scope="module")
def all_calls() -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of all coding sessions."""
    return list(calls())


def test_no_file_is_invented(all_calls: list[tuple[str, dict[str, Any]]]) -> None:
    """The last part of every path stands in the arguments."""
    for name, arguments in all_calls:
        source = "\n".join(str(value) for value in arguments.values())
        for effect in effects_of_call(name, arguments):
            for path in (effect.path, effect.to):
                last = path.rstrip("/").rpartition("/")[2]
                known = last in source or last in source.replace("\\", "")
                loop = "for " in source and effect.action in ("write", "create")
                assert known or loop, (path, source)
