"""The pictures: a verdict, a map that fits, places by rule, and never what was said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.cli.draw import Cell, strip

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
SECRET = "the-words-that-were-said"
CELLS: list[Cell] = ["system", "user", "assistant", "tool", "unknown"]


def orphans(count: int) -> list[object]:
    return [
        {"role": "user", "content": SECRET},
        *({"role": "tool", "tool_call_id": f"c{n}", "content": SECRET} for n in range(count)),
    ]


def test_a_verdict_is_the_first_line(foldaway: Any, put: Any) -> None:
    """One line says which file, what is wrong, whose rules, how much."""
    seen = foldaway("check", put("b.json", orphans(3)))
    first = seen.text.splitlines()[0]
    assert "b.json" in first
    assert "3 violations of 1 rule" in first
    assert "openai-chat, 4 messages" in first


def test_the_map_marks_the_broken_places(foldaway: Any, put: Any) -> None:
    """A cell for each message, a mark below each broken one."""
    lines = foldaway("check", put("b.json", orphans(2))).text.splitlines()
    assert lines[1] == "  utt"
    assert lines[2].rstrip() == "   ▲▲"


def test_many_violations_of_a_rule_are_counted_not_listed(foldaway: Any, put: Any) -> None:
    """The first ones are shown, the others counted, the remedy given once."""
    seen = foldaway("check", put("b.json", orphans(317)))
    assert "×317" in seen.text
    assert "… and 312 more" in seen.text
    assert seen.text.count("answers no call before it") == 5
    assert seen.text.count("→ ") == 1
    assert len(seen.text.splitlines()) < 20


def test_the_sentence_of_a_rule_keeps_its_margin(
    foldaway: Any, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence that does not fit on its line continues below its beginning, as warnings do."""
    path = put("b.json", orphans(3))
    monkeypatch.setenv("COLUMNS", "40")
    lines = foldaway("check", path).text.splitlines()
    assert all(line.startswith("  ") for line in lines[1:] if line)
    monkeypatch.setenv("COLUMNS", "60")
    put("torn.jsonl", b"no session at all, and no text that anything is known about")
    seen = foldaway("check", path.parent).text.splitlines()
    assert any("warning: " in line for line in seen)
    assert all(line.startswith("  ") for line in seen[1:] if line)


def test_losses_that_are_alike_are_one_line(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """With their number and the first place."""
    talk = [
        {
            "role": role,
            "content": "x",
            **({"reasoning_content": "y"} if role == "assistant" else {}),
        }
        for _ in range(30)
        for role in ("user", "assistant")
    ]
    out = tmp_path / "o.json"
    seen = foldaway("convert", put("l.json", talk), "--to", "anthropic", "-o", out)
    assert (seen.code, "×30" in seen.err) == (1, True)
    assert len(seen.err.splitlines()) == 3


def test_the_command_that_mends_it_is_named(foldaway: Any, put: Any) -> None:
    """Where all can be mended the picture ends with how."""
    path = put("b.json", orphans(1))
    assert f"foldaway repair {path} -o OUT" in foldaway("check", path).text
    strict = foldaway("check", "--provider", "strict", path).text
    assert f"foldaway repair --provider strict {path} -o OUT" in strict
    hopeless = put("h.json", [{"role": "wizard", "content": "x"}])
    assert "foldaway repair" not in foldaway("check", hopeless).text


@pytest.mark.parametrize("command", [("check",), ("repair",), ("convert", "--to", "sharegpt")])
def test_what_was_said_is_never_shown(
    foldaway: Any, put: Any, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Ids, roles and paths are shown; content is not."""
    where = () if command == ("check",) else ("-o", tmp_path / "out.json")
    seen = foldaway(*command, put("b.json", orphans(3)), *where)
    assert SECRET not in seen.text
    assert SECRET not in seen.err


@pytest.mark.parametrize("columns", ["20", "40", "200"])
def test_the_map_fits_the_terminal(
    foldaway: Any, put: Any, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    """However long the conversation and however narrow the terminal, no line is wider."""
    path = put("b.json", orphans(999))
    monkeypatch.setenv("COLUMNS", columns)
    row, marks = foldaway("check", path).text.splitlines()[1:3]
    assert len(row.strip()) * 100 >= 999
    assert max(len(row), len(marks)) <= int(columns)


def test_colour_only_where_it_is_wanted(
    foldaway: Any, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No escape sequences in a file or pipe; with colour the words are the same."""
    path = put("b.json", orphans(2))
    plain = foldaway("check", path).text
    assert "\x1b" not in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = foldaway("check", path).text
    assert "\x1b[" in coloured
    assert ESCAPE.sub("", coloured) == plain


def test_an_id_cannot_move_the_cursor(foldaway: Any, put: Any) -> None:
    """What comes from the transcript into the picture has no control characters."""
    path = put("b.json", [{"role": "tool", "tool_call_id": "\x1b[2J" * 500, "content": "x"}])
    seen = foldaway("check", path)
    assert seen.code == 1
    assert "\x1b" not in seen.text
    assert len(seen.text) < 2000


def test_a_collection_is_shown_transcript_by_transcript(foldaway: Any, put: Any) -> None:
    """A file of sessions has a cell for each session, and counts."""
    sessions = [{"messages": orphans(count)} for count in (0, 2, 0, 1)]
    path = put("s.jsonl", "\n".join(json.dumps(session) for session in sessions).encode())
    lines = foldaway("check", path).text.splitlines()
    assert "4 transcripts (2 broken), 7 messages" in lines[0]
    assert lines[1] == "  .x.x"
    assert any("line 2 #1" in line for line in lines)


def test_several_valid_files_take_a_line_each(foldaway: Any, put: Any) -> None:
    """Good news is short."""
    path = put("f.json", [{"role": "user", "content": "hi"}])
    assert len(foldaway("check", path, path, path).text.splitlines()) == 3


def test_repair_shows_before_and_after(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """Both maps, and what was done for each rule."""
    path = put("b.json", orphans(2))
    text = foldaway("repair", path, "-o", tmp_path / "o.json").text
    assert "before utt" in text
    assert re.search(r"after  u$", text, re.MULTILINE)
    assert "result-has-call  ×2" in text


@given(st.lists(st.sampled_from(CELLS), max_size=500), st.integers(1, 120), st.data())
def test_a_strip_never_outgrows_its_width_and_loses_no_mark(
    cells: list[Cell], width: int, data: st.DataObject
) -> None:
    """At most `width` columns; marks appear exactly where something is marked."""
    places = st.sets(st.integers(0, max(0, len(cells) - 1))) if cells else st.just(set[int]())
    marked = data.draw(places)
    lines = strip(cells, marked, width, ("^", "red"))
    assert all(len(line) <= width for line in lines)
    assert len(lines) == (2 if marked else 1)
    per = max(1, -(-len(cells) // width))
    shown = {column for column, char in enumerate(lines[-1].plain) if char == "^"}
    assert shown == {index // per for index in marked}
