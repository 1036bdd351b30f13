"""The laws of a compaction over the real sessions of the shared data; skipped where it is not."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import dump, load
from holdfast.dialects.convert import convert
from holdfast.engine.oneshot import compress
from holdfast.errors import CannotConvert
from holdfast.testing.laws import broken_laws

REPOSITORY = Path(__file__).resolve().parents[2]
SESSIONS = (
    Path(os.environ.get("HOLDFAST_DATA", REPOSITORY.parent / "shared" / "data")) / "sessions"
)
FILES = sorted(SESSIONS.glob("*.jsonl.gz"))
WINDOWS = (8_000, 64_000, 200_000)

if not FILES:
    pytest.skip(f"no shared data at {SESSIONS}; set HOLDFAST_DATA", allow_module_level=True)


def sessions(path: Path, every: int) -> Iterator[list[Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number % every == 0:
                yield json.loads(line)["messages"]
