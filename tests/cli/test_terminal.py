"""What a person sees in a terminal: nothing that matters is cut off, and names can be typed."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway import compress
from foldaway.caching import usd
from foldaway.cli.dates import read_date, short_date
from foldaway.cli.draw import Cell, Picture, strip
from foldaway.cli.lab import show_run
from foldaway.lab import describe_run
from foldaway.lab.results import MeanInterval, ScoreLine

pytestmark = pytest.mark.usefixtures("home")
WIDTHS = (60, 80, 120)
PRICES = ["--price", "input=5", "--price", "output=25", "--price", "cache_read=0.5",
          "--price", "cache_write_5m=6.25"]  # fmt: skip
NOW = datetime(2026, 11, 17, 12, 30)


def long_session() -> list[dict[str, Any]]:
    """A session with 55 calls and results of some 1,100 tokens."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Find the bug in the parser."}]
    for number in range(55):
        named = {"name": "read_file", "arguments": f'{{"path": "f{number}.py"}}'}
        call = {"id": f"c{number}", "type": "function", "function": named}
        rows += [
            {"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number} " * 300},
        ]
    return [*rows, {"role": "assistant", "content": "It is in f7.py."}]


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set how many columns the terminal has."""

    def set_columns(columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))

    return set_columns


@pytest.mark.slow
@pytest.mark.parametrize("columns", WIDTHS)
def test_money_is_never_cut_off(foldaway: Any, put: Any, wide: Any, columns: int) -> None:
    """Every amount of `plan` and `simulate` is there in full; bars give way first."""
    wide(columns)
    file = put("s.json", long_session())
    window = ["--context-length", 40_000]
    costs = foldaway("simulate", file, "--model", "m", *window, *PRICES, "--json").reports
    seen = foldaway("simulate", file, "--model", "m", *window, *PRICES).text
    for row in costs:
        (line,) = [one for one in seen.splitlines() if one.startswith(f"  {row['strategy']}  ")]
        assert usd(row["usd"]) in line
    assert ("█" in seen) == (columns > 60)
    (plan,) = foldaway("plan", file, *window, *PRICES, "--json").reports
    seen = foldaway("plan", file, *window, *PRICES).text
    amounts = ("price", "paid", "next_call_if_acting", "next_call_if_waiting", "saving_per_turn")
    for name in amounts:
        assert usd(plan["sum"][name]) in seen
    assert "…" not in seen


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_list_of_sessions_has_a_line_each(
    foldaway: Any, talked: str, wide: Any, columns: int
) -> None:
    """No row is wider than the terminal, and sizes are there in full at any width."""
    wide(columns)
    (rows,) = foldaway("sessions", "list", "--json").reports
    lines = foldaway("sessions", "list").text.splitlines()
    assert max(map(len, lines)) <= columns
    (line,) = [one for one in lines if one.startswith(talked[-8:])]
    assert f"{rows['sessions'][0]['tokens']:,}" in line
    assert "Question 0 on module" in line


@given(
    st.lists(
        st.tuples(st.text("ab ", max_size=40), st.integers(0, 10**9), st.integers(0, 30)),
        min_size=1,
        max_size=4,
    ),
    st.integers(40, 140),
)
def test_figures_of_a_table_are_whole_at_any_width(
    rows: list[tuple[str, int, int]], columns: int
) -> None:
    """A figure that matters is printed in full, however narrow the terminal is."""
    picture = Picture()
    picture.console.width = columns
    lines = [(f"${one:,}", "x" * bar, words, f"{one:,}") for words, one, bar in rows]
    with picture.console.capture() as captured:
        picture.table("rbtn", lines)
    for amount, *_ in lines:
        assert amount in captured.get()


def test_sessions_that_are_hidden_are_counted(foldaway: Any, home: Path) -> None:
    """Those of subagents, and what is beyond a page; with the option that shows them."""
    from foldaway.config import open_store
    from foldaway.stores.values import NewSession

    with open_store(home / "foldaway" / "sessions") as store:
        for kind in ("main", "main", "main", "subagent"):
            store.create(NewSession(dialect="openai-chat", kind=kind))
    seen = foldaway("sessions", "list", "--most", 2).text
    assert "2 of 3 sessions shown; --most 3 shows all" in seen
    assert "1 session of a subagent or tool hidden; --all shows them" in seen
    assert "hidden" not in foldaway("sessions", "list", "--all").text


SCAFFOLDS = [
    "<environment_context>\n<cwd>/home/u/p</cwd>\n</environment_context>",
    "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\n" + "rule\n" * 400 + "</INSTRUCTIONS>",
    "<command-name>/clear</command-name>\n<command-args></command-args>",
    "[console]\nAider v0.48.1-dev",
    "/mode",
]


@pytest.mark.parametrize("scaffold", SCAFFOLDS)
def test_a_title_is_what_the_user_said_first(foldaway: Any, put: Any, scaffold: str) -> None:
    """Nothing that an agent put into the user's messages, and no bare command."""
    words = [scaffold, "Why does the build fail?"]
    messages = [{"role": "user", "content": one} for one in words]
    foldaway("import", put("s.json", messages))
    (rows,) = foldaway("sessions", "list", "--json").reports
    assert rows["sessions"][0]["first_ask"] == words[1]


def test_what_is_printed_as_an_id_can_be_typed(foldaway: Any, talked: str) -> None:
    """The end of an id names a session everywhere."""
    short = foldaway("sessions", "list").text.splitlines()[1].split()[0]
    assert short == talked[-8:]
    assert talked in foldaway("sessions", "show", short).text
    assert foldaway("sessions", "scroll", short, "m12").code == 0
    assert foldaway("sessions", "read", short).code == 0


def test_a_project_narrows_lists_and_searches(foldaway: Any, home: Path) -> None:
    """By its path or the last part of it; if no session ran there, those that there are."""
    from foldaway.config import open_store
    from foldaway.stores.values import NewMessage, NewSession

    with open_store(home / "foldaway" / "sessions") as store:
        for folder in ("/w/parser", "/w/parser/src", "/w/other"):
            said = NewMessage(body=b'{"role":"user","content":"zebra"}', role="user", text="zebra")
            store.create(NewSession(dialect="openai-chat", cwd=folder), messages=[said])
    for name in ("parser", "/w/parser"):
        (page,) = foldaway("sessions", "list", "--project", name, "--json").reports
        assert {row["folder"] for row in page["sessions"]} == {"/w/parser", "/w/parser/src"}
        assert len(foldaway("search", "zebra", "--project", name, "--json").reports) == 2
    seen = foldaway("sessions", "list", "--project", "parsr")
    assert seen.code == 2
    assert "there are parser" in seen.err


def test_several_words_in_one_argument_are_a_phrase(foldaway: Any, put: Any) -> None:
    """The shell eats the quotes. What has only some of the words says which it lacks."""
    for name, words in (("a", "the connection was refused"), ("b", "connection refused by peer")):
        foldaway("import", put(f"{name}.json", [{"role": "user", "content": words}]))
    exact = foldaway("search", "connection refused", "--json").reports
    assert [hit["snippet"] for hit in exact] == ["connection refused by peer"]
    assert len(foldaway("search", "connection", "refused", "--json").reports) == 2
    seen = foldaway("search", "connection refused timeout")
    assert 'No exact match for "connection refused timeout". Partial matches:' in seen.text
    assert "without timeout" in seen.text
    assert "without" not in foldaway("search", "connection refused").text


@each_row(
    ("text", "start", "end"),
    [
        ("today", "2026-11-17", "2026-11-18"),
        ("Yesterday", "2026-11-16", "2026-11-17"),
        ("3 days ago", "2026-11-14", "2026-11-15"),
        ("7d", "2026-11-10", "2026-11-11"),
        ("2 weeks ago", "2026-11-03", "2026-11-04"),
        ("a month ago", "2026-10-17", "2026-10-18"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("this week", "2026-11-16", "2026-11-23"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("2026-02", "2026-02-01", "2026-03-01"),
        ("2026-11-01", "2026-11-01", "2026-11-02"),
        ("2026-11-01T10:15", "2026-11-01T10:15", "2026-11-01T10:15"),
        ("12h", "2026-11-17T00:30", "2026-11-17T00:30"),
    ],
)
def test_dates_are_read_as_people_write_them(text: str, start: str, end: str) -> None:
    """A day, week, month or year is the whole of it."""
    found = read_date(text, NOW)
    assert found is not None
    moments = (datetime.fromtimestamp(found.start), datetime.fromtimestamp(found.end))
    assert moments == (datetime.fromisoformat(start), datetime.fromisoformat(end))


@given(st.text())
def test_no_text_breaks_the_reading_of_dates(text: str) -> None:
    """What is no date is None, and an option says so with examples."""
    found = read_date(text, NOW)
    assert found is None or found.start <= found.end


def test_a_date_that_is_none_is_refused_with_examples(foldaway: Any, talked: str) -> None:
    """The formats of `strptime` are for nobody."""
    seen = foldaway("sessions", "list", "--since", "some time")
    assert (seen.code, seen.out) == (2, b"")
    assert "yesterday, 7d, 3 days ago or last month" in seen.err


def test_moments_are_printed_short() -> None:
    """A time of today, yesterday, or the day."""
    days = ("2026-11-17T04:28", "2026-11-16T23:59", "2026-11-15T12:00", "2027-01-01T00:00")
    shown = [short_date(datetime.fromisoformat(one).timestamp(), NOW) for one in days]
    assert shown == ["today 04:28", "yesterday", "2026-11-15", "2027-01-01"]


def test_compaction_and_undo_are_no_use_of_a_session(foldaway: Any, talked: str) -> None:
    """`last used` is when something was said."""
    (before,) = foldaway("sessions", "list", "--json").reports
    for name in (["compact", talked, "--context-length", 8000], ["undo", talked]):
        assert foldaway("sessions", *name).code == 0
        (after,) = foldaway("sessions", "list", "--json").reports
        assert after["sessions"][0]["updated"] == before["sessions"][0]["updated"]


def test_what_has_no_date_is_as_old_as_its_file(foldaway: Any, put: Any) -> None:
    """An old file is no session of today, and its id begins with its own day."""
    import os

    file = put("old.json", [{"role": "user", "content": "zebra"}])
    os.utime(file, (1_500_000_000, 1_500_000_000))
    foldaway("import", file)
    (page,) = foldaway("sessions", "list", "--json").reports
    assert page["sessions"][0]["session"].startswith("20170714-")
    assert page["sessions"][0]["updated"] == 1_500_000_000


def test_an_export_is_what_its_name_says(foldaway: Any, talked: str, tmp_path: Path) -> None:
    """Markdown for .md, unless a format is named."""
    out = tmp_path / "x.md"
    assert foldaway("sessions", "export", talked, "-o", out).code == 0
    assert out.read_text().startswith("# ")
    assert foldaway("sessions", "export", talked, "--to", "jsonl", "-o", out).code == 0
    assert json.loads(out.read_text().splitlines()[0])["role"] == "system"


def test_the_newest_requests_are_said_to_be_the_newest(foldaway: Any, talked: str) -> None:
    """Above them, with the option that shows all."""
    from foldaway.config import open_store
    from foldaway.stores.values import TurnUsage

    with open_store(Path.home() / "foldaway" / "sessions") as store:
        for at in range(1, 6):
            store.add_usage(talked, TurnUsage(position=at, input_tokens=1000 * at))
    seen = foldaway("sessions", "show", talked, "--most", 2).text
    assert "requests  the newest 2; --most 5 shows all" in seen
    assert "m1 " not in seen


def test_plan_and_the_planner_of_simulate_agree(foldaway: Any, put: Any) -> None:
    """Where the replay compacts because it pays, the plan for the same transcript says act."""
    file, terms = put("s.json", long_session()), ["--context-length", 100_000, *PRICES]
    costs = foldaway("simulate", file, "--model", "m", *terms, "--json").reports
    (replayed,) = [row for row in costs if row["strategy"] == "when it pays"]
    (plan,) = foldaway("plan", file, *terms, "--json").reports
    assert plan["situation"]["tokens_now"] < plan["situation"]["threshold_tokens"]
    assert (plan["answer"], plan["basis"]) == ("act", "costs")
    assert replayed["compactions"] > 0
    (later,) = foldaway("plan", file, *terms, "--save", "off", "--json").reports
    assert later["answer"] == "wait"


def test_a_long_first_request_is_marked_as_cut(foldaway: Any, put: Any, home: Path) -> None:
    """A title that is not all that was said ends with a mark; a short one does not."""
    for name, words in (("long", "word " * 90), ("short", "Why?")):
        path = put(f"{name}.json", [{"role": "user", "content": words}])
        (report,) = foldaway("import", path, "--json").reports
        shown = foldaway("sessions", "show", report["sessions"][0]["session"]).text
        assert shown.splitlines()[0].endswith("word…") == (name == "long")


def test_every_message_of_a_session_says_whose_it_is_and_where(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """On a page by its place, results as a tool's; on the terminal also one without any text."""
    use = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}
    talk = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "id": "msg_1", "content": [use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]},
    ]  # fmt: skip
    (report,) = foldaway("import", put("s.json", talk), "--json").reports
    name, out = report["sessions"][0]["session"], tmp_path / "s.md"
    assert foldaway("sessions", "export", name, "-o", out).code == 0
    heads = [line for line in out.read_text().splitlines() if line.startswith("## ")]
    assert heads == ["## User · m0", "## Agent · m1", "## Tool · m2", "## Agent · m3"]
    assert "(no text: " in foldaway("sessions", "scroll", name, "m3", "--reach", 0).text


def test_a_map_shows_every_landmark_at_any_width() -> None:
    """Of 99 messages one in three is rewritten; a column for several of them does not hide it."""
    cells: list[Cell] = [*["kept", "rewritten", "kept"] * 33]
    for width in (99, 40, 10):
        (row,) = strip(cells, (), width, ("", ""))
        assert row.plain.count("r") == min(33, len(row.plain))


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_tree_and_its_marks_fit(foldaway: Any, talked: str, wide: Any, columns: int) -> None:
    """Only titles are cut; the session that was named is marked at any width."""
    wide(columns)
    foldaway("sessions", "branch", talked, "--at", 11)
    lines = foldaway("sessions", "tree", talked).text.splitlines()
    assert len(lines) == 2
    assert max(map(len, lines)) <= columns
    assert "◀" in lines[0]


def test_a_compaction_that_is_not_due_says_why_it_is_made(foldaway: Any, put: Any) -> None:
    """`compress` acts because somebody asked; automatic compaction would wait."""
    file = put("s.json", long_session())
    seen = foldaway("compress", file, "--preview", "--context-length", 400_000)
    assert "compacted because you asked: it is due from 200,000 tokens on" in seen.text
    seen = foldaway("compress", file, "--preview", "--context-length", 40_000)
    assert "because you asked" not in seen.text


def test_an_import_of_nothing_says_so(foldaway: Any, tmp_path: Path) -> None:
    """`0 new messages` alone reads like a success."""
    (tmp_path / "empty").mkdir()
    assert "no session files here" in foldaway("import", tmp_path / "empty").text


def test_defaults_are_not_shown_as_changed(foldaway: Any) -> None:
    """`doctor` lists the settings that somebody gave."""
    assert "none differ from the defaults" in foldaway("doctor").text
    text = foldaway("doctor", "--verbose").text
    assert text.split("differ from the defaults", 1)[1].split()[0] == "none"


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_lab_says_what_was_kept_and_what_its_columns_mean(
    wide: Any, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sentence under each table, and a legend; the cost is there at any width."""
    wide(columns)
    kept = {"foldaway": (0.77, 0.75), "keep-tail": (0.54, 0.76)}
    lines = [
        ScoreLine(
            part="cut", family="codex", strategy=name, budget=0.2, steps=1, sessions=3, cuts=9,
            figures={"bound": MeanInterval(bound, 0, 1, 3), "cost": MeanInterval(cost, 0, 1, 3),
                     "over": MeanInterval(0.11, 0, 1, 3)},
            against={}, counts={}, violations=None,
        )
        for name, (bound, cost) in kept.items()
    ]  # fmt: skip
    show_run(describe_run(lines))
    said = " ".join(capsys.readouterr().out.split())
    assert "At 20% of the tokens Foldaway kept 77% of what the agent used later" in said
    assert "keeping the end alone kept 54%" in said
    assert "0.75" in said
    assert "copy4: Of the runs of four words" in said
    assert "faults: What must not be. over: the share of cuts at which more was taken" in said


def test_how_many_places_more_does_not_depend_on_how_many_are_shown(
    foldaway: Any, put: Any
) -> None:
    """The best hit has the same number beside it, alone or before others."""
    for name in ("a", "b", "c"):
        said = [{"role": "user", "content": f"zebra {name} {at}"} for at in range(9)]
        foldaway("import", put(f"{name}.json", said))
    counts = [
        foldaway("search", "zebra", "--most", most, "--json").reports[0]["more"]
        for most in (1, 2, 10)
    ]
    assert counts == [8, 8, 8]


def test_a_saving_is_written_alike_in_the_terminal_and_in_python(foldaway: Any, put: Any) -> None:
    """The headline of a report and that of the command have the same figures."""
    file = put("s.json", long_session())
    made = compress(long_session(), target_tokens=9_000)
    seen = foldaway("compress", file, "--preview", "--target-tokens", 9_000).text
    assert made.report.headline in seen
