"""Facts from an agent's own file, before and after its compaction."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from foldaway.agents.hooks import facts
from foldaway.agents.hooks.facts import dropped_facts, session_facts
from foldaway.errors import NotReadable
from foldaway.transcript.estimate import Estimator

RULE = "Never edit config/prod.toml."


def test_a_compaction_gets_what_was_asked_ruled_and_changed(session: Callable[..., Path]) -> None:
    """In the words of the session, without the ids of its messages."""
    found = session_facts(str(session()), 2_000)
    for word in (RULE, "src/parse.py", "Fix the parser"):
        assert word in found
    assert "[m" not in found
    assert "[u" not in found


@pytest.mark.parametrize("tokens", [100, 300, 2_000])
def test_facts_fit_their_room(tokens: int, session: Callable[..., Path]) -> None:
    """Whatever the room is."""
    assert 0 < Estimator().count(session_facts(str(session()), tokens)) <= tokens


def test_what_the_user_asks_a_compaction_for_comes_first(session: Callable[..., Path]) -> None:
    """It is told in rooms that are too small for it otherwise, and never the other way round."""
    path, word = str(session()), "The parser is fixed"
    rooms = range(20, 200, 10)
    plain = {room for room in rooms if word in session_facts(path, room)}
    asked = {room for room in rooms if word in session_facts(path, room, "is the parser fixed?")}
    assert plain < asked


def test_after_a_compaction_only_what_the_summary_dropped_is_told(
    session: Callable[..., Path],
) -> None:
    """A summary that has the rule is not told it again; one that has not, is."""
    kept = session(f"The user wants the parser in src/parse.py fixed. {RULE}")
    assert RULE not in dropped_facts(str(kept), 2_000, is_new=True)
    lost = session("Some work was done.")
    for is_new in (True, False):
        found = dropped_facts(str(lost), 2_000, is_new=is_new)
        assert RULE in found
        assert "Going on" not in found


def test_a_summary_that_is_not_written_yet_gets_all_facts(session: Callable[..., Path]) -> None:
    """Claude Code asks before it writes the summary. Who resumes a whole session needs nothing."""
    assert RULE in dropped_facts(str(session()), 2_000, is_new=True)
    assert dropped_facts(str(session()), 2_000, is_new=False) == ""


def test_of_a_long_file_the_ends_are_read_and_what_the_user_said_between(
    session: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request is there, and the last, and a rule in the middle; other lines are not."""
    lines = session().read_text().splitlines()
    filler = {**json.loads(lines[-1]), "message": {"role": "assistant", "content": "x" * 500}}
    first = json.loads(lines[0])

    def said(own: str, text: str) -> str:
        message = {"role": "user", "content": text}
        return json.dumps({**first, "uuid": own, "parentUuid": None, "message": message})

    rows = [json.dumps({**filler, "uuid": f"f{n}"}) for n in range(200)]
    rows[100] = said("y", "Never push to the branch release-9.")
    rows[101] = rows[101].replace("xxxx", "only the agent said this")
    path = tmp_path / "long.jsonl"
    path.write_text("\n".join([*lines, *rows, said("z", "Now write the changelog.")]) + "\n")
    for name, size in (("_WHOLE", 9_000), ("_HEAD", 4_000), ("_TAIL", 8_000)):
        monkeypatch.setattr(facts, f"{name}_BYTES", size)
    found = session_facts(str(path), 2_000)
    for words in (RULE, "release-9", "changelog"):
        assert words in found
    assert b"only the agent" not in facts._ends(str(path))


def test_a_file_that_is_no_session_is_an_error(tmp_path: Path) -> None:
    """The command says nothing then; who calls the function is told."""
    path = tmp_path / "x.jsonl"
    path.write_text("nonsense")
    with pytest.raises(NotReadable):
        session_facts(str(path), 100)
