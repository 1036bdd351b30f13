"""What a compaction asks of a log, found when it is asked for."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from tests.testing.rows import each_row
from tests.testing.strategies import logs

from foldaway._core.policy import Policy
from foldaway.compaction.work import FrozenLog
from foldaway.facts.ledger import Fact, Ledger, update
from foldaway.facts.ledger.take import facts_of
from foldaway.facts.reading import FactReader, LogReading, answered_calls, cleaned, cleaned_call
from foldaway.redaction import Redactor
from foldaway.testing import assistant, call, result, talk, user
from foldaway.transcript import Estimator, Message, Text, ToolCall, ToolResult, whole_view

SECRET = "hush-4f9a2c"
KEY = "\n".join([
    "-----BEGIN RSA PRIVATE KEY-----",
    *(f"MIIEow{n:02}/AKCAQEA0x7+qq1{n}Zab/cDEF9876543210abcdefGHIJ{n:02}" for n in range(12)),
    "-----END RSA PRIVATE KEY-----",
])  # fmt: skip


def masked(text: str) -> str:
    return text.replace(SECRET, "***")


def index_of(log: tuple[Message, ...], readings: LogReading | None = None) -> FrozenLog:
    return FrozenLog(log, whole_view(len(log)), readings or LogReading(Estimator(), Policy()))


@given(log=logs())
def test_the_facts_of_a_log_are_those_of_its_messages(log: tuple[Message, ...]) -> None:
    """In order, whatever stretches are asked for, and the same when asked again."""
    index, calls = index_of(log), answered_calls(log)
    every = index.facts(0, len(log))
    assert every == [
        fact for at, message in enumerate(log) for fact in facts_of(message, calls.get(at, {}))
    ]
    for cut in range(len(log) + 1):
        assert [*index.facts(0, cut), *index.facts(cut, len(log))] == every


def long_log() -> tuple[Message, ...]:
    """More text than every line is read of: an old half and a new half."""
    filler = "plain words here\n" * 5_000
    rows: list[Message | ToolResult] = [user("Old ask: never use ftp_x.")]
    for n in range(20):
        made = call("bash", command=f"run_{n}")
        output = f"line_{n} = {n}00\n{filler}\nError: boom_{n}\nexit code 1"
        rows += [assistant(f"I'll use tool_{n} because it works.", made), result(output)]
    return talk(*rows).messages


def test_of_a_very_long_log_only_the_newest_lines_are_read() -> None:
    """Asks, rules, commands and errors of all of it; lines and decisions of the newest part."""
    found = index_of(log := long_log()).facts(0, len(long_log()))
    lines = {fact.text for fact in found if fact.kind == "line"}
    assert "line_19 = 1900" in lines
    assert "line_0 = 000" not in lines
    commands = [fact.text for fact in found if fact.kind == "command"]
    assert commands == [f"`run_{n}` -> exit 1" for n in range(20)]
    errors = {fact.text for fact in found if fact.kind == "error"}
    assert {"Error: boom_0", "Error: boom_19"} <= errors
    assert [fact.kind for fact in found[:2]] == ["ask", "constraint"]
    assert [fact.at for fact in found] == sorted(fact.at for fact in found)
    assert len(log) == 41


def test_of_many_messages_of_a_tail_only_the_newest_lines_are_read() -> None:
    """What the others did and what went wrong is told; a single long one is read."""
    log = long_log()
    found = index_of(log).facts_at(range(len(log)))
    lines = {fact.text for fact in found if fact.kind == "line"}
    assert "line_19 = 1900" in lines
    assert "line_0 = 000" not in lines
    assert [fact.text for fact in found if fact.kind == "command"] == [
        f"`run_{n}` -> exit 1" for n in range(20)
    ]
    assert "constraint" in {fact.kind for fact in found}
    one = talk(user("Go."), assistant(call("bash", command="x")), result("value_1 = 2\n" * 7_000))
    assert "line" in {fact.kind for fact in index_of(one.messages).facts_at((2,))}


def test_for_a_large_size_more_of_the_log_is_read_line_by_line() -> None:
    """What is asked for may have room for more than the newest part tells."""
    log = long_log()
    readings = LogReading(Estimator(), Policy())
    found = FrozenLog(log, whole_view(len(log)), readings, 400_000).facts(0, len(log))
    assert "line_0 = 000" in {fact.text for fact in found if fact.kind == "line"}


def test_rules_that_newer_ones_would_push_out_make_no_difference() -> None:
    """They are not looked for; the ledger is that of every fact of every message."""
    asks = [user(f"Always use tool_{n % 700}.") for n in range(1_500)]
    rows = [row for ask in asks for row in (ask, assistant("Done."))]
    log = talk(*rows, assistant(call("bash", command="cat big")), result("a b\n" * 70_000)).messages
    index = index_of(log)
    found = index.facts(0, len(log))
    every = [fact for message in log[:-2] for fact in facts_of(message, {}, lines=False)]
    every += index.facts(len(log) - 2, len(log))
    assert sum(fact.kind == "constraint" for fact in found) < 1_500
    assert msgspec.json.encode(update(Ledger(), found)) == msgspec.json.encode(
        update(Ledger(), every)
    )


def changes(n: int) -> tuple[ToolCall, str]:
    """Return the call and the output of one of many edits."""
    change = {"path": f"src/m{n % 7}.py", "old_string": f"old_name_{n} = 1", "new_string": "x"}
    return call("patch", **change), "ok"


def deploys(n: int) -> tuple[ToolCall, str]:
    """Return the call and the output of one of many commands; every third failed."""
    return call("bash", command=f"./deploy.sh host_{n}"), f"done_{n}\nexit code {n % 3 == 0:d}"


def checks(n: int) -> tuple[ToolCall, str]:
    """Return the call and the output of one of many test runs; each comes again and again."""
    return call("bash", command=f"pytest tests/test_{n % 7}.py"), f"exit code {n % 5 == 0:d}"


@each_row("one", [changes, deploys, checks])
def test_what_newer_ones_would_push_out_makes_no_difference(
    one: Callable[[int], tuple[ToolCall, str]],
) -> None:
    """Of edits, commands and test runs: the ledger is that of every fact of every message."""
    rows: list[Message | ToolResult] = [user("Do them all.")]
    for made, output in map(one, range(260)):
        rows += [assistant(made), result(output)]
    log = talk(*rows, assistant(call("bash", command="cat big")), result("a b\n" * 70_000)).messages
    index, calls = index_of(log), answered_calls(log)
    found = index.facts(0, len(log))
    every = [fact for at in range(len(log) - 2)
             for fact in facts_of(log[at], calls.get(at, {}), lines=False)]  # fmt: skip
    every += index.facts(len(log) - 2, len(log))
    assert len(msgspec.json.encode(found)) < len(msgspec.json.encode(every))
    assert msgspec.json.encode(update(Ledger(), found)) == msgspec.json.encode(
        update(Ledger(), every)
    )


def test_a_password_that_an_old_edit_wrote_is_hidden() -> None:
    """Of an edit single names are told, and a password alone is nothing that a redactor knows."""
    change = {"path": "src/settings.py", "old_string": "DB_HOST = 'local_main'",
              "new_string": "DB_PASSWORD = 'tr0ub4dor_and_3xtra'"}  # fmt: skip
    log = talk(
        user("Set it up."), assistant(call("patch", **change)), result("ok"),
        assistant(call("bash", command="cat big")), result("a b\n" * 70_000),
    ).messages  # fmt: skip
    readings = LogReading(Estimator(), Policy(), Redactor())
    found = index_of(log, readings).facts(0, len(log))
    assert "edit" in {fact.kind for fact in found if fact.at < 3}
    assert "tr0ub4dor" not in msgspec.json.encode(found).decode()


@given(log=logs())
def test_the_facts_of_some_messages_are_those_of_each(log: tuple[Message, ...]) -> None:
    """For whichever messages, in order, also where secrets are looked for in all at once."""
    calls, some = answered_calls(log), range(0, len(log), 2)
    every = [fact for at in some for fact in facts_of(log[at], calls.get(at, {}))]
    assert index_of(log).facts_at(some) == every
    assert index_of(log, LogReading(Estimator(), Policy(), masked)).facts_at(some) == every


@given(log=logs())
def test_deeds_are_the_facts_of_messages_beside_lines_and_rules(log: tuple[Message, ...]) -> None:
    """For whichever messages, in order."""
    index, calls = index_of(log), answered_calls(log)
    some = range(0, len(log), 2)
    assert index.deeds(some) == [
        fact
        for at in some
        for fact in facts_of(log[at], calls.get(at, {}), lines=False, rules=False)
    ]


def test_facts_hold_no_secret_in_either_part_of_a_long_log() -> None:
    """Also those that are found without reading every line: commands, paths, targets, errors."""
    filler = result("plain words here\n" * 100_000)
    old = (
        user(f"Use {SECRET}."), assistant(call("bash", command=f"mv a_{SECRET} b_{SECRET}")),
        result("Error: x"), assistant(call("bash", command="mv plain.txt " + SECRET)), result("ok"),
        assistant(call("move_file", source="x.py", destination=f"{SECRET}.py")), result("ok"),
        assistant(call("Bash", command="git commit -m " + SECRET)), result("ok"),
    )  # fmt: skip
    log = talk(*old, assistant(call("bash", command="cat big")), filler, *old).messages
    readings = LogReading(Estimator(), Policy(), masked)
    ledger = update(Ledger(), index_of(log, readings).facts(0, len(log)))
    assert SECRET not in msgspec.json.encode(ledger).decode()
    assert "***" in msgspec.json.encode(ledger).decode()


def test_a_secret_in_the_target_of_a_rename_alone_is_hidden() -> None:
    """Nothing else of such a call names it; also in the part whose lines are not read."""
    old = (
        user("Go."), assistant(call("move_file", source="x.py", destination=f"{SECRET}.py")),
        result("ok"),
    )  # fmt: skip
    filler = result("plain words here\n" * 100_000)
    log = talk(*old, assistant(call("bash", command="cat big")), filler, user("Next.")).messages
    readings = LogReading(Estimator(), Policy(), lambda text: text.replace(SECRET, "[hidden]"))
    ledger = update(Ledger(), index_of(log, readings).facts(0, len(log)))
    assert next(iter(ledger.files)) == "[hidden].py"


@each_row("at", ["result", "argument", "words", "ask"])
def test_a_secret_of_many_lines_is_hidden_line_by_line(at: str) -> None:
    """What makes it one may stand lines away: a key is hidden before it is cut into lines."""
    made = call("Write", file_path="id.pem", content=KEY if at == "argument" else "x")
    log = talk(
        user(f"Store this:\n{KEY}" if at == "ask" else "Go."),
        assistant(f"Here it is:\n{KEY}" if at == "words" else "Fine.", made),
        result(f"$ cat id.pem\n{KEY}\n" if at == "result" else "ok"),
    ).messages
    index = index_of(log, LogReading(Estimator(), Policy(), Redactor()))
    told = msgspec.json.encode(update(Ledger(), index.facts(0, len(log)))).decode()
    assert not any(line in told for line in KEY.split("\n")[1:-1])


PASSWORD = "R4tq8ZbW2mKx7LpV9sYc3NdG6hJf1TeA5uQo"
GIVEN = (f"ghp_{PASSWORD}", f"password={PASSWORD}", f"postgres://admin:{PASSWORD}@db/app",
         f"Authorization: Bearer {PASSWORD}{PASSWORD}")  # fmt: skip


def shows_a_piece(text: str) -> bool:
    return any(PASSWORD[at : at + 8] in text for at in range(len(PASSWORD) - 7))


@pytest.mark.parametrize(
    "given", [GIVEN[0], *(pytest.param(one, marks=pytest.mark.soak) for one in GIVEN[1:])]
)
def test_no_fact_of_the_older_part_shows_a_piece_of_a_secret(given: str) -> None:
    """There too words and calls are cleaned before they are cut."""
    readings = LogReading(Estimator(), Policy(), Redactor())
    for room in range(0, 420, 3):
        words = f"{' '.join(f'word{n}' for n in range(80))[:room]} {given} and then more after it"
        log = talk(
            user(f"Always use {words} never other.\nNever do that."),
            assistant(call("bash", command=f"make x {words}")), result(f"x\nError: no {words}"),
            assistant(call("bash", command=f"git commit -m '{words}'")), result("ok"),
            assistant(f"The port is 80, not {words}."),
        ).messages  # fmt: skip
        index = FactReader(log, readings, lines_of=1)
        for facts in (index.facts(0, len(log)), index.deeds(range(len(log)))):
            assert not shows_a_piece(msgspec.json.encode(facts).decode())


def test_a_call_is_found_by_its_own_result_where_ids_repeat() -> None:
    """Some agents count their ids anew in each turn."""
    rows: list[Message] = []
    for n in range(3):
        rows += [
            Message("assistant", (ToolCall("c1", "bash", f'{{"command": "run_{n}"}}'),), 2 * n),
            Message("tool", (ToolResult("c1", (Text("exit code 0"),)),), 2 * n + 1),
        ]
    found = index_of(tuple(rows)).facts(0, 6)
    assert [fact.key for fact in found if fact.kind == "command"] == ["run_0", "run_1", "run_2"]


def test_only_the_calls_that_a_message_answers_are_cleaned() -> None:
    """A long session holds thousands of others; each message would pay for all of them."""
    asked: list[str] = []

    def redact(text: str) -> str:
        asked.append(text)
        return text

    calls = {f"c{n}": ToolCall(f"c{n}", "bash", f'{{"command": "run {n}"}}') for n in range(500)}
    message = Message("tool", (ToolResult("c7", (Text("ok"),)),), 9)
    LogReading(Estimator(), Policy(), redact).facts(message, calls)
    assert sorted("\n\n".join(asked).split("\n\n")) == ["bash", "ok", '{"command": "run 7"}']


@given(log=logs())
def test_what_is_looked_through_together_is_as_clean_as_one_by_one(
    log: tuple[Message, ...],
) -> None:
    """Where nothing is found in many messages nothing is in each; where something is, each is
    cleaned by itself.
    """

    def starred(text: str) -> str:
        return text.replace("e", "*")

    calls = answered_calls(log)
    every = index_of(log, LogReading(Estimator(), Policy(), starred)).facts(0, len(log))
    one_by_one = [
        fact
        for at, message in enumerate(log)
        for fact in facts_of(
            cleaned(message, starred),
            {name: cleaned_call(made, starred) for name, made in calls.get(at, {}).items()},
        )
    ]
    assert every == one_by_one


def test_a_secret_beside_clean_messages_is_hidden_and_they_stay_as_they_are() -> None:
    """The messages around it are told in their own words, with the default redactor too."""
    key = "ghp_" + "a1B2c3D4e5" * 4
    rows: list[Message | ToolResult] = [user("Run both.")]
    for command in (f"deploy --token {key}", "make test_all"):
        rows += [assistant(call("bash", command=command)), result(f"ran {command}\nok_done yes")]
    log = talk(*rows).messages
    found = index_of(log, LogReading(Estimator(), Policy(), Redactor())).facts(0, len(log))
    told = msgspec.json.encode(found).decode()
    assert key not in told
    assert "make test_all" in told
    assert "ok_done yes" in told


def older(*rows: Message | ToolResult) -> list[Fact]:
    """The facts of messages that stand before more text than is read line by line."""
    big = (assistant(call("bash", command="cat big")), result("a b\n" * 70_000))
    log = talk(*rows, *big).messages
    return [fact for fact in index_of(log).facts(0, len(log)) if fact.at < len(log) - 2]


def test_far_back_a_command_that_only_looked_tells_nothing() -> None:
    """As a tool that reads does; unless it went elsewhere."""
    rows: list[Message | ToolResult] = [user("Look.")]
    for command, output in (
        ("cat a.py", "x_1 = 1"),
        ("cd src && ls", "b.py"), ("rm c.py", ""),
    ):  # fmt: skip
        rows += [assistant(call("bash", command=command)), result(output)]
    told = [fact.text for fact in older(*rows)]
    assert not any("a.py" in text for text in told)
    assert "src" in told
    assert "c.py" in told


def test_far_back_a_run_that_came_again_tells_what_it_did_and_not_what_it_printed() -> None:
    """The last one tells whether it still fails."""
    rows: list[Message | ToolResult] = [user("Test.")]
    for n in range(3):
        made = call("bash", command="pytest -q > log.txt")
        rows += [assistant(made), result(f"Error: boom_{n}\nexit code 1")]
    found = older(*rows)
    assert [fact.text for fact in found if fact.kind == "error"] == ["Error: boom_2"]
    assert sum(fact.kind == "command" and fact.failed for fact in found) == 3
    assert sum(fact.kind == "file" for fact in found) == 3
    assert list(update(Ledger(), found).errors) == ["pytest -q > log.txt"]
