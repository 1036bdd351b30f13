"""What plays say of strategies, and the page that tells it."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from tests.lab.play.tiny import PRICES

from foldaway.caching.prices import Bill
from foldaway.lab.play.game import Played
from foldaway.lab.play.page import page, place_label, ticks_up_to
from foldaway.lab.play.standings import PlaySummary, SolvedShare, summarize_plays
from foldaway.lab.play.strategies import OWN, STRATEGIES
from foldaway.lab.results import PlayManifest

TABLE = {one.name: one for one in STRATEGIES}


def played(strategy: str, task: int, missed: tuple[str, ...] = (), **given: Any) -> Played:
    """Return a play that cost a dollar."""
    values: dict[str, Any] = {
        "ending": "done", "goals": 2, "steps": 10, "compactions": 1, "recalls": 2, "wrong": 1,
        "wrong_after": 1, "bill": Bill(read_tokens=100, read_usd=1.0), **given,
    }  # fmt: skip
    return Played(task=f"desk-{task}", family="desk", strategy=strategy, missed=missed, **values)


def summary(*plays: Played, names: tuple[str, ...] = ("full", OWN, "masking")) -> PlaySummary:
    """Return what the plays say."""
    manifest = PlayManifest(
        version="1", tasks=8, seed=1, strategies=names, window=200_000, prices=PRICES,
        player="scripted",
    )  # fmt: skip
    return summarize_plays(manifest, [TABLE[name] for name in names], plays)


def even(*, own: tuple[str, ...] = (), usd: float = 1.0) -> PlaySummary:
    """Return eight tasks that the others solve, with what ours missed and cost."""
    bill = Bill(read_usd=usd)
    return summary(
        *(played(name, task) for name in ("full", "masking") for task in range(8)),
        *(played(OWN, task, own, bill=bill) for task in range(8)),
    )


def test_a_share_has_the_interval_of_wilson() -> None:
    """Checked against the formula by hand for 8 of 10; and it ends at 0 and at 1."""
    share = SolvedShare.of(8, 10)
    assert (share.low, share.high) == (
        pytest.approx(0.4902, abs=1e-4),
        pytest.approx(0.9433, abs=1e-4),
    )
    assert SolvedShare.of(0, 10).low == 0.0
    assert SolvedShare.of(10, 10).high == 1.0
    assert SolvedShare.of(0, 0) == SolvedShare(0, 0, 0.0, 1.0)


def test_who_cannot_do_the_tasks_compares_nothing() -> None:
    """If none was solved, neither steps nor money say anything."""
    found = summary(
        *(played(name, task, ("x",)) for name in ("full", OWN, "masking") for task in range(8))
    )
    assert found.verdict == [
        "No strategy solved a task: this player cannot do them, and compares nothing."
    ]


def test_where_ours_loses_comes_first() -> None:
    """With what it missed there, on the page too."""
    found = even(own=("reply T-4711", "check src/flags.py"), usd=2.0)
    assert found.verdict[0] == (
        "normal (0 of 8) solves fewer tasks than full (8 of 8; there normal missed: check 8, "
        "reply 8) and masking (8 of 8; there normal missed: check 8, reply 8)."
    )
    assert (
        found.verdict[1]
        == "normal ($2.00 a task) costs more than full ($1.00) and masking ($1.00)."
    )
    shown = page(found)
    assert shown.index("solves fewer tasks") < shown.index("<svg")


def test_what_is_within_chance_is_said_to_be() -> None:
    """One task of eight is no difference."""
    plays = [played(name, task) for name in ("full", "masking", OWN) for task in range(7)]
    last = [played(name, 7) for name in ("full", "masking")]
    found = summary(*plays, *last, played(OWN, 7, ("reply T-1",)))
    assert found.verdict[0] == "normal loses to no rival, neither in tasks solved nor in money."
    assert "solves as many tasks, within chance, as full" in found.verdict[1]


def test_few_tasks_say_nothing() -> None:
    """Not even if all of them point one way."""
    found = summary(*(played(name, 1) for name in ("full", OWN, "masking")))
    assert found.verdict == [
        "Too few tasks to compare normal with full and masking: play at least 6."
    ]


def test_plays_without_an_answer_count_for_nothing() -> None:
    """A network that failed is no loss of a strategy, and is told."""
    broken = played("full", 9, ("reply T-1",), ending="no answer", why="no network")
    line = summary(played("full", 1), broken, played(OWN, 1)).lines[0]
    assert (line.solved.part, line.solved.whole) == (1, 1)
    assert line.endings == {"done": 1, "no answer": 1}
    assert "no network" in page(summary(played("full", 1), broken, played(OWN, 1)))


def test_a_play_that_was_cut_short_is_not_solved() -> None:
    """Whatever was true when it ended; and that is a reason of its own."""
    line = summary(played("full", 1, ending="did not fit"), played(OWN, 1)).lines[0]
    assert line.solved.part == 0
    assert line.missed == {"did not fit": 1}
    assert line.usd_per_solved is None


def test_the_page_needs_nothing_from_elsewhere_and_its_labels_do_not_meet() -> None:
    """All strategies at one place are the worst that can be."""
    names = tuple(TABLE)
    shown = page(summary(*(played(name, task) for name in names for task in range(8)), names=names))
    assert not re.search(r"(src|href)=|@import|https?:", shown)
    taken: list[Any] = []
    for name in names:
        taken.append(place_label(len(name) * 6.4, 200, 14, taken))
    assert not any(one.meets(other) for one, other in itertools.combinations(taken, 2))


@pytest.mark.parametrize("most", [0.003, 0.2, 0.99, 1.0, 1.01, 7.4, 26.0])
def test_ticks_reach_the_largest_value_in_few_steps(most: float) -> None:
    """From 0 on."""
    found = ticks_up_to(most)
    assert found[0] == 0.0
    assert found[-1] >= most * 0.999999
    assert found[-2] < most
    assert len(found) <= 6
