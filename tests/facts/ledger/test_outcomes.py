"""Commands and how they ended: errors open and resolved, tests, processes, where things stand."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.testing.rows import each_row

from foldaway.facts.ledger import Fact, Ledger
from foldaway.facts.ledger.state import open_failures
from foldaway.testing import assistant, call, result, user

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


@pytest.mark.parametrize("note", ["", "\n\n[Tool loop warning: it has failed 3 times.]"])
def test_a_result_in_an_object_of_json_is_read_by_its_lines(
    facts: Callable[..., list[Fact]], note: str
) -> None:
    """As in Hermes, which may add a note after the object: it tells what the plain one tells."""
    printed = "ok disk\nTypeError: x is not a function, see /var/lock/kestrel_07.lck"
    wrapped = json.dumps({"output": printed, "exit_code": 1, "error": None}) + note
    told = facts(*run(("npm test", wrapped)))
    assert set(facts(*run(("npm test", f"{printed}\nexit code: 1")))) <= set(told)
    assert "TypeError: x is not a function, see /var/lock/kestrel_07.lck" in {
        one.text for one in told if one.kind == "error"
    }


def test_all_commands_are_counted_and_the_newest_kept(ledger_of: LedgerOf) -> None:
    """The count goes on where the list is full."""
    ledger = ledger_of(*run(*((f"echo {n}", "x") for n in range(300))))
    assert ledger.command_count == 300
    assert len(ledger.commands) < 300
    assert ledger.commands[-1].text == "`echo 299`"


def test_an_error_is_open_until_the_same_command_succeeds(ledger_of: LedgerOf) -> None:
    """Another command's success changes nothing."""
    failed = [("npm test", FAILED)]
    open_still = ledger_of(*run(*failed, ("npm run lint", PASSED)))
    assert [[fact.text for fact in rows] for rows in open_still.errors.values()] == [
        ["TypeError: x is not a function"]
    ]
    assert list(open_still.errors) == ["npm test"]
    resolved = ledger_of(*run(*failed, ("npm run lint", PASSED), ("npm test", PASSED)))
    assert resolved.errors == {}


def test_a_failure_is_open_until_the_agent_works_on_something_else(ledger_of: LedgerOf) -> None:
    """However much it reads first; and it does not come back because the work is long ago."""
    failed, looks = ("npm test", FAILED), [(f"cat src/m{n}.py", "x = 1") for n in range(220)]
    work = [(f"make m{n}", PASSED) for n in range(6)]

    def told(*rows: tuple[str, str]) -> list[str]:
        return [entry.text for entry in open_failures(ledger_of(*run(failed, *rows)), 1_000)]

    assert told(*looks[:26]) == ["`npm test`: TypeError: x is not a function"]
    assert told(*looks[:26], *work[:5]) == told()
    assert told(*work) == told(*work, *looks) == []


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
    refused = [user("Go."), assistant(edit), result("Error: the file is locked")]
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


@each_row(("output", "status", "names"), [
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


def test_where_a_call_says_that_a_command_runs_is_the_directory(ledger_of: LedgerOf) -> None:
    """The newest; a command that goes elsewhere for itself does not change it."""
    first = call("exec_command", cmd="ls", workdir="/srv/app")
    ledger = ledger_of(
        user("Go."), assistant(first), result("a.py"),
        assistant(call("exec_command", cmd="cd docs && make", workdir="/srv/app")), result("ok"),
    )  # fmt: skip
    assert ledger.directory is not None
    assert ledger.directory.text == "/srv/app"
    assert ledger.directory.source == "m4"


def test_a_file_that_a_tool_of_any_name_was_told_to_write_is_known(ledger_of: LedgerOf) -> None:
    """Unless it failed."""
    made = call("render_report", output_path="out/r.pdf")
    failed = call("render_report", output_path="out/s.pdf")
    ledger = ledger_of(
        user("Go."), assistant(made), result("done"), assistant(failed), result("Error: no font")
    )
    assert list(ledger.files) == ["out/r.pdf"]


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


def test_a_result_of_json_is_told_by_its_items(facts: Callable[..., list[Fact]]) -> None:
    """The order with its items on one line, each name beside its id."""
    body = ('{"order": "ZFA04Y", "user": {"name": "mia_li"}, "items": '
            '[{"name": "Sneakers", "id": "64"}, {"name": "Lamp", "id": "62"}]}')  # fmt: skip
    found = facts(user("Look."), assistant(call("get_order", id="ZFA04Y")), result(body))
    told = [fact.text for fact in found if fact.kind == "line"]
    assert told == ["ZFA04Y; user (mia_li); items: id: 64 Sneakers | id: 62 Lamp"]
    assert all(fact.head.startswith("get_order") for fact in found if fact.kind == "line")


def errors_in(ledger: Ledger) -> list[str]:
    return [fact.text for rows in ledger.errors.values() for fact in rows]


def found_missing(ledger: Ledger) -> list[str]:
    return [fact.text for fact in ledger.lines.values() if fact.worth]


@each_row(("command", "output", "line"), [
    ("go build ./... 2>&1 | head -50", "src/a.go:12:2: \"time\" imported and not used",
     "src/a.go:12:2: \"time\" imported and not used"),
    ("pnpm test", "ERR_PNPM_UNSUPPORTED_ENGINE Unsupported environment",
     "ERR_PNPM_UNSUPPORTED_ENGINE Unsupported environment"),
    ("timeout 8 make", "zsh:1: command not found: timeout", "zsh:1: command not found: timeout"),
    ("gh repo sync", "error connecting to api.example.org\nexit code 1",
     "error connecting to api.example.org"),
    ("cd src/x && make", "(eval):cd:1: no such file or directory: src/x\nexit code 1",
     "(eval):cd:1: no such file or directory: src/x"),
    ("which golangci-lint && golangci-lint run", "a/b.go:3:1: x is unused (unused)",
     "a/b.go:3:1: x is unused (unused)"),
])  # fmt: skip
def test_an_error_is_known_by_more_than_its_word(
    command: str, output: str, line: str, ledger_of: LedgerOf
) -> None:
    """A place in a file, a code, the words of a shell."""
    assert errors_in(ledger_of(*run((command, output)))) == [line]


def test_a_status_of_0_is_believed(ledger_of: LedgerOf) -> None:
    """What a run that went well prints of failures is no failure."""
    output = "Error: no route_x\nexit code 0"
    assert errors_in(ledger_of(*run(("make", output)))) == []


@pytest.mark.parametrize(
    "output",
    [
        "line one\nThe request was rejected: permission denied\n",
        "package a\n// Error: never_x\nfunc permission_denied() {}\n",
    ],
)
def test_what_is_read_may_be_about_refusals(output: str, ledger_of: LedgerOf) -> None:
    """Only the first line of a result can say that nothing was done."""
    for step in (call("Read", file_path="a.go"), call("bash", command="cat a.go")):
        ledger = ledger_of(user("Look."), assistant(step), result(output))
        assert ledger.errors == {}
        assert found_missing(ledger) == []
        assert ledger.files["a.go"].read == 1


def test_calls_that_begin_alike_are_not_the_same(ledger_of: LedgerOf) -> None:
    """The end of a long script counts too: the success of one is no success of the other."""
    script = "set -e\n" + "echo step_x\n" * 40
    ledger = ledger_of(*run((f"{script}make one", FAILED), (f"{script}make two", PASSED)))
    assert errors_in(ledger) == ["TypeError: x is not a function"]


def test_a_command_is_the_same_however_much_of_it_is_shown(ledger_of: LedgerOf) -> None:
    """What cuts the output is no part of it; what stands in quotes is."""
    ledger = ledger_of(*run(("go test ./a 2>&1 | head -20", FAILED), ("go test ./a", PASSED)))
    assert ledger.errors == {}
    ledger = ledger_of(*run(("go test ./a | tail -5 2>&1", FAILED), ("go test ./b", PASSED)))
    assert list(ledger.errors) == ["go test ./a"]


def running(session: int) -> str:
    return (
        f"Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID {session}\nOutput:\n"
    )


def test_what_still_runs_has_not_succeeded(ledger_of: LedgerOf) -> None:
    """An error stays open until the end is known, and the process is known to run till then."""
    start = [assistant(call("exec_command", cmd="make test")), result(running(4711))]
    ledger = ledger_of(*run(("make test", FAILED)), *start)
    assert errors_in(ledger) == ["TypeError: x is not a function"]
    assert list(ledger.running) == ["make test"]
    done = "Chunk ID: 2\nProcess exited with code 0\nOutput:\nok"
    poll = [assistant(call("write_stdin", session_id=4711, chars="")), result(done)]
    assert ledger_of(user("Go."), *start, *poll).running == {}


def test_polls_of_one_process_are_one_matter(facts: Callable[..., list[Fact]]) -> None:
    """Whatever else is asked of it: their errors have one key, and name the process."""
    failed = "Chunk ID: 2\nProcess exited with code 1\nOutput:\nError: no route_x"
    made = [call("write_stdin", session_id=4711, chars="", yield_time_ms=n) for n in (10, 20)]
    for step in made:
        found = facts(user("Go."), assistant(step), result(failed))
        told = [(fact.key, fact.was) for fact in found if fact.kind == "error"]
        assert told == [("write_stdin 4711", "4711")]


def test_what_the_user_aborted_was_not_done(ledger_of: LedgerOf) -> None:
    """It is told as a decision of the user's, in the words of the result."""
    ledger = ledger_of(
        user("Go."), assistant(call("exec_command", cmd="rm -f a_b.lock")),
        result("aborted by user after 21.0s"),
    )  # fmt: skip
    assert ledger.files == {}
    assert [fact.text for fact in ledger.decisions] == [
        "The user rejected `rm -f a_b.lock`: aborted by user after 21.0s"
    ]


@each_row("command", ["rm -f *.bak", "sed -i s/a/b/ src/*.go", "git checkout .",
                                     "rmdir old", "mv docs/*.md old/"])  # fmt: skip
def test_a_mask_or_a_folder_is_no_file(command: str, ledger_of: LedgerOf) -> None:
    """Which files it means is not written anywhere."""
    ledger = ledger_of(*run((command, "")))
    assert not [path for path, state in ledger.files.items() if state.is_touched]


@each_row(
    "said",
    [
        "Ran into [Errno 2] No such file or directory: '/w/a.py' while trying to write to /w/a.py",
        "Could not find the exact text in /w/a.py.",
        "Failed to write: the disk is full",
    ],
)
def test_a_tool_that_complains_at_once_did_nothing(ledger_of: LedgerOf, said: str) -> None:
    """An editor without a flag for failures tells them in its first words."""
    ledger = ledger_of(
        user("Write it."),
        assistant(call("str_replace_editor", command="create", path="/w/a.py", file_text="x = 1")),
        result(said),
    )
    assert not any(state.is_touched for state in ledger.files.values())
    assert [rows[0].text for rows in ledger.errors.values()] == [said]


def test_what_a_file_says_in_its_first_line_is_no_complaint(ledger_of: LedgerOf) -> None:
    """A look that begins with words of failure found them."""
    ledger = ledger_of(
        user("Read it."),
        assistant(call("read_file", path="notes.md")),
        result("Could not reproduce the crash on 3.12, see below."),
    )
    assert ledger.errors == {}


def test_an_edit_command_that_was_not_applied_changed_nothing(ledger_of: LedgerOf) -> None:
    """Where the editor is a command and says so, the file is as it was."""
    told = "Your proposed edit has introduced new syntax error(s). Please retry.\n\nERRORS:\n"
    ledger = ledger_of(
        user("Mend it."),
        assistant(call("shell", command="open src/chall.py")),
        result("[File: src/chall.py (2 lines total)]\n1:import string\n2:x = 1"),
        assistant(call("shell", command="edit 2:2\n    y = 2\nend_of_edit")),
        result(f"{told}- E999 IndentationError: unexpected indent"),
    )
    assert not any(state.is_touched for state in ledger.files.values())
