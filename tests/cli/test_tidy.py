"""`foldaway sessions tidy`: what nobody uses is compacted by the settings of its host, or ended."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sessions.talking import WINDOW, talk

from foldaway import Session
from foldaway.config import open_store

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def idle() -> str:
    """The id of a session that will soon be due."""
    with open_store() as store:
        session = Session(store, "chat:1", **WINDOW)
        session.append(*talk(0, 14))
        return session.id


def test_tidy_compacts_with_no_settings_but_those_of_the_session(foldaway: Any, idle: str) -> None:
    """After a dry run, which changes nothing; a second time there is nothing to do."""
    for _ in range(2):
        seen = foldaway("sessions", "tidy", "--idle", "0", "--dry-run", "--json")
        ((row,),) = seen.reports
        assert (seen.code, row["outcome"]) == (0, "would compact")
        assert (row["session"], row["compactions"]) == (idle, 0)
    seen = foldaway("sessions", "tidy", "--idle", "0")
    assert seen.code == 0
    assert "compacted: 28 messages" in seen.text
    assert foldaway("sessions", "tidy", "--idle", "0").text.startswith("nothing to do")
    assert foldaway("sessions", "tidy", "--json").reports == [[]]


def test_tidy_leaves_a_session_alone_that_its_provider_has_in_the_cache(
    foldaway: Any, idle: str
) -> None:
    assert idle
    assert foldaway("sessions", "tidy").text.startswith("nothing to do")


def test_tidy_ends_what_was_not_used_for_so_long(foldaway: Any, idle: str) -> None:
    given = ("sessions", "tidy", "--within", "0", "--end-after", "0", "--json")
    ((planned,),) = foldaway(*given, "--dry-run").reports
    assert (planned["outcome"], planned["ended"]) == ("would end", None)
    ((row,),) = foldaway(*given).reports
    assert (row["session"], row["outcome"]) == (idle, "ended")
    assert row["end_reason"] == "expired"
    assert foldaway(*given).reports == [[]]
