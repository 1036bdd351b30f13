"""The judge of statements, held against logs and records whose truth is known, both ways."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.lab.results import ScoreRow, pool_shares, statement_lines
from foldaway.lab.scoring.person_words import extract_person_words, person_words
from foldaway.lab.scoring.session import Message
from foldaway.lab.scoring.statements import judge
from foldaway.lab.scoring.steps import steps_of
from foldaway.lab.scoring.steps import test_outcome as outcome_of
from foldaway.lab.scoring.tally import STATEMENTS, StatementTally, StatementVerdict, tally
from foldaway.lab.scoring.truth import truth_at

_numbers = count()
FRAME = "[summary of older messages]\nBackground for the agent.\n\n"


def call(tool: str, answer: str | None = "ok", **arguments: Any) -> list[Message]:
    """Return a call with its result, or without one."""
    name = f"c{next(_numbers)}"
    function = {"name": tool, "arguments": json.dumps(arguments)}
    rows: list[Message] = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": name, "function": function}]}
    ]
    if answer is not None:
        rows.append({"role": "tool", "tool_call_id": name, "name": tool, "content": answer})
    return rows


def sh(command: str, answer: str = "") -> list[Message]:
    return call("Bash", answer, command=command)


def edit(path: str, old: str = "a", new: str = "b") -> list[Message]:
    return call("Edit", "updated", file_path=path, old_string=old, new_string=new)


def together(*commands: tuple[str, str]) -> list[Message]:
    """Return calls that were made in one message."""
    pairs = [sh(command, answer) for command, answer in commands]
    calls = [one for made, _ in pairs for one in made["tool_calls"]]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *(row for _, row in pairs)]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def agent(text: str) -> Message:
    return {"role": "assistant", "content": text}


def verdicts(
    log: Sequence[Message], record: str, kind: str, *, later: Sequence[Message] = (),
    tail: Sequence[Message] = (),
) -> tuple[list[bool | None], list[bool | None]]:  # fmt: skip
    """Return how the claims of a record are judged, and how what it should tell is."""
    view = [user(FRAME + record), *tail]
    found = judge(view, list(log), truth_at(log, later))
    mine = [row for row in found if row.kind == kind]
    return (
        [row.is_right for row in mine if row.is_claim],
        [row.is_right for row in mine if not row.is_claim],
    )


ASK = user("Please make the parser faster.")
FAILING = sh("go test ./...", "Exit code 1\n--- FAIL: TestParse (0.0s)\nFAIL\tpkg/parse 0.2s")
PASSING = sh("go test ./...", "ok  \tpkg/parse 0.2s")
VET = sh("go vet ./...", "Exit code 1\nparse.go:3:4: undefined: fastPath")


@pytest.mark.parametrize(
    ("log", "entry", "right"),
    [
        ([ASK, *FAILING], "`go test ./...`: --- FAIL: TestParse", True),
        ([ASK, *FAILING, *PASSING], "`go test ./...`: --- FAIL: TestParse", False),
        ([ASK, *VET], "`go vet ./...`: parse.go:3:4: undefined: fastPath", True),
        ([ASK, *VET, *sh("go vet ./a")], "`go vet ./...`: parse.go:3:4: undefined", False),
        ([ASK, *sh("rtk bun x", "Exit code 2\nerror: unrecognized subcommand 'x'")],
         "`rtk bun x`: error: unrecognized subcommand 'x'", False),
        ([ASK, *sh("cd src", "Exit code 1\ncd: src: No such file or directory")],
         "`cd src`: cd: src: No such file or directory", False),
        ([ASK, *sh("bun run test", "error: Item 3 failed on purpose\n1324 passed\n0 failed")],
         "`bun run test`: error: Item 3 failed on purpose", False),
        ([ASK, *VET, agent("Done."), user("Now write the docs.")],
         "`go vet ./...`: parse.go:3:4: undefined: fastPath", False),
        ([ASK, *VET, *(row for at in range(9) for row in edit(f"{at}.go"))],
         "`go vet ./...`: parse.go:3:4: undefined: fastPath", False),
        ([ASK, *PASSING], "`make release`: it broke badly", False),
        ([ASK, *call("shell", "TypeError: float given", command="python a.py")],
         "`python a.py`: TypeError: float given", True),
        ([ASK, *VET, *(row for at in range(9) for row in edit(f"{at}.go")), *VET],
         "`go vet ./...`: parse.go:3:4: undefined: fastPath", True),
        ([ASK, *sh("mise run lint | tail -3", "[lint:go] ERROR task failed")],
         "`mise run lint`: [lint:go] ERROR task failed", True),
        ([ASK, *sh("mise run lint | tail", "[lint] ERROR task failed"), *sh("mise run lint", "0")],
         "`mise run lint`: [lint] ERROR task failed", False),
        ([ASK, *sh("mise run lint", "Exit code 1\n[lint] ERROR failed"), *sh("mise run fmt", "0")],
         "`mise run lint`: [lint] ERROR failed", True),
        ([ASK, *sh("go test ./... | tail -1 && golint", "Exit code 1\nok  \tp 1s\nx.go:1:2: bad")],
         "`go test ./... | tail -1 && golint`: x.go:1:2: bad", True),
    ],
)  # fmt: skip
def test_a_blocker_must_be_open(log: list[Message], entry: str, right: bool) -> None:
    """Not settled by a later success, not mistyped, not a passing run, not left behind."""
    claims, _ = verdicts(log, f"## Blockers\n- {entry} [m3]", "blockers")
    assert claims == [right]


def test_a_failure_that_the_agent_returns_to_is_open_and_must_be_told() -> None:
    """What follows the cut decides: the agent runs it again, so it had not moved on."""
    edits = [row for at in range(9) for row in edit(f"{at}.go")]
    log, again = [ASK, *VET, *edits], sh("go vet ./...", "")
    told = "## Blockers\n- `go vet ./...`: parse.go:3:4: undefined: fastPath"
    assert verdicts(log, told, "blockers", later=again) == ([True], [True])
    assert verdicts(log, "## State\n- branch main", "blockers", later=again) == ([], [False])


@each_row(
    ("log", "entry", "claims", "truths"),
    [
        (PASSING, "`go test ./...`: passed", [True], [True]),
        (PASSING, "`go test ./...`: 1 failed", [False], [False]),
        (PASSING, "Tests: all green", [True], [True]),
        ([*PASSING, *FAILING], "Tests: all green", [False], [False]),
        ([*FAILING, *PASSING], "`go test ./...`: failed", [False], [False]),
        ([*PASSING, *sh("pytest -q", "3 failed, 9 passed in 1s")], "`go test ./...`: ok",
         [False], [False]),
        ([*PASSING, *sh("pytest -q", "3 failed, 9 passed in 1s")],
         "`go test ./...`: ok\n- `pytest -q`: 3 failed, 9 passed", [True, True], [True]),
        (sh("pytest -q", "3 failed, 9 passed in 1s"), "`pytest -q`: 4 failed", [False], [False]),
        ([*sh("go test ./a", "FAIL\ta 0.1s"), *PASSING], "`go test ./a`: failed\n- tests: ok",
         [False, True], [True]),
        ([*sh("go test ./a", "FAIL\ta 0.1s"), *sh("go test ./b", "ok  \tb 0.1s")],
         "`go test ./a`: failed\n- `go test ./b`: ok", [True, True], [True]),
        ([*sh("pytest tests/a", "9 passed in 1s"), *sh("pytest", "99 passed in 9s")],
         "`pytest tests/a`: 9 passed", [True], [True]),
        (sh("pytest -q | head -1", "collecting"), "`pytest -q`: passed", [None], []),
        ([], "`go test ./...`: passed", [False], []),
        ([*PASSING, *sh("go test ./b | wc", "9")], "`go test ./b | wc`: ok", [None], [False]),
        (PASSING, "branch main, 2 commits ahead", [], [False]),
        (PASSING, "`mise run lint`: failed", [], [False]),
        (PASSING, "Tests: none run since the last edit", [], [False]),
        ([*PASSING, *sh("go test ./slow", "Command running in background with ID: b2")],
         "`go test ./...`: passed", [True], [True]),
        (together(("go test ./a", "ok  \ta 1s"), ("go test ./b", "ok  \tb 1s")),
         "`go test ./a`: passed", [True], [True]),
    ],
)  # fmt: skip
def test_the_test_status_is_that_of_the_last_run(
    log: list[Message], entry: str, claims: list[bool | None], truths: list[bool | None]
) -> None:
    """An earlier run may be told too, if the last one is; numbers are those that it printed."""
    assert verdicts([ASK, *log], f"## Active state\n- {entry}", "tests") == (claims, truths)


def test_a_run_that_still_stands_in_the_view_is_told() -> None:
    """Its own call and result say it better than a record."""
    assert verdicts([ASK, *PASSING], "## Goal\n- speed", "tests", tail=PASSING) == ([], [True])


@each_row(
    ("command", "answer", "expected"),
    [
        ("mise run test && mise run lint", "Exit code 1\nok  \tpkg 1s\nx.go:1:2: bad", "unknown"),
        ("go test ./... 2>&1 | tail -3", "FAIL\tpkg 0.1s\nFAIL", "failed"),
        ("npm test", "Exit code 1\nERR! missing", "failed"),
        ("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored", "passed"),
        ("node --test", "# pass 3\n# fail 0", "passed"),
        ("env CI=1 timeout 60 uv run pytest tests", "2 passed in 0.1s", "passed"),
    ],
)
def test_the_outcome_of_a_run_is_that_of_the_tests(
    command: str, answer: str, expected: str
) -> None:
    """Not that of a command beside them, and not that of a pipe."""
    (step,) = steps_of(sh(command, answer))
    assert outcome_of(step) == expected


@each_row(
    ("after", "entry", "claims", "truths"),
    [
        (edit("src/a.go"), "Changed since that run: src/a.go", [True], [True]),
        (edit("src/a.go"), "none since the last edit", [True], [True]),
        (
            [*edit("b.go"), *edit("src/a.go")],
            "Tests: none since the last edit (src/a.go)",
            [True],
            [True],
        ),
        (edit("src/a.go"), "Nothing changed since.", [False], [False]),
        (edit("src/a.go"), "Changed since that run: src/b.go", [False], [False]),
        ([*edit("src/a.go"), *edit("b.go")], "Changed since: src/a.go", [False], [False]),
        ([*edit("src/a.go"), *edit("b.go")], "Changed since: a.go, b.go", [True], [True]),
        ([*edit("src/a.go"), *edit("b.go")], "Changed since: a.go and 1 more", [True], [True]),
        ([], "Nothing changed since that run.", [True], []),
        ([], "Edited since that run: a.go", [False], []),
        (edit("src/a.go"), "branch main", [], [False]),
    ],
)
def test_what_changed_since_the_last_run(
    after: list[Message], entry: str, claims: list[bool | None], truths: list[bool | None]
) -> None:
    """Edits before the run do not count; a list of files must be complete and right."""
    log = [ASK, *edit("old.go"), *PASSING, *after]
    assert verdicts(log, f"## State\n- {entry}", "changed since") == (claims, truths)


def test_an_edit_while_the_tests_run_is_one_after_their_start() -> None:
    """The run that is heard of later has not seen it."""
    started = call("exec_command", "Process running with session ID 5", cmd="go test ./...")
    ended = call("write_stdin", "Process exited with code 0\nok  \tp 1s", session_id=5)
    log = [ASK, *started, *edit("src/a.go"), *ended]
    record = "## State\n- `go test ./...`: passed; nothing changed since"
    assert verdicts(log, record, "changed since") == ([False], [False])


STARTED = sh("make build-all", "Command running in background with ID: b81f. Output is in /t/b81f")
ENDED = user("<task-notification>\n<task-id>b81f</task-id>\n<status>completed</status>")


@each_row(
    ("log", "claims", "truths"),
    [
        (STARTED, [True], [True]),
        ([*STARTED, ENDED], [False], []),
        ([*STARTED, *call("KillShell", "Successfully killed shell: b81f", shell_id="b81f")],
         [False], []),
        ([*STARTED, *call("TaskOutput", "<status>completed</status><exit_code>0</exit_code>",
                          task_id="b81f")], [False], []),
        ([*STARTED, *call("TaskOutput", "<status>running</status>", task_id="b81f")],
         [True], [True]),
        (sh("make build-all", "built"), [False], []),
        ([*STARTED, *sh("make build", "Command running in background with ID: c9"),
          *call("KillShell", "Successfully killed shell: c9", shell_id="c9")], [True], [True]),
    ],
)  # fmt: skip
def test_a_job_runs_until_something_says_that_it_ended(
    log: list[Message], claims: list[bool | None], truths: list[bool | None]
) -> None:
    """A notice, a kill or a result that was read ends it."""
    record = "## Active state\n- running: `make build-all`"
    assert verdicts([ASK, *log], record, "running") == (claims, truths)
    silent = "## Active state\n- branch main"
    assert verdicts([ASK, *log], silent, "running") == ([], [False] * len(truths))


def test_a_polled_job_that_nobody_asks_about_is_not_known_to_run() -> None:
    """Codex tells no end: after many steps only what lasts by its nature may be said to run."""
    answer = "Process running with session ID 77"
    steps = [row for at in range(12) for row in sh(f"ls {at}", "x")]
    for command, right in (("go mod tidy", False), ("npm run dev", True)):
        log = [ASK, *call("exec_command", answer, cmd=command), *steps]
        claims, _ = verdicts(log, f"## State\n- running: `{command}`", "running")
        assert claims == [right]


@each_row(
    "text",
    [
        "Base directory for this skill: /s\n\n# Ship\nCommit and push.",
        "[Request interrupted by user for tool use]",
        "<task-notification>\n<task-id>1</task-id>\n<status>completed</status>\n</task-notification>",
        "<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>",
        "<system-reminder>\nNever mention this.\n</system-reminder>",
        "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>",
        "Operation stopped by hook: another session is active",
        "Stop hook feedback:\n- run the linter",
        "This session is being continued from a previous conversation that ran out of context.",
        "[console]\nTokens: 9k sent, 1k received.",
        "<returncode>0</returncode>\n<output>\nok\n</output>",
        "/diff\n\n/ex",
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>",
        "<local-command-stdout>Bye!</local-command-stdout>",
        "<subagent_notification>\n{\"status\": \"completed\"}\n</subagent_notification>",
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
    ],
)  # fmt: skip
def test_what_a_host_puts_in_is_not_a_persons(text: str) -> None:
    """By its shape alone; the request before it stays the newest, and must be live."""
    assert person_words(text) == ""
    log = [ASK, agent("On it."), user(text)]
    assert [said.at for said in extract_person_words(log)] == [0]
    folded = "## Historical task snapshot\n- The user wrote: Please make the parser faster."
    assert verdicts(log, folded, "request", tail=[user(text)]) == ([], [False])
    assert verdicts(log, folded, "request", tail=[ASK, user(text)]) == ([], [True])


@each_row(
    ("record", "tail", "claims", "truths"),
    [
        ("## Current request\n- Please make the parser faster.", [], [True], [True]),
        ("## Current request\n- The user: “Please make the parser faster.”", [], [True], [True]),
        ("## Current request\n- Please make the pars…", [], [True], [False]),
        ("## State\n- branch main\n\n## Current request\n- Please make the parser faster.", [],
         [True], [False]),
        ("## Historical task snapshot\n- Please make the parser faster.", [], [], [False]),
        ("## Current request\n- Commit and push everything.", [], [False], [False]),
        ("## Current request\n- Look at the repository first.", [ASK], [False], [True]),
        ("## Current request\n> Please make\n> the parser faster.", [], [True], [True]),
        ("## Current request\n```\nPlease make the parser faster.\n```", [], [True], [True]),
        ("## Goal\n- speed", [ASK], [], [True]),
        ("## Goal\n- speed", [user("Please make the pars… [cut]")], [], [False]),
    ],
)  # fmt: skip
def test_the_newest_request_is_live_and_whole(
    record: str, tail: list[Message], claims: list[bool | None], truths: list[bool | None]
) -> None:
    """A message of the person, or first in the record under a live heading; never background."""
    log = [user("Look at the repository first."), agent("I did."), ASK]
    assert verdicts(log, record, "request", tail=tail) == (claims, truths)


def test_a_short_request_inside_other_text_is_not_live() -> None:
    """A host's text may hold the same word; a person's words may stand in two parts."""
    log = [ASK, agent("Shall I?"), user("yes")]
    host = user("Base directory for this skill: /s\nAnswer yes or no.")
    assert verdicts(log, "## Goal\n- speed", "request", tail=[host])[1] == [False]
    assert verdicts(log, "## Goal\n- speed", "request", tail=[user("yes"), host])[1] == [True]
    parts = [{"type": "text", "text": "go on"}, {"type": "text", "text": "with both"}]
    spoken = {"role": "user", "content": parts}
    assert verdicts([*log, spoken], "## Goal\n- x", "request", tail=[spoken])[1] == [True]


def test_a_command_lives_in_its_text() -> None:
    """If the person typed nothing else, the text that the command stands for is the request."""
    typed = user("<command-message>pr</command-message>\n<command-name>/pr</command-name>")
    body = user("Generate a PR title.")
    for tail, live in (([body], True), ([typed], True), ([user("Generate a…")], False)):
        assert verdicts([typed, body], "## Goal\n- x", "request", tail=tail)[1] == [live]


def test_a_request_after_the_record_in_one_message_is_live() -> None:
    """Some hosts allow no two user messages in a row, so the record is put before the words."""
    view = [user(f"{FRAME}## Goal\n- speed\n[end]\n{ASK['content']}")]
    log = [ASK, agent("Working.")]
    (found,) = judge(view, log, truth_at(log, []))
    assert (found.kind, found.is_right) == ("request", True)


def test_files_are_complete_and_right() -> None:
    """A file that was not changed is a wrong claim; one that is not shown is lost."""
    log = [ASK, *edit("src/a.go"), *edit("src/b.go"), *call("Read", "x", file_path="src/c.go")]
    record = "## Relevant files\n- src/a.go: changed\n- src/c.go: changed"
    assert verdicts(log, record, "files") == ([True, False], [True, False])
    assert verdicts(log, record, "files", tail=edit("src/b.go"))[1] == [True, True]


READ = call(
    "Read", "     1→package parse\n     2→func slow(text string) {\n     3→}", file_path="p.go"
)
SWAP = edit("p.go", "func slow(text string) {", "func fast(text string) {")


@each_row(
    ("log", "entry", "claims"),
    [
        (READ, "p.go:1-3\n  func slow(text string) {", [True]),
        ([*READ, *SWAP], "p.go:1-3\n  func slow(text string) {", [False]),
        ([*READ, *SWAP], "p.go:1-3\n  func fast(text string) {", [True]),
        ([*READ, *SWAP], "p.go:1-3, before the edit\n  func slow(text string) {", [True]),
        ([*READ, *SWAP], "Read p.go: func slow(text string) {", [False]),
        ([*READ, *SWAP], "grep:\n  p.go:2:func slow(text string) {", [False]),
        ([*READ, *SWAP, *edit("p.go", "func fast(text string) {", "func slow(text string) {")],
         "p.go:1-3\n  func slow(text string) {", [True]),
        ([*READ, *call("Write", "ok", file_path="p.go", content="package parse\n")],
         "p.go:1-3\n  func slow(text string) {", [False]),
        ([*READ, *sh("git checkout main -- p.go")], "p.go:1-3\n  func slow(text string) {", []),
        ([*READ, *call("apply_patch", "ok", input="*** Begin Patch\n*** Update File: p.go\n@@\n"
                       "-func slow(text string) {\n+func quick(text string) {\n*** End Patch")],
         "p.go:1-3\n  func slow(text string) {\n  func quick(text string) {", [False, True]),
        ([*READ, *SWAP], "other.go:1\n  func slow(text string) {", []),
        ([*READ, *call("Edit", None, file_path="p.go", old_string="func slow(text string) {")],
         "p.go:1-3\n  func slow(text string) {", [True]),
    ],
)  # fmt: skip
def test_quoted_code_still_stands_in_its_file(
    log: list[Message], entry: str, claims: list[bool | None]
) -> None:
    """What was edited away is wrong unless it says so; what the log cannot tell is not judged."""
    assert verdicts([ASK, *log], f"## Critical context\n- {entry}", "quotes")[0] == claims


@each_row(
    ("said", "entry", "right"),
    [
        ("The full schema should not be updated ever.", "The full schema should not be", True),
        ("Only use tabs.\nThanks!", "From the user: Only use tabs.", True),
        ("I'm willing to pay up to $100 for the change.", "I'm willing to pay up to $100", True),
        ("Could you share the tracking number?", "Could you share the tracking number?", False),
        ("Thank you for helping, I just want to get this sorted.", "Thank you for helping", False),
        ("I don't have my user id right now.", "I don't have my user id right now.", False),
        ("I don't have it handy, and only EWR will do.", "I don't have it handy, and only", True),
        ("Could you book economy, not basic?", "Could you book economy, not basic?", None),
        ("Fine.", "Always use full URLs in the changelog.", False),
    ],
)
def test_a_constraint_is_a_persons(said: str, entry: str, right: bool | None) -> None:
    """Their words, no question, no small talk; nobody else's."""
    skill = user("Base directory for this skill: /s\n\nAlways use full URLs in the changelog.")
    log = [user(said), agent("Yes."), skill]
    (claims, _) = verdicts(log, f"## Constraints\n- {entry}", "constraints")
    assert claims == [right]


def test_a_rules_file_constrains_and_a_lost_rule_counts() -> None:
    """What AGENTS.md says may be quoted; what a person forbade must be told."""
    rules = call("Read", "Never push to main without a review.", file_path="/w/AGENTS.md")
    log = [user("Never touch the migrations."), *rules]
    record = "## Constraints\n- Never push to main without a review."
    assert verdicts(log, record, "constraints") == ([True], [False])
    record = "## Constraints\n- Never touch the migrations."
    assert verdicts(log, record, "constraints") == ([True], [True])


ORDER = call("get_order", json.dumps({"items": [
    {"item_id": "6200867091", "name": "Espresso Machine", "price": 2955.17},
    {"item_id": "6477915553", "name": "Sneakers", "price": 186.45},
]}))  # fmt: skip
RETURN = call("return_item", item_id="6477915553")


@each_row(
    ("line", "claims", "truths"),
    [
        ("- Sneakers 6477915553, 186.45", [], [True]),
        ("- Espresso Machine 6200867091; Sneakers 6477915553", [True, True], [True]),
        ("- Espresso Machine (6200867091), Sneakers (6477915553)", [True, True], [True]),
        ("- item_id: 6200867091, 6477915553; name: Espresso Machine, Sneakers",
         [False, False], [False]),
        ("- item_id: 6200867091, 6477915553", [], [False]),
        ("- Sneakers", [], [False]),
        ("- Espresso Machine 6477915553", [], [False]),
        ("- item 6477915553:\n  - name: Sneakers\n  - price: 186.45", [], [True]),
        ("- Sneakers\n  - price: 186.45\n  - id: 6477915553", [], [True]),
        ("- items\n  6477915553, 6200867091\n  Sneakers, Espresso Machine", [], [False]),
    ],
)  # fmt: skip
def test_an_id_is_kept_only_with_its_own_name(
    line: str, claims: list[bool | None], truths: list[bool | None]
) -> None:
    """In one line or row of it; parallel lists cannot be told apart."""
    record = f"## Critical context\n{line}"
    assert verdicts([ASK, *ORDER], record, "ids", later=RETURN) == (claims, truths)


def test_names_inside_an_object_are_not_those_of_another() -> None:
    """A trip may be told with the places of its flights; the only trip needs no name."""
    legs = [{"leg_id": "HAT050", "origin": "LAX"}, {"leg_id": "HAT228", "origin": "EWR"}]
    trips = [{"trip_id": "MZDDS4", "origin": "MIA", "legs": legs}]
    record = "## Critical context\n- trip_id: MZDDS4; origin: MIA, LAX, EWR; HAT050, HAT228"
    for more, bare in (([], True), ([{"trip_id": "60RX9E", "origin": "MSP"}], False)):
        log = [ASK, *call("get_trips", json.dumps([*trips, *more]))]
        assert verdicts(log, record, "ids", later=[agent("MZDDS4")])[1] == [True]
        assert verdicts(log, record, "ids", later=[agent("HAT050")])[1] == [False]
        short = "## Critical context\n- MZDDS4"
        assert verdicts(log, short, "ids", later=[agent("MZDDS4")])[1] == [bare]


def test_an_id_in_a_result_that_is_left_whole_is_kept() -> None:
    """Its object holds the name; an id that the user brings again is not needed."""
    assert verdicts([ASK, *ORDER], "", "ids", later=RETURN, tail=ORDER) == ([], [True])
    again = [user("Return 6477915553."), *RETURN]
    assert verdicts([ASK, *ORDER], "", "ids", later=again) == ([], [])


def test_nothing_open_is_not_a_blocker() -> None:
    """A section that says so claims nothing."""
    assert verdicts([ASK], "## Blockers\n- No open failures.", "blockers") == ([], [])


def test_a_view_that_keeps_everything_tells_everything() -> None:
    """The log itself has a recall of 1, and claims nothing."""
    log = [user("Never touch the migrations."), *READ, *ORDER, *PASSING, *SWAP, *STARTED, *VET]
    found = judge(log, log, truth_at(log, [*RETURN, *VET]))
    assert {row.kind for row in found} == set(STATEMENTS) - {"quotes"}
    assert all(row.is_right and not row.is_claim for row in found)


def test_counts_are_pooled_and_drawn_by_session() -> None:
    """What cannot be told does not count; one large session weighs by its claims."""
    rows = [StatementVerdict("tests", True, right, "") for right in (True, False, None)]
    assert tally([*rows, StatementVerdict("tests", False, True, "")]) == {
        "tests": StatementTally(1, 2, 1, 1)
    }
    made = [
        ScoreRow(part="cut", session=name, family="f", strategy="s", cut=1, budget=0.2,
                 statements={"tests": StatementTally(right, claimed, 0, 0)})
        for name, right, claimed in (("a", 9, 10), ("b", 0, 2), ("c", 4, 4))
    ]  # fmt: skip
    line = statement_lines(made)["tests"]
    assert line.recall is None
    assert line.precision is not None
    assert (line.precision.part, line.precision.whole) == (13, 16)
    assert line.precision.low < 13 / 16 < line.precision.high
    assert pool_shares([(0, 0)]) is None


@given(st.text(alphabet="#-* `:;,.ab\n[]m1<>/", max_size=300))
def test_no_record_breaks_the_judge(text: str) -> None:
    """Whatever the text, verdicts come back."""
    log = [ASK, *READ, *SWAP, *PASSING]
    view = [
        user(f"{FRAME}## Blockers\n{text}\n## Files\n{text}\n## State\n{text}\n## Code\n{text}")
    ]
    assert judge(view, log, truth_at(log, [])) is not None
