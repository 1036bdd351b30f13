"""What was folded is found by its words too."""

from __future__ import annotations

from foldaway.dialects.loading import load
from foldaway.engine.recall_tools import look_for

LOG = load(
    [
        {"role": "user", "content": "Keep the port of the staging database at 5433."},
        {"role": "assistant", "content": "Noted: staging listens on another port."},
        {"role": "user", "content": "Now something about colours."},
    ],
    dialect="openai-chat",
).messages


def test_the_text_as_it_stands_comes_first_then_its_words() -> None:
    """A literal hit leads; a question finds what has its telling words; nothing finds nothing."""
    assert look_for("another port", LOG, 5)[0][0] == 1
    assert look_for("which port has the staging database?", LOG, 5)[0][0] == 0
    assert look_for("zebra", LOG, 5) == []
    assert look_for("", LOG, 5) == []
    assert look_for("  ", LOG, 5)[:1] == []


def test_the_lines_of_what_was_found_stay_apart() -> None:
    """A number at the end of a line does not seem to belong to the next line."""
    result = "limit of retries:   4\n\n  warning: the pool is small\nlimit of workers: 9"
    log = load(
        [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": result}],
        dialect="openai-chat",
    ).messages
    found = look_for("the workers and their retries", log, 5)
    assert found[0] == (1, "limit of retries: 4\nwarning: the pool is small\nlimit of workers: 9")
