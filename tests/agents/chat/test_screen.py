"""How a chat looks: at any width, and whatever is said in it."""

from __future__ import annotations

from io import StringIO
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.testing.rows import each_row

from foldaway import Policy, open_memory, open_store
from foldaway.agents.chat.host import status_line
from foldaway.agents.chat.screen import Flow, visible
from foldaway.caching.catalog import PriceList
from foldaway.sessions import Chat

WIDTHS = (60, 80, 120)


@given(st.lists(st.text()), st.integers(2, 60))
@example(["0ᄀ"], 2)
def test_a_streamed_text_is_wrapped_between_words(pieces: list[str], columns: int) -> None:
    """No line is wider than the terminal, and what is read is the same, however it came."""
    out = StringIO()
    flow = Flow(out.write, columns)
    for piece in pieces:
        flow.feed(piece)
    flow.end()
    text = out.getvalue()
    assert all(cell_len(line) <= columns for line in text.split("\n"))
    whole = "".join(visible(piece) for piece in pieces)
    assert "".join(text.split()) == "".join(whole.split())


@given(st.text())
def test_nothing_but_signs_and_lines_is_visible(text: str) -> None:
    """No escape, no bell, nothing that turns the direction of writing."""
    assert all(sign.isprintable() or sign == "\n" for sign in visible(text))


def line_at(columns: int, *, asks: int, **usage: int) -> str:
    with (
        open_store(":memory:") as store,
        Chat(
            store, open_memory(), model="gpt-5-mini", context_length=40_000, system="Be brief.",
            policy=Policy(floor_tokens=1_000),
        ) as chat,
    ):  # fmt: skip
        for number in range(asks):
            chat.session.append({"role": "user", "content": f"{number} " + "words " * 900})
            chat.session.append({"role": "assistant", "content": "words " * 100})
        if usage:
            chat.session.used(usage)
        return status_line(chat, PriceList(), columns)


@each_row("columns", WIDTHS)
@each_row(("asks", "next_"), [
    (1, "compacts at 20k"), (15, "pressure"), (20, "compacts next"),
])  # fmt: skip
def test_the_status_line_says_what_happens_next(columns: int, asks: int, next_: str) -> None:
    """At every width, with the fill of the window."""
    line = line_at(columns, asks=asks)
    assert "of 40k" in line
    assert next_ in line
    assert cell_len(line) <= columns


def test_the_model_gives_way_to_what_was_cached_and_paid() -> None:
    """The narrower the terminal, the less of the rest."""
    figures: dict[str, Any] = {"prompt_tokens": 2_000, "completion_tokens": 90_000}
    lines = {columns: line_at(columns, asks=1, **figures) for columns in (40, 60, 120)}
    assert "gpt-5-mini" in lines[120]
    assert "gpt-5-mini" not in lines[60]
    assert all("$0.18" in lines[columns] for columns in (60, 120))
    assert all("compacts at 20k" in line for line in lines.values())


@given(st.integers(1, 140), st.integers(0, 3))
def test_the_status_line_is_never_wider_than_the_terminal(columns: int, asks: int) -> None:
    """However narrow it is."""
    assert cell_len(line_at(columns, asks=asks)) <= columns
