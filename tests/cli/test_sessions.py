"""`sessions`: everything that can be done with what is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldaway.cli.sessions import COMMANDS
from foldaway.config import open_store
from foldaway.stores.values import Lease, TurnUsage

pytestmark = pytest.mark.usefixtures("home")
ROOT = Path(__file__).resolve().parents[2]
TOP = ("compact", "undo", "diff", "search", "recall")
"""Commands at the top that take a session."""


@pytest.fixture
def compacted(foldaway: Any, talked: str) -> str:
    """The session, compacted once."""
    done = foldaway("compact", talked, "--context-length", 8000, "--json")
    assert done.reports[0]["status"] == "compacted"
    return talked


@pytest.mark.parametrize("name", [*(f"sessions {name}" for name in COMMANDS), *TOP])
def test_without_a_store_the_remedy_is_said(foldaway: Any, home: Path, name: str) -> None:
    """Exit 1, one sentence with `foldaway import`, and no store is made."""
    given = {"list": [], "tidy": [], "backup": ["b.db"], "title": ["x", "t"], "goal": ["x", "t"],
             "pin": ["x", "1"], "unpin": ["x", "1"], "erase": ["--person", "x"]}  # fmt: skip
    command = name.split()
    seen = foldaway(*command, *given.get(command[-1], ["x"]))
    assert (seen.code, seen.out) == (1, b"")
    assert seen.err.count("\n") == 1
    assert "foldaway import" in seen.err
    assert not (home / "foldaway").exists()


def test_the_list_shows_sizes_and_pages(
    foldaway: Any, put: Any, talked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last used first, each once; the picture says how to go on."""
    monkeypatch.setenv("COLUMNS", "120")
    foldaway("import", put("other.json", [{"role": "user", "content": "zebra"}]))
    picture = foldaway("sessions", "list")
    assert picture.code == 0
    assert talked[-8:] in picture.text
    assert "█" in picture.text
    (first,) = foldaway("sessions", "list", "--most", 1, "--json").reports
    (rest,) = foldaway("sessions", "list", "--after", first["next"], "--json").reports
    rows = [*first["sessions"], *rest["sessions"]]
    assert [row["first_ask"][:5] for row in rows] == ["zebra", "Quest"]
    assert rest["next"] == ""
    assert rows[1]["session"] == talked
    assert rows[1]["messages"] == 41
    last = first["sessions"][0]["session"][-8:]
    assert f"--after {last}" in foldaway("sessions", "list", "--most", 1).text
    (same,) = foldaway("sessions", "list", "--after", last, "--json").reports
    assert same == rest
    (found,) = foldaway("sessions", "list", "ZEBRA", "--json").reports
    assert len(found["sessions"]) == 1
    assert "no such sessions" in foldaway("sessions", "list", "giraffe").text


def test_the_list_is_narrowed_by_day(foldaway: Any, talked: str) -> None:
    """A day alone is the whole of it."""
    today = foldaway("sessions", "list", "--since", "2001-01-01", "--json").reports[0]
    before = foldaway("sessions", "list", "--until", "2001-01-01", "--json").reports[0]
    assert (len(today["sessions"]), len(before["sessions"])) == (1, 0)
    assert foldaway("sessions", "list", "--since", "the day").code == 2
    for year in ("0001-01-01", "9999-12-31"):
        assert foldaway("sessions", "list", "--since", year, "--until", year).code == 0


def test_a_mark_that_no_page_ended_with_is_refused(foldaway: Any, talked: str) -> None:
    """One sentence, exit 2."""
    for mark in ("junk", "0x1p+99999 x"):
        seen = foldaway("sessions", "list", "--after", mark)
        assert (seen.code, seen.out) == (2, b"")
        assert "the page before ended with" in seen.err


def test_show_sets_compactions_beside_cache_misses(
    foldaway: Any, compacted: str, home: Path
) -> None:
    """A miss after a compaction is told from others, and the cost is summed."""
    with open_store(home / "foldaway" / "sessions") as store:
        for position, read, view in ((11, 0, 0), (21, 900, 0), (31, 1800, 0), (41, 100, 1)):
            store.add_usage(compacted, TurnUsage(
                position=position, input_tokens=2000, output_tokens=10, cache_read_tokens=read,
                cost=0.01, view=view,
            ))  # fmt: skip
    (told,) = foldaway("sessions", "show", compacted, "--json").reports
    assert [turn["cache_miss"] for turn in told["turns"]] == [False, False, False, True]
    assert [turn["compacted"] for turn in told["turns"]] == [False, False, False, True]
    totals = told["totals"]
    assert (totals["cache_misses"], totals["misses_after_compaction"]) == (1, 1)
    assert (totals["cost"], totals["cache_hit_rate"]) == (0.04, 0.35)
    sums = [name for name in totals if name.endswith("_tokens")]
    assert sums == [f"{kind}_tokens" for kind in ("input", "output", "cache_read", "cache_write")]
    (step,) = told["steps"]
    assert (step["number"], step["current"], step["reason"]) == (1, True, "compaction")
    assert step["tokens_after"] < step["tokens_before"]
    picture = foldaway("sessions", "show", compacted).text
    assert "compacted  cache miss" in picture
    assert "1 cache miss (1 after a compaction), $0.04" in picture


def test_show_of_an_imported_session_has_what_the_agent_wrote_down(foldaway: Any, put: Any) -> None:
    """Usage in the answers themselves, priced where the model's prices are known."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 9_000, "output_tokens": 100}
    answers = [
        {"role": "user", "content": [{"type": "text", "text": "why?"}]},
        {"id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
         "content": [{"type": "text", "text": "so"}], "usage": usage},
    ]  # fmt: skip
    (done,) = foldaway("import", put("a.json", answers), "--json").reports
    (told,) = foldaway("sessions", "show", done["sessions"][0]["session"], "--json").reports
    (turn,) = told["turns"]
    assert (turn["position"], turn["input_tokens"], turn["cache_read_tokens"]) == (1, 9010, 9000)
    assert turn["cost"] == pytest.approx((10 * 3 + 9_000 * 0.3 + 100 * 15) / 1e6)


def test_sessions_rotate_where_the_settings_say_so(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """A compaction goes on in a child, which the parent's id leads to."""
    (tmp_path / "foldaway.toml").write_text("[sessions]\nmode = 'rotate'\n")
    messages = [{"role": "user" if at % 2 == 0 else "assistant", "content": f"{at} " + "so " * 200}
                for at in range(40)]  # fmt: skip
    (done,) = foldaway("import", put("r.json", messages), "--json").reports
    parent = done["sessions"][0]["session"]
    (told,) = foldaway("compact", parent, "--context-length", 6000, "--json").reports
    assert (told["status"], told["previous"]) == ("compacted", parent)
    assert told["session"] != parent
    again = foldaway("compact", parent, "--context-length", 6000)
    assert again.code == 0
    assert "compression" in foldaway("sessions", "tree", parent).text


def test_show_without_usage(foldaway: Any, talked: str) -> None:
    """An imported session says what it is; roles and tools are counted."""
    (told,) = foldaway("sessions", "show", talked, "--json").reports
    assert told["roles"] == {"system": 1, "user": 20, "assistant": 20}
    assert told["totals"]["cost"] is None
    assert "no usage was recorded" in foldaway("sessions", "show", talked).text


def test_compact_shows_what_became_of_it_and_undo_takes_it_back(foldaway: Any, talked: str) -> None:
    """The log never changes; the picture has both."""
    before = foldaway("sessions", "export", talked).out
    seen = foldaway("compact", talked, "--context-length", 8000)
    assert seen.code == 0
    assert "view 0 to view 1" in seen.text
    assert "folded" in seen.text
    assert "recall one: foldaway recall fa-" in seen.text
    assert foldaway("sessions", "export", talked).out == before
    assert foldaway("sessions", "export", talked, "--view").out != before
    undone = foldaway("undo", talked)
    assert undone.text == f"{talked[-8:]}: compaction 1 is undone; it shows its log as it is\n"
    assert foldaway("sessions", "export", talked, "--view").out == before
    again = foldaway("undo", talked)
    assert (again.code, again.out) == (2, b"")
    assert "no compaction to undo" in again.err


def test_a_session_that_somebody_else_compacts_is_exit_code_3(
    foldaway: Any, talked: str, home: Path
) -> None:
    """Who is at it is said, and nothing changes."""
    with open_store(home / "foldaway" / "sessions") as store:
        assert isinstance(store.acquire(talked, "another host pid 7", 60.0), Lease)
        seen = foldaway("compact", talked, "--context-length", 8000)
    assert seen.code == 3
    assert "nothing changed (already running): another host pid 7" in seen.text


def test_a_second_compaction_starts_from_the_first(foldaway: Any, compacted: str) -> None:
    """The picture names the view that it started from."""
    seen = foldaway("compact", compacted, "--context-length", 5000, "--keep-last", 1)
    assert (seen.code, "view 1 to view 2" in seen.text) == (0, True)


def test_compact_only_where_it_is_due(foldaway: Any, talked: str) -> None:
    """Below the threshold nothing changes, and why is said."""
    seen = foldaway("compact", talked, "--if-due", "--context-length", 200_000)
    assert seen.code == 0
    assert "nothing changed (below threshold)" in seen.text
    (told,) = foldaway("compact", talked, "--if-due", "--context-length", 6000, "--json").reports
    assert (told["status"], told["context_length_source"]) == ("compacted", "given")


def test_a_copy_of_a_session_is_compacted_and_the_session_is_not(
    foldaway: Any, talked: str, tmp_path: Path
) -> None:
    """With -o or --preview; what is for files alone is refused without."""
    out, before = tmp_path / "small.json", foldaway("sessions", "export", talked).out
    seen = foldaway("compact", talked, "-o", out, "--target-tokens", 500)
    assert (seen.code, out.exists()) == (0, True)
    assert foldaway("compact", talked, "--preview", "--target-tokens", 500).code == 0
    refused = foldaway("compact", talked, "--target-tokens", 500)
    assert (refused.code, refused.out) == (2, b"")
    assert "--target-tokens is for a file, or with -o for a copy of the session" in refused.err
    assert foldaway("sessions", "export", talked, "--view").out == before


def test_recall_gives_the_bytes_of_a_session(foldaway: Any, compacted: str) -> None:
    """A line for each message, as the log has them."""
    (told,) = foldaway("diff", compacted, "--json").reports
    assert told["folded"] > 0
    shown = foldaway("sessions", "export", compacted, "--view").text
    start = shown.index("fa-")
    seen = foldaway("recall", shown[start : start + 13])
    log = foldaway("sessions", "export", compacted).out
    assert seen.code == 0
    assert seen.out in log
    assert foldaway("recall", shown[start : start + 13], "--session", compacted).out == seen.out
    (told,) = foldaway("recall", shown[start : start + 13], "--json").reports
    assert (told["reference"], told["session"]) == (shown[start : start + 13], compacted)
    assert told["messages"] == [json.loads(line) for line in seen.out.splitlines()]
    assert told["positions"][1] - told["positions"][0] == len(told["messages"])


def test_recall_of_what_nobody_gave_out(foldaway: Any, talked: str) -> None:
    """One sentence, exit 2."""
    seen = foldaway("recall", "fa-0000000000")
    assert (seen.code, seen.out) == (2, b"")
    assert "no session here has it" in seen.err


def test_diff_is_of_the_last_compaction_or_of_two_views(foldaway: Any, compacted: str) -> None:
    """By number; a number that is none is refused with those that are."""
    (last,) = foldaway("diff", compacted, "--json").reports
    (named,) = foldaway("diff", compacted, "--views", 0, 1, "--json").reports
    assert last == named
    assert (last["messages_before"], last["before"]) == (41, "view 0")
    (none,) = foldaway("diff", compacted, "--views", 1, 1, "--json").reports
    assert none["folded"] == none["added"] == 0
    wrong = foldaway("diff", compacted, "--views", 0, 7)
    assert wrong.code == 2
    assert "there are 0, 1" in wrong.err
    shown = foldaway("diff", compacted).text
    assert "before" in shown
    assert foldaway("recall", shown.split("foldaway recall ")[1].split()[0]).code == 0


def test_diff_without_a_compaction(foldaway: Any, talked: str) -> None:
    """Exit 1, and why."""
    seen = foldaway("diff", talked)
    assert seen.code == 1
    assert "no compaction" in seen.err


def test_a_branch_is_drawn_below_its_parent(foldaway: Any, talked: str) -> None:
    """It shares the first messages; more than there are is refused."""
    (branch,) = foldaway("sessions", "branch", talked, "--at", "m11", "--json").reports
    assert (branch["messages"], branch["forked_at"], branch["parent"]) == (11, 11, talked)
    assert (branch["descent"], branch["root"]) == ("branch", talked)
    tree = foldaway("sessions", "tree", branch["session"])
    top, below = tree.text.splitlines()
    assert top.startswith(talked[-8:])
    assert f"└── branch at m11  {branch['session'][-8:]}" in below
    (rows,) = foldaway("sessions", "tree", talked, "--json").reports
    assert [row["session"] for row in rows["sessions"]] == [talked, branch["session"]]
    wrong = foldaway("sessions", "branch", talked, "--at", 42)
    assert wrong.code == 2
    assert "its places are m0 to m41" in wrong.err


def test_title_goal_and_pins_are_kept(foldaway: Any, talked: str) -> None:
    """Each is there when the session is shown."""
    assert foldaway("sessions", "title", talked, "The modules").code == 0
    assert foldaway("sessions", "goal", talked, "all green").code == 0
    assert foldaway("sessions", "pin", talked, "m3", "--note", "why").text.endswith("pinned m3\n")
    (pins,) = foldaway("sessions", "pin", talked, 7, "--json").reports
    assert pins["pins"] == [{"position": 3, "note": "why"}, {"position": 7, "note": ""}]
    (told,) = foldaway("sessions", "show", talked, "--json").reports
    assert (told["title"], told["goal"], len(told["pins"])) == ("The modules", "all green", 2)
    assert foldaway("sessions", "unpin", talked, 3).text.endswith("pinned m7\n")
    assert foldaway("sessions", "unpin", talked, 7).text.endswith("nothing is pinned\n")
    wrong = foldaway("sessions", "pin", talked, "999")
    assert wrong.code == 2
    assert foldaway("sessions", "pin", talked, "here").code == 2


def test_read_and_scroll_print_what_was_said(foldaway: Any, talked: str) -> None:
    """Both ends, the whole, or around a place."""
    ends = foldaway("sessions", "read", talked).text
    assert "Question 0" in ends
    assert "… 11 messages left out …" in ends
    (whole,) = foldaway("sessions", "read", talked, "--whole", "--json").reports
    assert [row["position"] for row in whole["first"]] == list(range(41))
    (page,) = foldaway("sessions", "scroll", talked, "--at", "m20", "--reach", 1, "--json").reports
    assert [row["position"] for row in page["rows"]] == [19, 20, 21]
    assert (page["earlier"], page["later"]) == (17, 23)
    picture = foldaway("sessions", "scroll", talked, "--at", 20, "--reach", 1).text
    assert "earlier: --at m17   later: --at m23" in picture


def test_terminal_codes_of_a_message_do_not_reach_the_terminal(foldaway: Any, put: Any) -> None:
    """Neither in lists nor when it is read or found."""
    nasty = "zebra \x1b[2J\x1b]0;owned\x07 \u202e end"
    foldaway("import", put("n.json", [{"role": "user", "content": nasty}]))
    for command in (["sessions", "list"], ["search", "zebra"]):
        assert "\x1b" not in foldaway(*command).text.replace("\x1b[0m", "")
    (row,) = foldaway("sessions", "list", "--json").reports[0]["sessions"]
    assert "\x1b" not in foldaway("sessions", "read", row["session"]).text


@pytest.mark.parametrize("form", ["openai-chat", "anthropic", "gemini", "markdown", "jsonl"])
def test_export_writes_any_form(foldaway: Any, talked: str, tmp_path: Path, form: str) -> None:
    """To a file, with what it did on one line of JSON."""
    out = tmp_path / "out"
    (told,) = foldaway("sessions", "export", talked, "--to", form, "-o", out, "--json").reports
    assert (told["session"], told["to"], told["output"]) == (talked, form, str(out))
    assert out.stat().st_size > 1000
    if form in ("openai-chat", "anthropic", "gemini"):
        assert foldaway("check", out, "--dialect", form).code == 0


def test_export_leaves_out_what_was_generated(
    foldaway: Any, compacted: str, tmp_path: Path
) -> None:
    """Of the view, what the compaction wrote, also inside a message of the user."""
    texts: list[str] = []
    for more in ([], ["--without-generated"]):
        out = tmp_path / f"v{len(texts)}"
        assert foldaway("sessions", "export", compacted, "--view", *more, "-o", out).code == 0
        texts.append(out.read_text())
    assert ["foldaway summary" in text for text in texts] == [True, False]
    assert len(texts[1]) > 100


def test_a_tool_is_counted_once_for_a_call_and_its_result(foldaway: Any, put: Any) -> None:
    """What `show` says of tools is how often each was called."""
    function = {"name": "read_file", "arguments": "{}"}
    messages: list[Any] = [{"role": "user", "content": "Read it twice."}]
    for number in range(2):
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "words"},
        ]
    (done,) = foldaway("import", put("calls.json", messages), "--json").reports
    (told,) = foldaway("sessions", "show", done["sessions"][0]["session"], "--json").reports
    assert told["tools"] == {"read_file": 2}


def test_deleted_is_gone_for_good(foldaway: Any, put: Any, talked: str, home: Path) -> None:
    """It says what went, no file holds its words any more, and other sessions stay."""
    foldaway("import", put("other.json", [{"role": "user", "content": "zebra"}]))
    (plan,) = foldaway("sessions", "delete", talked, "--dry-run", "--json").reports
    assert (plan["erased"], plan["sessions"][0]["session"]) == (None, talked)
    assert foldaway("sessions", "delete", talked).code == 2
    seen = foldaway("sessions", "delete", talked, "--yes")
    assert seen.code == 0
    assert seen.text.startswith("deleted: 1 session, 41 messages, ")
    assert foldaway("search", "module_3.py").code == 1
    assert foldaway("search", "zebra").code == 0
    for path in (home / "foldaway" / "sessions").iterdir():
        assert b"module_3" not in path.read_bytes()


def test_delete_by_age_and_by_size(foldaway: Any, put: Any, talked: str) -> None:
    """The oldest go first; without anything to go by nothing is deleted."""
    assert foldaway("sessions", "delete", "--yes").code == 2
    nothing = foldaway("sessions", "delete", "--older-than", 1, "--yes")
    assert (nothing.code, nothing.text) == (0, "there is nothing to delete\n")
    (gone,) = foldaway("sessions", "delete", "--over-mb", 0, "--yes", "--json").reports
    assert gone["erased"]["sessions"] == 1


def test_delete_by_the_settings(foldaway: Any, talked: str, own_settings: Path) -> None:
    """`--expired` takes retention from the settings."""
    assert "nothing to delete" in foldaway("sessions", "delete", "--expired", "--yes").text
    own_settings.write_text("[sessions]\nretention_days = 1\n")
    assert "nothing to delete" in foldaway("sessions", "delete", "--expired", "--yes").text
    (gone,) = foldaway(
        "sessions", "delete", "--expired", "--older-than", 0, "--yes", "--json"
    ).reports
    assert gone["erased"]["sessions"] == 1


def test_a_branch_keeps_what_it_shares_with_the_deleted(foldaway: Any, talked: str) -> None:
    """And that is said; a dry run counts only what would really go."""
    (branch,) = foldaway("sessions", "branch", talked, "--at", 11, "--json").reports
    (told,) = foldaway("sessions", "delete", talked, "--dry-run", "--json").reports
    assert (told["messages"], told["erased"]) == (30, None)
    seen = foldaway("sessions", "delete", talked, "--dry-run")
    assert "1 session with 30 messages would be deleted" in seen.text
    seen = foldaway("sessions", "delete", talked, "--yes")
    assert f"stays with {branch['session'][-8:]}" in seen.text
    (left,) = foldaway("sessions", "read", branch["session"], "--json").reports
    assert len(left["first"]) == 11


def test_a_backup_is_a_store(foldaway: Any, talked: str, tmp_path: Path) -> None:
    """It opens with --store and holds the same."""
    copy = tmp_path / "copy.db"
    (told,) = foldaway("sessions", "backup", copy, "--json").reports
    assert told["file"] == str(copy)
    assert told["bytes"] == copy.stat().st_size
    (there,) = foldaway("sessions", "list", "--store", copy, "--json").reports
    assert [row["session"] for row in there["sessions"]] == [talked]


@pytest.mark.parametrize("name", ["show", "tree", "read", "scroll", "compact", "undo", "export"])
def test_a_session_that_is_not_there(foldaway: Any, talked: str, name: str) -> None:
    """One sentence that names it, exit 2."""
    seen = foldaway("sessions", name, "nobody")
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err.startswith("foldaway: no session 'nobody'")
    assert seen.err.count("\n") == 1


def test_json_is_one_object_a_line_and_nothing_else(
    foldaway: Any, compacted: str, put: Callable[[str, object], Path]
) -> None:
    """Every command that has --json."""
    for command in (
        ["list"], ["show", compacted], ["tree", compacted], ["read", compacted],
        ["scroll", compacted], ["diff", compacted], ["title", compacted, "x"],
        ["goal", compacted, "x"], ["pin", compacted, "1"], ["unpin", compacted, "1"],
        ["undo", compacted], ["branch", compacted], ["compact", compacted],
        ["delete", compacted, "--yes"],
    ):  # fmt: skip
        seen = foldaway("sessions", *command, "--json")
        assert (seen.code, seen.err) == (0, ""), command
        (line,) = seen.out.splitlines()
        assert isinstance(json.loads(line), dict)


def test_a_place_that_is_not_there_is_said(foldaway: Any, talked: str) -> None:
    """Nothing changed meanwhile: there is no such message, and which there are."""
    for command in (("pin", talked, "41"), ("branch", talked, "--at", "99")):
        seen = foldaway("sessions", *command)
        assert (seen.code, seen.out) == (2, b"")
        assert "its places are m0 to m4" in seen.err
        assert "meanwhile" not in seen.err


def test_a_view_that_was_undone_is_called_so(foldaway: Any, compacted: str) -> None:
    """What an undo went back behind is no step on the way to what is shown."""
    foldaway("undo", compacted)
    foldaway("compact", compacted, "--context-length", 8000, "--keep-last", 2)
    (told,) = foldaway("sessions", "show", compacted, "--json").reports
    assert [(step["current"], step["undone"]) for step in told["steps"]] == [
        (False, True), (True, False),
    ]  # fmt: skip
    assert "undone" in foldaway("sessions", "show", compacted).text


def test_the_goal_stands_in_the_summary(foldaway: Any, talked: str) -> None:
    """Letter for letter, whatever the log says, also after a second compaction."""
    goal = "Alle 41 Tests von pärser.py   laufen — ohne `sleep`"
    foldaway("sessions", "goal", talked, goal)
    for kept in (4, 2):
        foldaway("compact", talked, "--context-length", 8000, "--keep-last", kept)
        shown = foldaway("sessions", "export", talked, "--view", "--to", "markdown").text
        assert f"- {goal}\n" in shown


@pytest.mark.slow
@pytest.mark.parametrize("command", ["list", "show", "tree", "read"])
def test_a_reader_that_went_away_ends_every_command_alike(talked: str, command: str) -> None:
    """`foldaway sessions … | head` ends with 141, without a word."""
    given = () if command == "list" else (talked,)
    child = subprocess.Popen(
        [sys.executable, "-m", "foldaway", "sessions", command, *given],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    err = child.stderr.read()
    child.stderr.close()
    assert (child.wait(timeout=30), err) == (141, b"")
