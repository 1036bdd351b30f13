"""What a note says of how things stand must agree with the ledger; the ledger's line is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway.compaction.compact import Plan
from foldaway.facts.summary import Entry, Section, Summary
from foldaway.summarizers.gate.check import Checked, check
from foldaway.summarizers.gate.evidence import evidence_of
from foldaway.summarizers.material import material_of
from foldaway.testing import assistant, call, result, talk, user
from foldaway.testing.builder import Step

Planned = Callable[..., Plan]
PASSED = "====== 12 passed in 0.31s ======"
FAILED = "FAILED tests/test_auth.py::test_redirect - assert 500 == 302\n=== 1 failed, 11 passed ==="


def ran(output: str, command: str = "pytest -q tests") -> list[Step]:
    is_error = " failed" in output or "rror" in output
    return [assistant(call("bash", command=command)), result(output, is_error=is_error)]


def checked(planned: Planned, steps: list[Step], **sections: Any) -> Checked:
    log = talk(
        user("Fix the redirect in src/auth.py."),
        assistant(call("edit_file", path="src/auth.py", old="a_1", new="b_2")), result("ok"),
        assistant(call("read_file", path="src/web.py")), result("routes = 3"), *steps,
        assistant("The redirect was looked at."), user("Go on."),
    ).messages  # fmt: skip
    rows: dict[Section, tuple[Entry, ...]] = {
        name: tuple(Entry(*([row] if isinstance(row, str) else row)) for row in given)
        for name, given in {"critical": ["It went on."], **sections}.items()  # type: ignore[misc]
    }
    return check(Summary(rows, "model"), evidence_of(material_of(planned(log))))


def told(made: Checked, section: Section) -> list[str]:
    return [row.text for row in made.summary.sections.get(section, ())]


@each_row(("output", "section", "text", "stays"), [
    (FAILED, "completed", "All tests pass after the change.", False),
    (FAILED, "in_progress", "The suite is green.", False),
    (FAILED, "in_progress", "One test fails.", True),
    (FAILED, "remaining", "The tests do not pass yet.", True),
    (FAILED, "remaining", "The work is over as soon as all tests pass.", True),
    (FAILED, "decisions", "No tests failed.", False),
    (FAILED, "completed", "Alle Tests bestanden.", False),
    (PASSED, "completed", "All tests pass after the change.", True),
    (PASSED, "completed", "Fixed the failing test of the redirect.", True),
    (PASSED, "in_progress", "The tests are failing.", False),
    (PASSED, "blocked", "The test of the redirect fails.", False),
    (PASSED, "state", "No tests failed.", True),
    (PASSED, "decisions", "The latest passage was broken up.", True),
])  # fmt: skip
def test_tests_ended_as_the_last_run_did(
    planned: Planned, output: str, section: Section, text: str, stays: bool
) -> None:
    """What was mended, and an end to reach, are no claims about the last run."""
    made = checked(planned, ran(output), **{section: [text]})
    assert (told(made, section) == [text], made.contradicted == 0) == (stays, stays)


def test_an_older_run_may_be_told_with_its_source(planned: Planned) -> None:
    """As history, and not as how things stand."""
    row = ("All 12 tests passed with pytest.", "m6")
    made = checked(planned, [*ran(PASSED), *ran(FAILED)], completed=[row], in_progress=[row])
    assert told(made, "completed") == [row[0]]
    assert told(made, "in_progress") == []


@pytest.mark.parametrize(("steps", "stays"), [
    (ran("ConnectionError: no route to db_host", "python migrate.py"), True),
    ([*ran("ConnectionError: no route to db_host", "python migrate.py"),
      *ran("migrated", "python migrate.py")], False),
])  # fmt: skip
def test_only_what_is_open_stands_in_the_way(
    planned: Planned, steps: list[Step], stays: bool
) -> None:
    """A failure that a later call mended is none."""
    text = "The migration has no route to db_host."
    made = checked(planned, steps, blocked=[(text, "m6")])
    assert (told(made, "blocked") == [text]) == stays
    assert (made.contradicted == 0) == stays


def test_a_process_runs_if_the_ledger_knows_it(planned: Planned) -> None:
    """And an activity is no process."""
    rows = ["The dev server is still running in the background.", "Running through the routes."]
    assert told(checked(planned, [], in_progress=rows), "in_progress") == rows[1:]
    started = [
        assistant(call("bash", command="npm run dev server", run_in_background=True)),
        result("Command running in background with ID: b12"),
    ]
    assert told(checked(planned, started, in_progress=rows), "in_progress") == rows


@each_row(("section", "text", "stays"), [
    ("files", "src/auth.py: changed for the redirect", True),
    ("files", "src/auth.py: deleted", False),
    ("files", "src/web.py: the routes", True),
    ("files", "src/web.py: updated the routes", False),
    ("completed", "Rewrote auth.py for the redirect.", True),
    ("completed", "Modified src/web.py for the redirect.", False),
    ("completed", "Read src/web.py for the redirect.", True),
])  # fmt: skip
def test_only_files_that_were_changed_are_told_as_changed(
    planned: Planned, section: Section, text: str, stays: bool
) -> None:
    """By the calls of the log."""
    made = checked(planned, [], **{section: [text]})
    assert (told(made, section) == [text], made.contradicted == 0) == (stays, stays)


def test_branch_and_push_are_those_of_the_ledger(planned: Planned) -> None:
    """A state line about them has the ledger's value, or is left out."""
    steps = [*ran("Switched to a new branch 'fix-redirect'", "git checkout -b fix-redirect"),
             *ran("[fix-redirect 1a2b3c4] Fix it", "git commit -am 'Fix it'")]  # fmt: skip
    rows = ["The branch is fix-redirect.", "It is on branch main.", "The commit was pushed.",
            "The commit is not pushed."]  # fmt: skip
    made = checked(planned, steps, state=rows)
    assert told(made, "state") == [rows[0], rows[3]]
    assert made.contradicted == 2
