"""A connection that cannot be made, and when it is tried again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foldaway.errors import MemoryUnavailable
from foldaway.memory.external.mcp_session import LONGEST_PAUSE_SECONDS, McpOptions, McpSession


def test_pauses_between_tries_double_up_to_a_limit(tmp_path: Path) -> None:
    """1, 2, 4 … 60 s: within a pause nothing is started, after it one try is made."""
    now = [0.0]
    options = McpOptions(command=str(tmp_path / "gone"), timeout=5.0, connect_timeout=5.0)
    session = McpSession(options, clock=lambda: now[0])

    def tried() -> bool:
        with pytest.raises(MemoryUnavailable) as caught:
            session.tools()
        return caught.value.what == "no session with it could be opened"

    assert tried()
    for pause in (1, 2, 4, 8, 16, 32, 60, 60):
        now[0] += pause - 0.01
        assert not tried()
        now[0] += 0.01
        assert tried()
    assert pause == LONGEST_PAUSE_SECONDS
    session.close()
    session.close()
    with pytest.raises(MemoryUnavailable, match="closed"):
        session.tools()


def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    """A process that reads and says nothing: the handshake has its time, and when the session is
    closed no process is left, also none that was given up before.
    """
    held = tmp_path / "held"
    options = McpOptions(
        command="sh",
        args=("-c", f"echo $$ > {held}; trap '' TERM; cat; sleep 1"),
        timeout=0.5,
        connect_timeout=0.5,
    )
    session = McpSession(options)
    with pytest.raises(MemoryUnavailable, match="no session"):
        session.tools()
    session.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(held.read_text()), 0)
