"""The wider development set: sessions that are in neither half and know nothing of the test half.

What is mended on the tuning half has to hold here too, on agents and tasks that it was not mended
with. It is made of

- sessions of the families that are too short for the halves;
- the beginnings of the coding sessions of the tuning half, as short as those of SWE-agent are;
- single long histories of other agents, in pieces;
- sessions of agents that no family has, from the originals in `native/`.

A session is left out where it is tied to the test half as `split.py` ties sessions together: by
task, customer, checkpoint or parent, or begun after the first test session of its project.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foldaway.lab.reading import read_sessions
from foldaway.lab.scoring.session import LabSession, render_all
from foldaway.transcript.estimate import estimate_text
from halves.sessions import FAMILIES, Message, for_lab, read_file
from halves.split import DATED, apart_from_test

_LEAST_TOKENS = 1_000
_SHORT_TOKENS = 12_000
_LONG = {"aider": ("aider__aider", 12_000), "pi": ("pi__pi-mono", 12_000)}
_DIALOGUES = ("sharegpt__reason-tool-use", "sharegpt__glaive-en")
_NATIVE = ("openhands", "mini-swe-agent")


def wider_sessions(data: Path, halves: dict[str, str]) -> Iterator[LabSession]:
    """Yield the sessions of the wider set; their families have a `+` where a half has them too."""
    rows = [
        row for one in FAMILIES for name in one.files for row in read_file(data, name, one.name)
    ]
    for row in apart_from_test(rows, halves):
        if row.id not in halves and row.tokens >= _LEAST_TOKENS:
            yield _named(for_lab(row), f"{row.family}+")
        elif row.id in halves and row.family in DATED:
            yield _named(next(_pieces(for_lab(row), _SHORT_TOKENS)), f"{row.family}, beginnings")
    for family, (name, tokens) in _LONG.items():
        for row in read_file(data, name, family):
            yield from _pieces(for_lab(row), tokens)
    for name in _DIALOGUES:
        for row in read_file(data, name, "dialogues"):
            if row.tokens >= _LEAST_TOKENS:
                yield for_lab(row)
    for agent in _NATIVE:
        for session in read_sessions([data / "native" / agent]):
            if isinstance(session, LabSession) and session.tokens >= _LEAST_TOKENS:
                yield session


def _named(session: LabSession, family: str) -> LabSession:
    return LabSession(
        session.id, family, session.project, session.messages, session.tokens, session.own
    )


def _pieces(session: LabSession, tokens: int) -> Iterator[LabSession]:
    """Yield a long session as several of about so many tokens."""
    piece: list[Message] = []
    size, number = 0, 0
    for message in session.messages:
        if message["role"] != "tool" and size >= tokens:
            number += 1
            yield _piece(session, piece, number)
            piece, size = [], 0
        piece.append(message)
        size += estimate_text(render_all([message]))
    if size >= tokens / 2:
        yield _piece(session, piece, number + 1)


def _piece(session: LabSession, messages: list[Message], number: int) -> LabSession:
    tokens = estimate_text(render_all(messages))
    return LabSession(f"{session.id}#{number}", session.family, session.project, messages, tokens)
