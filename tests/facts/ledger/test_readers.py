"""What readers of records missed or were told wrongly, beside the logs of real sessions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.testing.rows import each_row

from foldaway.facts.dialogue.statements import constraints
from foldaway.facts.ledger import Around, Ledger, summarize
from foldaway.facts.summary import Section
from foldaway.testing import assistant, call, result, user

LedgerOf = Callable[..., Ledger]
STARTED = "Chunk ID: a\nWall time: 1 seconds\nProcess running with session ID 66153\nOutput:\n"
ENDED = "Chunk ID: b\nWall time: 1 seconds\nProcess exited with code {}\nOutput:\n{}"
TEST = assistant(call("exec_command", cmd="go test ./..."))
POLL = assistant(call("write_stdin", session_id=66153, chars=""))


def told(ledger: Ledger, section: Section, around: Around | None = None) -> str:
    entries = summarize(ledger, around or Around(20_000)).sections.get(section, ())
    return "\n".join(entry.text for entry in entries)


def test_a_test_run_that_goes_on_has_no_result(ledger_of: LedgerOf) -> None:
    state = told(ledger_of(user("go"), TEST, result(STARTED)), "state")
    assert "`go test ./...`: still running" in state
    assert "running: go test ./..." in state


@pytest.mark.parametrize(
    ("code", "output", "words"),
    [(0, "ok  \ta/b\t0.1s", "1 passed"), (1, "boom", "failed (exit 1)")],
)
def test_a_test_run_that_was_waited_for_ends_as_its_poll_says(
    ledger_of: LedgerOf, code: int, output: str, words: str
) -> None:
    ended = result(ENDED.format(code, output))
    state = told(ledger_of(user("go"), TEST, result(STARTED), POLL, ended), "state")
    assert f"`go test ./...`: {words}" in state
    assert "running" not in state


@each_row(
    ("command", "output", "words"),
    [
        ("npm test 2>&1 | tail -5", "Command aborted", "Command aborted"),
        ("npm test 2>&1 | tail -5", "Tests: all passed", "ok"),
        ("go test ./... | tail -1", "", "no output"),
    ],
)
def test_a_result_is_claimed_if_the_output_tells_it(
    ledger_of: LedgerOf, command: str, output: str, words: str
) -> None:
    ledger = ledger_of(user("go"), assistant(call("bash", command=command)), result(output))
    assert f"`{command}`: {words};" in told(ledger, "state")


def test_a_commit_that_tells_of_tests_is_no_test_run(ledger_of: LedgerOf) -> None:
    """Nor is a pull request whose text says how to run them; what ran before is."""
    text = "$(cat <<'EOF'\n## Test plan\n- mise run test:ci\nEOF\n)"
    line = f'gh pr create --title "x" --body "{text}"'
    ledger = ledger_of(
        user("Go."), assistant(call("bash", command="go test ./...")), result("ok  pkg 0.2s"),
        assistant(call("bash", command=line)), result("https://example.com/o/r/pull/136"),
    )  # fmt: skip
    assert [fact.text for fact in ledger.tests.values()] == ["`go test ./...`: ok"]


def test_a_look_at_tests_is_no_test_run(ledger_of: LedgerOf) -> None:
    seen = result("FAIL\tgithub.com/a/b\t0.1s\nok  \tgithub.com/a/c\t0.2s")
    looked = assistant(call("bash", command='grep -R "go test" ci.log'))
    assert "test run" not in told(ledger_of(user("go"), looked, seen), "state")


@pytest.mark.parametrize("names", [("oldText", "newText"), ("oldString", "newString")])
def test_an_edit_has_two_sides_whatever_they_are_called(
    ledger_of: LedgerOf, names: tuple[str, str]
) -> None:
    sides = dict(zip(names, ("color_old = 00d7ff", "color_new = 00afd7"), strict=True))
    edit = assistant("I change the colors.", call("edit", path="/w/dark.json", **sides))
    completed = told(ledger_of(user("go"), edit, result("ok")), "completed")
    assert "- color_old" in completed
    assert "+ color_new" in completed


def test_names_of_a_patch_belong_to_the_file_of_their_hunk(ledger_of: LedgerOf) -> None:
    """A patch of several files tells of each what it changed there."""
    patch = (
        "*** Begin Patch\n*** Update File: a.go\n@@\n+AlphaOne()\n*** Update File: b.go\n@@\n"
        "+beta_two()\n*** Update File: c.go\n@@\n-OldThree()\n*** End Patch"
    )
    edit = assistant("I change three.", call("apply_patch", input=patch))
    completed = told(ledger_of(user("go"), edit, result("Success")), "completed")
    for own in ("a.go (+ AlphaOne)", "b.go (+ beta_two)", "c.go (- OldThree)"):
        assert own in completed


def test_shapes_and_looks_of_markup_are_no_names(ledger_of: LedgerOf) -> None:
    """Path data and classes; what the markup names stays."""
    old = '<svg class="w-4 text-red-500"><path d="M1 2H3m4 5"/></svg>'
    new = '<svg class="w-6 text-blue-900"><path d="M9 8H7m6 5"/><UserBadge id="user_badge"/></svg>'
    edit = assistant("I draw.", call("edit", path="/w/icon.tsx", old_string=old, new_string=new))
    completed = told(ledger_of(user("go"), edit, result("ok")), "completed")
    assert "user_badge" in completed
    assert not any(sign in completed for sign in ("M1", "2H3m4", "w-4", "red-500", "blue-900"))


def test_what_the_user_said_when_they_rejected_a_call_is_told(ledger_of: LedgerOf) -> None:
    words = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell "
        "you how to proceed, the user said:\ndon't check this in"
    )
    add = assistant(call("Bash", command="git add docs/plan.md"))
    ledger = ledger_of(user("go"), add, result(words, is_error=True))
    assert "`git add docs/plan.md`: don't check this in" in told(ledger, "decisions")
    assert told(ledger, "constraints") == "don't check this in"


def test_a_rule_in_an_answered_request_is_a_rule_still(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(
        user("Build it."), assistant("Done."), user("Move it, but never touch db/schema.sql."),
        assistant("Moved."), user("And now the docs."),
    )  # fmt: skip
    assert "never touch db/schema.sql" in told(ledger, "constraints")


@each_row(
    ("text", "rules"),
    [
        ("ok and i dont want to remove any details, that is your plan right?", True),
        ("why don't you use the cache?", False),
        ("don't you think that is slow?", False),
    ],
)
def test_a_rule_may_end_in_a_question(text: str, rules: bool) -> None:
    assert bool(constraints(text)) == rules


@each_row(("text", "rules"), [
    ("I need one that works with X only.", False), ("I'd like the blue one instead.", False),
    ("I'm looking for a bag with at least two pockets.", False),
    ("I must have a window on the left.", False), ("I want you to only edit a.py.", True),
    ("I'd rather not use regex here.", True), ("I want the tests to only cover a.py.", True),
    ("I want a smaller one, and don't touch the rest.", True),
])  # fmt: skip
def test_a_wish_for_a_thing_is_no_rule(text: str, rules: bool) -> None:
    """A rule is an order about how to work, or what not to do."""
    assert bool(constraints(text)) == rules


def test_an_answered_ask_is_not_pending(ledger_of: LedgerOf) -> None:
    """One that the agent has not answered is; the newest is the task."""
    ran = assistant(call("Bash", command="make a_1"))
    ledger = ledger_of(
        user("Port it."), assistant("Done."), user("Rename x_1 in a.py."), assistant("Renamed."),
        user("Bump y_2 in b.py."), ran, result("ok"), user("Test it."),
    )  # fmt: skip
    assert "x_1" not in told(ledger, "pending")
    assert "(answered): Rename x_1" in told(ledger, "resolved")
    assert "y_2" in told(ledger, "pending")


@each_row(("name", "acts"), [
    ("get_order_details", False), ("find_user_id_by_email", False), ("list_return_options", False),
    ("mcp__shop__search_order", False), ("cancel_order", True), ("mcp__tracker__add_issue", True),
])  # fmt: skip
def test_a_look_up_is_no_completed_action(name: str, acts: bool, ledger_of: LedgerOf) -> None:
    """By the first word in the name of the tool that tells what it does."""
    ledger = ledger_of(user("go"), assistant(call(name, id="W1_x")), result('{"status": "fine"}'))
    assert (name in told(ledger, "completed")) == acts


@each_row("command", [
    "find . -name a.py | xargs grep -n foo_bar", "gh pr view 12 --json state", "docker ps",
    "kubectl get pods", "diff a.txt b.txt", "npm ls left-pad",
])  # fmt: skip
def test_a_look_that_failed_is_neither_done_nor_in_the_way(
    command: str, ledger_of: LedgerOf
) -> None:
    """It changed nothing, and nothing waits for it."""
    ledger = ledger_of(user("go"), assistant(call("Bash", command=command)),
                       result("Exit code 1\nError: not found: foo_bar", is_error=True))  # fmt: skip
    assert told(ledger, "completed") == ""
    assert told(ledger, "blocked") == ""


def test_an_argument_that_names_nothing_is_not_in_the_way(ledger_of: LedgerOf) -> None:
    """The call was wrong itself; the next one is another."""
    ran = assistant(call("update_record", record_id="R1_x", owner_id="nobody_1"))
    ledger = ledger_of(user("go"), ran, result("Error: owner not found", is_error=True))
    assert told(ledger, "blocked") == ""


@each_row("text", [
    "This made me miss an important meeting.", "My work is all about ensuring that it sells.",
    "The count in line 5 uses min(added, removed) of the file.",
])  # fmt: skip
def test_a_statement_is_no_rule(text: str) -> None:
    """It tells something, and orders nothing."""
    assert not constraints(text)


def test_the_end_of_a_long_report_stays(ledger_of: LedgerOf) -> None:
    """It says what the next "yes" is about."""
    report = "\n".join(f"Finding {number}: row_{number} is wrong." for number in range(300))
    asks = "Shall I drop Options.UserAgent and write no spec?"
    ledger = ledger_of(user("Review it."), assistant(f"{report}\n{asks}"))
    shown = told(ledger, "in_progress", Around(3_000))
    assert asks in shown
    assert "Finding 0:" in shown


def test_a_report_before_the_one_that_is_shown_is_called_earlier(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(user("Review it."), assistant("The parser is wrong in two places. " * 9))
    assert told(ledger, "in_progress").startswith("Last report")
    newer = Around(20_000, newer_reply=True)
    assert told(ledger, "in_progress", newer).startswith("An earlier report")


def test_a_report_that_is_shown_is_not_told(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(user("Review it."), assistant("All is well."))
    assert told(ledger, "in_progress", Around(20_000, kept=frozenset({"m1"}))) == ""


def test_after_a_rebase_a_commit_has_no_hash_and_is_not_pushed(ledger_of: LedgerOf) -> None:
    def ran(command: str, output: str = "") -> tuple[object, object]:
        return assistant(call("bash", command=command)), result(output)

    ledger = ledger_of(
        user("go"), *ran("git commit -m 'Add a parser'", "[main 06e9376] Add a parser"),
        *ran("git push"), *ran("git rebase origin/main", "Successfully rebased"),
    )  # fmt: skip
    state = told(ledger, "state")
    assert "git commit: Add a parser (not pushed)" in state


def test_a_script_is_told_by_what_it_was_for_and_what_it_printed(ledger_of: LedgerOf) -> None:
    script = "python3 - <<'PY'\nimport json\nprint(json.dumps({'a': 1}))\nPY"
    run = assistant(call("Bash", command=script, description="Count the files of each session"))
    completed = told(ledger_of(user("go"), run, result("files_touched in 34/34")), "completed")
    assert completed == (
        "Count the files of each session (`python3 - <<'PY'`): files_touched in 34/34"
    )


def test_a_call_that_went_well_settles_one_with_other_arguments(ledger_of: LedgerOf) -> None:
    """However long these are."""

    def book(card: str) -> object:
        people = [{"first_name": "Mia", "last_name": "Li", "dob": "1990-04-05"}] * 3
        return assistant(call("book_reservation", user="mia_li", people=people, payment=card))

    failed = result("Error: not enough balance in payment method gift_card_8190333")
    booked = result('{"reservation_id": "HATHAT"}')
    steps = (user("Book it."), book("gift_card_8190333"), failed)
    assert "gift_card_8190333" in told(ledger_of(*steps), "blocked")
    assert told(ledger_of(*steps, book("credit_card_1"), booked), "blocked") == ""


def test_a_command_of_the_host_is_no_request(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(user("Fix it."), assistant("Done."), user("/undo"), user("/"))
    assert [ask.fact.text for ask in ledger.asks if ask.fact.text] == ["Fix it."]


def test_an_id_stands_beside_its_name_where_a_row_tells_both(ledger_of: LedgerOf) -> None:
    """Prose of the agent that names several ids is left out for the rows."""
    rows = '[{"leg_id": "H134", "from": "SFO"}, {"leg_id": "H045", "from": "PHX"}]'
    ledger = ledger_of(
        user("Find legs."), assistant(call("search_legs", date="2024-05-28")), result(rows),
        assistant("2. SFO to SEA: leg H134 to PHX and H045 to SEA.", call("book", legs="H134")),
        result("ok"),
    )  # fmt: skip
    shown = told(ledger, "critical")
    assert "H134 SFO" in shown
    assert "H134 to PHX" not in shown


def test_what_a_program_logged_is_not_in_the_way(ledger_of: LedgerOf) -> None:
    """A line with a time, of a run of which nothing says that it failed."""
    ran = assistant(call("Bash", command="go build -o ./tool . && ./tool help"))
    logged = "usage of tool\nstats 2026/01/16 10:01:08 ERROR: 1 messages dropped: timeout"
    assert told(ledger_of(user("go"), ran, result(logged)), "blocked") == ""
    failed = result(f"Exit code 1\n{logged}", is_error=True)
    assert "messages dropped" in told(ledger_of(user("go"), ran, failed), "blocked")
