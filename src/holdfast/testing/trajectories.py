"""Hypothesis strategy: finished runs, as lists of turns in a dialect."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from holdfast.testing.builder import Step, assistant, call, result, system, talk, user

_TOOLS = ("bash", "read_file", "search", "book_flight")
_WORDS = st.sampled_from((
    "Look at src/rows.py, please.", "Never touch setup.cfg.", "It fails with ValueError.",
    "I decided to keep port 8080.", "done", "Größe, 日本語 and \u202e signs", "What now?",
))  # fmt: skip
_PARTS = st.sampled_from(("talk", "calls", "calls", "calls", "parallel"))


@st.composite
def trajectories(draw: st.DrawFn, dialect: str, *, most: int = 10) -> list[Any]:
    """Return the turns of a run: talk, single and parallel calls, short and long results."""
    steps: list[Step] = [system(_long(draw))] if draw(st.booleans()) else []
    steps.append(user(_long(draw)))
    for number in range(draw(st.integers(1, most))):
        match draw(_PARTS):
            case "talk":
                steps += [assistant(_long(draw)), user(_long(draw))]
            case "calls":
                tool = draw(st.sampled_from(_TOOLS))
                steps += [assistant(call(tool, command=f"run {number}")), result(_long(draw))]
            case _:
                calls = [call(tool, path=f"{number}.py") for tool in _TOOLS[:2]]
                steps += [assistant(_long(draw), *calls), result(_long(draw)), result("ok")]
    steps.append(assistant(_long(draw)))
    return talk(*steps).wire(dialect)


def _long(draw: st.DrawFn) -> str:
    return "\n".join([draw(_WORDS)] * draw(st.sampled_from((1, 1, 5, 40))))
