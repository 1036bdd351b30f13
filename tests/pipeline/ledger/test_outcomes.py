"""Commands and how they ended: errors open and resolved, tests, processes, where things stand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.pipeline.ledger import Fact, Ledger
from holdfast.testing import assistant, call, result, user

LedgerOf = Callable[..., Ledger]

FAILED = "boom\nTypeError: x is not a function\nexit code 1"
PASSED = "all good\nexit code 0"


def run(*rows: tuple[str, str]) -> list[object]:
    """Commands with what they printed."""
    made: list[object] = [user("Test.")]
    for command, output in rows:
        made += [assistant(call("bash", command=command)), result(output)]
    return made


def test_a_command_carries_how_it_ended(ledger_of: LedgerOf) -> None:
    """Its exit code where the result names one, and whether it failed."""
    ledger = ledger_of(*run(("npm test", FAILED), ("ls src", "a.py\nb.py"), ("make", PASSED)))
    assert [(fact.text, fact.failed) for fact in ledger.commands] == [
        ("`npm test` -> exit 1", True), ("`ls src`", False), ("`make`", False),
    ]  # fmt: skip
    assert ledger.command_count == 3


def test_all_commands_are_counted_and_the_newest_kept(ledger_of: LedgerOf) -> None:
    """The count goes on where the list is full."""
    ledger = ledger_of(*run(*((f"echo {n}", "x") for n in range(300))))
    assert ledger.command_count == 300
    assert len(ledger.commands) < 300
    assert ledger.commands[-1].text == "`echo 299`"


def test_an_error_is_open_until_the_same_command_succeeds(ledger_of: LedgerOf) -> None:
    """Then its first line is told as resolved; another command's success changes nothing."""
    failed = [("npm test", FAILED)]
    open_still = ledger_of(*run(*failed, ("npm run lint", PASSED)))
    assert [[fact.text for fact in rows] for rows in open_still.errors.values()] == [
        ["TypeError: x is not a function"]
    ]
    assert list(open_still.errors) == ["npm test"]
    resolved = ledger_of(*run(*failed, ("npm run lint", PASSED), ("npm test", PASSED)))
    assert resolved.errors == {}
    assert [fact.text for fact in resolved.resolved] == ["TypeError: x is not a function"]


def test_a_new_failure_of_a_command_replaces_the_old_one(ledger_of: LedgerOf) -> None:
    """What failed before and fails otherwise now is told as it is now."""
    ledger = ledger_of(
        *run(("make", "Error: one_a\nexit code 2"), ("make", "Error: two_b\nexit code 2"))
    )
    assert [fact.text for fact in ledger.errors["make"]] == ["Error: two_b"]


def test_an_error_of_a_tool_is_resolved_by_the_same_target(ledger_of: LedgerOf) -> None:
    """An edit that was refused and then works; another file's success is no answer to it."""
    edit = call("Edit", file_path="a.py", old_string="x", new_string="y")
    other = call("Edit", file_path="b.py", old_string="x", new_string="y")
    refused = [user("Go."), assistant(edit), result("Error: String to replace not found")]
    ledger = ledger_of(*refused, assistant(other), result("ok"))
    assert list(ledger.errors) == ["Edit a.py"]
    ledger = ledger_of(*refused, assistant(other), result("ok"), assistant(edit), result("ok"))
    assert ledger.errors == {}


def test_words_like_error_in_what_was_read_are_no_error(ledger_of: LedgerOf) -> None:
    """A file that is about errors was read well; only a call that failed has errors."""
    ledger = ledger_of(
        user("Go."), assistant(call("Read", file_path="log.py")),
        result("class Failure:\n    pass\nError: this is a text in a file\n"),
    )  # fmt: skip
    assert ledger.errors == {}
    assert ledger.files["log.py"].read == 1


@pytest.mark.parametrize(("output", "status", "names"), [
    ("FAILED tests/test_a.py::test_one - assert 1\nFAILED tests/test_a.py::test_two - x\n"
     "=== 2 failed, 5 passed in 0.12s ===", "2 failed, 5 passed",
     ("tests/test_a.py::test_one", "tests/test_a.py::test_two")),
    ("============ 7 passed in 0.12s ============", "7 passed", ()),
    ("--- FAIL: TestLoad (0.00s)\nFAIL\nexit code 1", "1 failed", ("TestLoad",)),
])  # fmt: skip
def test_a_test_run_is_told_with_the_names_of_what_fails(
    output: str, status: str, names: tuple[str, ...], facts: Callable[..., list[Fact]]
) -> None:
    """Counts and failing names, in the words of the runner."""
    found = [fact.text for fact in facts(*run(("pytest -q", output))) if fact.kind == "test"]
    assert found, "no status was seen"
    assert status in found[0]
    assert all(name in found[0] for name in names)


def test_the_newest_run_of_a_test_command_is_its_status(ledger_of: LedgerOf) -> None:
    """Each command has one status, and it is no longer failing once it passed."""
    ledger = ledger_of(
        *run(("pytest", "FAILED t.py::test_a - x\n=== 1 failed, 2 passed in 1s ==="),
             ("pytest", "=== 3 passed in 1s ==="), ("pytest -x", "=== 4 passed in 1s ==="))
    )  # fmt: skip
    assert [fact.text for fact in ledger.tests.values()] == [
        "`pytest`: 3 passed", "`pytest -x`: 4 passed",
    ]  # fmt: skip
    assert ledger.errors == {}


def test_directory_branch_and_commits_are_known(ledger_of: LedgerOf) -> None:
    """The newest directory and branch, and every commit."""
    ledger = ledger_of(
        *run(("cd /srv/app", ""), ("git checkout -b feat/one", ""),
             ("git commit -m 'first step'", ""), ("cd /srv/other && git switch main", ""),
             ("git commit -am 'second step'", ""))
    )  # fmt: skip
    assert ledger.directory is not None
    assert ledger.directory.text == "/srv/other"
    assert ledger.branch is not None
    assert ledger.branch.text == "main"
    assert [fact.text for fact in ledger.commits] == ["first step", "second step"]


def test_a_process_runs_until_it_is_stopped(ledger_of: LedgerOf) -> None:
    """By the id that the tool gave it, or never."""
    start = assistant(call("Bash", command="npm run dev", run_in_background=True))
    steps = [user("Go."), start, result("Command running in background with ID: b2ed671. See x.")]
    assert list(ledger_of(*steps).running) == ["npm run dev"]
    stop = [assistant(call("KillShell", shell_id="b2ed671")), result("stopped")]
    assert ledger_of(*steps, *stop).running == {}
    other = [assistant(call("KillShell", shell_id="ffff")), result("stopped")]
    assert list(ledger_of(*steps, *other).running) == ["npm run dev"]


def test_a_result_whose_call_is_lost_is_still_read(facts: Callable[..., list[Fact]]) -> None:
    """Its lines and its failure, under no command."""
    found = facts(
        user("Go."), result("Error: max_size exceeded\nvalue_x = 17", of="lost", is_error=True)
    )
    assert ("error", "Error: max_size exceeded") in [(fact.kind, fact.text) for fact in found]
    assert "line" in [fact.kind for fact in found]


def test_a_result_of_json_is_told_by_its_fields(facts: Callable[..., list[Fact]]) -> None:
    """One long line is split by field, each with its name."""
    body = '{"reservation_id": "ZFA04Y", "user": {"name": "mia_li_3668"}, "total": 1200}'
    found = facts(user("Look."), assistant(call("get_reservation", id="ZFA04Y")), result(body))
    told = {fact.text for fact in found if fact.kind == "field"}
    assert {"reservation_id: ZFA04Y", "name: mia_li_3668"} <= told
    assert all(fact.head.startswith("get_reservation") for fact in found if fact.kind == "field")
