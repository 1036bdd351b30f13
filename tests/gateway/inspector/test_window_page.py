"""What fills the window: a tile for each file, tool or message, to keep or to fold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.inspector.conftest import SECRET, WINDOW, Pages
from tests.gateway.inspector.native import visit, write_session

from foldaway.engine import unpack_view
from foldaway.gateway.inspector.demo import write_demo
from foldaway.gateway.inspector.session_sources import DEMO
from foldaway.gateway.inspector.window_amounts import count_written
from foldaway.sessions import Session
from foldaway.transcript import Rewritten
from foldaway.usage import KIND_NAMES, KINDS, WindowPiece, describe_largest

ROW = re.compile(r'<tr id="t\d+".*?<bdi>(.*?)</bdi>.*?</tr>', re.S)


def read(at: int, path: str, words: int) -> list[dict[str, Any]]:
    """Return a call that reads a file, and what it gave."""
    call = {"name": "read_file", "arguments": json.dumps({"path": path})}
    return [
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": f"c{at}", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": f"c{at}", "content": f"{path}: " + "a line of " * words},
    ]  # fmt: skip


@pytest.fixture
def work(pages: Pages) -> str:
    """The address of a session that reads three large files and some small ones."""
    session = Session(pages.store, "work", context_length=WINDOW * 10, model="m")
    session.append({"role": "user", "content": "look <i>around</i>"})
    for at, (path, words) in enumerate(
        [("src/a.py", 900), ("src/b.py", 800), (f"src/{SECRET}.py", 700), ("src/a.py", 20),
         *((f"docs/{one}.md", 200) for one in range(8))]
    ):  # fmt: skip
        session.append(*read(at, path, words))
    return f"/inspector/session/{session.id}"


def test_a_sentence_names_what_takes_most(pages: Pages, work: str) -> None:
    """Three reads, with their share; no secret is in a name."""
    text = pages.get(f"{work}/window")
    (said,) = re.findall(r"<h1>(.*?)</h1>", text)
    assert re.fullmatch(r"These three reads are \d+% of your window", said)
    assert SECRET not in text
    assert "src/a.py, src/b.py" in text


@pytest.mark.parametrize(
    ("by", "least", "first"), [("file", 10, "src/a.py"), ("tool", 2, "read_file")]
)
def test_tiles_are_files_tools_or_messages(
    pages: Pages, work: str, by: str, least: int, first: str
) -> None:
    """The largest first; every tile is drawn in both pictures and has a row."""
    text = pages.get(f"{work}/window?by={by}")
    rows = ROW.findall(text)
    assert rows[0] == first
    assert len(rows) >= least
    assert text.count("<rect x=") == 2 * len(rows)
    assert len(ROW.findall(pages.get(f"{work}/window?by=message"))) > 20
    assert pages.get(f"{work}/window?by=<script>").count("<script>") == 0


def test_a_tile_is_folded_and_shown_again(pages: Pages, work: str) -> None:
    """The model sees a reference, and an undo brings it back; what is pinned stays."""
    name = work.rpartition("/")[2]
    pages.store.pin(name, 4)
    done = pages.post(f"/foldaway/sessions/{name}/fold", positions=[2, 4])
    assert done["report"]["status"] == "compacted"
    (row,) = done["report"]["references"]
    assert (row["start"] if "start" in row else row["positions"][0]) == 2
    seen = pages.get(f"{work}?show=view")
    assert f"[left out: {row['ref']}]" in re.sub(r"<[^>]+>", "", seen)
    assert "src/b.py" in ROW.findall(pages.get(f"{work}/window"))[0]
    again = pages.post(f"/foldaway/sessions/{name}/fold", positions=[2])
    assert (again["report"]["status"], again["view"]) == ("unchanged", 1)
    pages.post(f"/foldaway/sessions/{name}/undo")
    assert ROW.findall(pages.get(f"{work}/window"))[0] == "src/a.py"


def test_a_copy_of_a_file_cannot_be_changed(tmp_path: Path) -> None:
    """What it would change is thrown away, so no button is offered."""
    write_session(tmp_path / "files", "one", "first words " * 200)
    with visit(None, [tmp_path / "files"], tmp_path / "cache") as pages:
        (address,) = set(re.findall(r"/inspector/session/file-\w+", pages.get("/inspector")))
        text = pages.get(f"{address}/window")
    assert "This one message is" in text
    assert "data-do=" not in text


def test_a_summary_in_a_message_of_the_user_is_a_summary(pages: Pages) -> None:
    """A compaction may put it into a message that stays: its words are not those of the user."""
    write_demo(pages.store)
    for _ in range(2):
        pages.post(f"/foldaway/sessions/{DEMO}/undo")
    shown = pages.store.view(DEMO)
    assert shown is not None
    merged = unpack_view(shown.items, "openai-chat").items[0]
    assert isinstance(merged, Rewritten)
    text = pages.get(f"/inspector/session/{DEMO}/window?by=message")
    kinds = [
        KIND_NAMES[kind] for kind, size in zip(KINDS, count_written(merged), strict=True) if size
    ]
    assert kinds == ["summary", "your words"]
    assert set(kinds) <= set(ROW.findall(text))


def test_a_summary_that_fills_the_window_is_named() -> None:
    """It is no message of the log, but the sentence on top tells of it all the same."""
    pieces = [WindowPiece(None, "summary", 800), WindowPiece(3, "user", 100)]
    assert describe_largest(pieces) == ("The summary is 89% of your window", [])
    assert describe_largest([*pieces, WindowPiece(4, "results", 900)])[1][0].position == 4


def test_an_empty_window_has_a_page(pages: Pages) -> None:
    """It says so."""
    made = pages.store.create(pages.store.session(pages.id).branch("Empty"))
    assert "No message is in the window" in pages.get(f"/inspector/session/{made.id}/window")
