"""simulate: the table, the plot, and clear errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from foldaway.cli.plan import replay_progress

pytestmark = pytest.mark.usefixtures("own_folder")

PRICES = ("--price", "input=3", "--price", "output=15", "--price", "cache_read=0.3",
          "--price", "cache_write_5m=3.75")  # fmt: skip
ARGUMENTS = ("--model", "m", "--context-length", "20000", *PRICES)
SECRET = "the-words-that-were-said"


def session(turns: int = 40) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"{n} {SECRET} " * 80}
        for n in range(turns)
    ]


def test_every_strategy_has_a_row_with_its_cost(foldaway: Any, put: Any) -> None:
    """Cost, cache hits and compactions; what outgrows the window is said; no word is shown."""
    one, two = put("a.json", session()), put("b.json", session(20))
    seen = foldaway("simulate", one, two, *ARGUMENTS, "--thresholds", "0.3,0.8")
    assert seen.code == 0
    for name in ("append only", "masking every turn", "threshold 30%", "threshold 80%",
                 "rare and deep", "when it pays", "cache", "compacted"):  # fmt: skip
        assert name in seen.text
    assert "2 sessions" in seen.text
    assert "outgrows the window" in seen.text
    assert SECRET not in seen.text


def test_it_says_why_a_cheaper_strategy_is_not_what_the_gateway_does(
    foldaway: Any, put: Any
) -> None:
    """Only if one was cheaper, and with the setting that comes nearer to it."""
    file = put("a.json", [{**row, "content": row["content"][:1_000]} for row in session(240)])
    much = ("--context-length", "200000", "--thresholds", "0.1")
    seen = foldaway("simulate", file, *ARGUMENTS, *much)
    assert "threshold 10% was cheaper here, with " in seen.text
    assert "--save most compacts more often" in seen.text
    seen = foldaway("simulate", file, *ARGUMENTS, *much, "--save", "most")
    assert "--save most compacts" not in seen.text
    seen = foldaway("simulate", put("b.json", session(2)), *ARGUMENTS)
    assert "was cheaper here" not in seen.text


def test_json_is_one_strategy_a_line(foldaway: Any, put: Any) -> None:
    """With the ratio of every session."""
    file = put("many.json", [{"messages": session()}, {"messages": session(10)}])
    rows = foldaway("simulate", file, *ARGUMENTS, "--json").reports
    assert rows[0]["strategy"] == "append only"
    assert rows[0]["ratios"] == [1.0, 1.0]
    assert [row["strategy"] for row in rows[-3:]] == [
        "append only + arrival", "when it pays", "when it pays + arrival",
    ]  # fmt: skip
    assert all(row["usd"] > 0 for row in rows)


def test_the_plot_is_an_svg(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """Written whole, with every strategy in it."""
    target = tmp_path / "costs.svg"
    seen = foldaway("simulate", put("a.json", session(12)), *ARGUMENTS, "--plot", target)
    assert seen.code == 0
    root = ElementTree.fromstring(target.read_text(encoding="utf-8"))
    assert "when it pays" in {element.text for element in root.iter()}


def test_without_matplotlib_a_plot_names_the_extra(
    foldaway: Any, put: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, exit code 2, no file; the table needs nothing."""
    for name in ("cost_plots", "report.panels"):
        monkeypatch.delitem(sys.modules, f"foldaway.lab.{name}", raising=False)
    monkeypatch.delitem(vars(sys.modules["foldaway.lab"]), "cost_plot", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    target, file = tmp_path / "costs.svg", put("a.json", session(4))
    seen = foldaway("simulate", file, *ARGUMENTS, "--plot", target)
    assert seen.code == 2
    assert "pip install 'foldaway[lab]'" in seen.err
    assert len(seen.err.splitlines()) == 1
    assert not target.exists()
    assert foldaway("simulate", file, *ARGUMENTS).code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--thresholds", "often"), "--thresholds"),
        (("--thresholds", ""), "--thresholds"),
        (("--thresholds", "nan"), "--thresholds"),
        (("--thresholds", "0.5,1.5"), "--thresholds"),
        (("--pause", "-1"), "--pause"),
        (("--plot", "nowhere/costs.svg"), "does not exist"),
        (("--price", "input=x"), "is not NAME=USD"),
    ],
)
def test_wrong_calls_are_one_sentence(
    foldaway: Any, put: Any, arguments: tuple[str, ...], said: str
) -> None:
    """Exit code 2, no traceback, and the sentence names what is wrong."""
    seen = foldaway("simulate", put("a.json", session(4)), *ARGUMENTS, *arguments)
    assert seen.code == 2
    assert said in seen.err
    assert len(seen.err.splitlines()) == 1


def test_a_model_without_prices_is_refused(foldaway: Any, put: Any) -> None:
    """There is nothing to simulate then; the sentence says what to give."""
    seen = foldaway("simulate", put("a.json", session(4)), "--model", "no-such-model")
    assert seen.code == 2
    assert "--price" in seen.err


def test_a_missing_model_or_file_is_refused(foldaway: Any, put: Any) -> None:
    """Both are asked for."""
    seen = foldaway("simulate", put("a.json", session(4)))
    assert (seen.code, "no session names its model" in seen.err) == (2, True)
    assert foldaway("simulate", "--model", "m").code == 2
    assert foldaway("simulate", "nowhere.json", *ARGUMENTS).code == 2
    assert foldaway("simulate", put("b.json", b"{"), *ARGUMENTS, "--json").code == 2


def test_a_long_replay_says_how_far_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a terminal by a line every ten seconds; the last one would say 100 %."""
    times = iter(range(0, 100, 4))
    with replay_progress(100, lambda: next(times)) as tell:
        for _ in range(10):
            tell(10)
    said = capfd.readouterr().err.splitlines()
    assert said[0] == "foldaway: 30% replayed"
    assert 2 <= len(said) <= 4
