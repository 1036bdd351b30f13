"""The real sessions that are long enough to mean something, by family."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foldaway.lab.reading import read_own_summaries
from foldaway.lab.scoring.session import LabSession

Message = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """A kind of session: the files that hold it, and from which size on a session counts."""

    name: str
    files: tuple[str, ...]
    least_tokens: int


FAMILIES = (
    Family("claude-code", ("claude-code__cli", "claude-code__git-sync"), 12_000),
    Family("codex", ("codex__git-sync",), 12_000),
    Family("opencode", ("opencode__nimbus",), 12_000),
    Family("swe-agent", ("swe-agent__SWE-agent",), 4_000),
    Family("tau-bench", ("tau-bench__gpt-4o-airline",), 2_500),
    Family("tau2", ("tau2__toolorchestra-airline", "tau2__whissle-airline"), 2_500),
    Family("sql", ("intercode__sql",), 1_500),
    Family("bfcl", ("bfcl__multi-turn-base", "bfcl__multi-turn-long_context"), 1_500),
)


@dataclass(frozen=True)
class Recorded:
    """One real session with all that its record says; `messages` is an OpenAI chat list."""

    id: str
    family: str
    source: str
    messages: list[Message]
    meta: dict[str, Any]

    @property
    def tokens(self) -> int:
        return int(self.meta["tokens_o200k"])


def find_data() -> Path | None:
    """Return the folder with `sessions/`, by FOLDAWAY_DATA or beside the repository."""
    named = os.environ.get("FOLDAWAY_DATA")
    root = Path(__file__).resolve().parents[2]
    for folder in (Path(named) if named else None, root.parent / "shared" / "data"):
        if folder is not None and (folder / "sessions").is_dir():
            return folder
    return None


def for_lab(recorded: Recorded) -> LabSession:
    """Return a session as the lab takes it."""
    return LabSession(
        recorded.id, recorded.family, project_of(recorded), recorded.messages, recorded.tokens,
        read_own_summaries(recorded.meta),
    )  # fmt: skip


def read_family(data: Path, family: Family) -> Iterator[Recorded]:
    """Yield the sessions of a family that are long enough."""
    for name in family.files:
        for session in read_file(data, name, family.name):
            if session.tokens >= family.least_tokens:
                yield session


def read_file(data: Path, name: str, family: str) -> Iterator[Recorded]:
    """Yield every session of one file."""
    path = data / "sessions" / f"{name}.jsonl.gz"
    if not path.exists():
        return
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield Recorded(row["id"], family, row["source"], row["messages"], row["meta"])


def all_recorded(data: Path) -> Iterator[Recorded]:
    """Yield every session that there is; a concatenation is none."""
    families = {name: family.name for family in FAMILIES for name in family.files}
    for path in sorted((data / "sessions").glob("*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        if not name.startswith("concat"):
            yield from read_file(data, name, families.get(name, name.partition("__")[0]))


def chosen_sessions(data: Path, halves: dict[str, str], half: str, families: Sequence[str],
                    limit: int) -> list[Recorded]:  # fmt: skip
    """Return the sessions of a half, at most `limit` of each family."""
    found: list[Recorded] = []
    for family in FAMILIES:
        if families and family.name not in families:
            continue
        rows = [row for row in read_family(data, family) if halves.get(row.id) == half]
        found.extend(rows[:limit] if limit else rows)
    return found


def project_of(session: Recorded) -> str:
    """Return the project that a session is about: what its facts may be common knowledge in.

    The source repository; the three airline sets are about one database and count as one.
    """
    if session.family in ("tau-bench", "tau2"):
        return "airline"
    return session.source.split(":")[1]


def swe_task(session_id: str) -> str:
    """Return the repository or challenge that a SWE-agent run works on."""
    name = session_id.rpartition("/")[2].lower()
    return "test-repo" if "test" in name and "repo" in name else name.partition("-")[0]
