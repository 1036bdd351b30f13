"""The page of a compaction: its messages one by one, what was rewritten, and its record."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.inspector.conftest import WINDOW, Pages
from tests.gateway.inspector.native import visit, write_session

from foldaway.facts import SECTIONS
from foldaway.facts.languages import phrases_for
from foldaway.gateway.inspector.summary_entries import PRESENT
from foldaway.sessions import Session, SessionOptions
from foldaway.stores import NewSession, open_store

LINE = re.compile(r'<li class="line f-(\w+)".*?<a href="[^"]*#m(\d+)".*?</li>', re.S)


def steps(count: int) -> Iterator[dict[str, Any]]:
    """Yield messages of an agent that reads and edits files; its results are long."""
    yield {"role": "user", "content": "Repair the parts."}
    for at in range(count):
        name = "edit_file" if at % 3 == 2 else "read_file"
        arguments = json.dumps(
            {"path": f"src/__part_{at}__.py", "old_string": "a", "new_string": "b"}
        )
        call = {"id": f"c{at}", "type": "function",
                "function": {"name": name, "arguments": arguments}}  # fmt: skip
        yield {"role": "assistant", "content": f"Step {at} is **done**.", "tool_calls": [call]}
        said = "".join(f"line {line} of part {at} says something\n" for line in range(60))
        yield {"role": "tool", "tool_call_id": f"c{at}", "content": said}


@pytest.fixture
def worked(tmp_path: Path) -> Iterator[tuple[Pages, str]]:
    """The pages, and the address of the compaction of a session with rewritten messages."""
    with open_store(":memory:") as store:
        made = Pages(store, tmp_path)
        new = NewSession(dialect="openai-chat")
        session = Session(store, "worked", context_length=WINDOW, options=SessionOptions(new=new))
        session.append(*steps(24))
        assert session.compact(force=True).status == "compacted"
        yield made, f"/inspector/session/{session.id}/compaction/1"
        made.server.shelf.close()


def words_in(page: str) -> str:
    """Return what a page says, without its elements."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def lines_of(pages: Pages, address: str, side: str) -> list[tuple[str, int, str]]:
    """Return the lines of a side: what became of each, its message, and where it opens."""
    text = pages.get(f"{address}/lines?side={side}")
    return [
        (found[1], int(found[2]), html.unescape(re.findall(r'data-part="([^"]+)"', found[0])[0]))
        for found in LINE.finditer(text)
    ]


def test_every_line_leads_to_its_message_and_opens_in_place(worked: tuple[Pages, str]) -> None:
    """On both sides; a summary leads to the first message that it stands for."""
    pages, address = worked
    for side in ("before", "after"):
        found = lines_of(pages, address, side)
        assert found
        for fate, at, part in found:
            body = pages.get(part)
            assert body
            assert ("<del>" in body or "<ins>" in body) == (fate == "rewritten"), (side, at)


def test_a_rewritten_message_shows_its_words_and_both_sizes(worked: tuple[Pages, str]) -> None:
    """The line after it has the new size, smaller than before; the diff is the same on both sides,
    and each side is whole in it.
    """
    pages, address = worked
    sides = {side: lines_of(pages, address, side) for side in ("before", "after")}
    rewritten = [one for one in sides["after"] if one[0] == "rewritten"]
    assert rewritten
    for _, at, part in rewritten:
        body = pages.get(part)
        (other,) = [row[2] for row in sides["before"] if row[0] == "rewritten" and row[1] == at]
        assert pages.get(other) == body
        sizes = re.search(r"About ([\d,]+) → ([\d,]+) token", body)
        assert sizes
        was, now = (int(one.replace(",", "")) for one in sizes.groups())
        assert was > now
        listed = pages.get(f"{address}/lines?side=after")
        line = next(found[0] for found in LINE.finditer(listed) if int(found[2]) == at)
        assert f'title="{now:,} token' in line
        said = pages.get(f"{address.partition('/compaction')[0]}/message/{at}")
        kept = re.sub(r"<ins>.*?</ins>", "", body.partition("</p>")[2], flags=re.S)
        assert " ".join(html.unescape(re.sub("<[^>]+>", "", kept)).split()) == " ".join(
            said.split()
        )


def test_the_present_state_is_told_apart_from_what_happened(worked: tuple[Pages, str]) -> None:
    """Each section of the record is in the group of its kind, in the order of the record."""
    pages, address = worked
    page = pages.get(address)
    record = page[page.index('id="summary-h"') : page.index('id="facts-h"')]
    headings = phrases_for("en").headings
    order = [name for _, name in re.findall(r"<h([34])>(.*?)</h\1>", record)]
    assert order[0] == "The present state"
    cut = order.index("What happened")
    now, then = (
        [headings[name] for name in SECTIONS if (name in PRESENT) == stands]
        for stands in (True, False)
    )
    assert order[1:cut] == [name for name in now if name in order]
    assert order[cut + 1 :] == [name for name in then if name in order]
    assert all(re.findall(r'class="from"><a href="[^"]+#m\d+"', record))


def test_the_record_is_markdown_that_loses_no_sign_of_a_name(worked: tuple[Pages, str]) -> None:
    """Stars are emphasis, as in a message; underscores of a path stay."""
    pages, address = worked
    page = pages.get(address)
    record = page[page.index('id="summary-h"') : page.index('id="facts-h"')]
    assert "<strong>done</strong>" in record
    assert "src/__part_2__.py: changed" in record


def test_a_summary_of_the_agent_is_markdown_too(tmp_path: Path) -> None:
    """It has no sections of ours; hostile words in it are text."""
    path = write_session(tmp_path / "files", "one", "red zebra", "## Done\n- **parser** <script>x",
                         "and then")  # fmt: skip
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[2] |= {"isCompactSummary": True}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with visit(None, [tmp_path / "files"], tmp_path / "cache") as made:
        (name,) = made.server.shelf.list_files()
        said = made.get(f"/inspector/session/{name}/compaction/own-2")
        assert "<strong>parser</strong>" in said
        assert "<script>x" not in said
        assert "About red zebra" in made.get(
            f"/inspector/session/{name}/compaction/own-2/message", side="before", at=1
        )
        assert "<strong>parser</strong>" in made.get(
            f"/inspector/session/{name}/compaction/own-2/message", side="after", at=0
        )


def test_the_lines_of_a_file_of_the_page_open_to_what_the_server_would_say(
    worked: tuple[Pages, str],
) -> None:
    """A file can load nothing, so all of it is inside."""
    pages, address = worked
    saved = pages.get(f"{address}?export=1").partition("<main")[2].partition("<script")[0]
    assert "Step 1 is **done**." in saved
    assert "data-part" not in saved
    lines = [one for side in ("before", "after") for one in lines_of(pages, address, side)]
    assert saved.count('<li class="line') == len(lines) > 0
    for _, _, part in lines:
        assert words_in(pages.get(part)) in words_in(saved)
