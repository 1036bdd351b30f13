"""Lists that are kept a task at a time, and commands that are heard of by their process."""

from __future__ import annotations

from collections.abc import Callable

from foldaway.facts.ledger import Ledger
from foldaway.facts.ledger.tasks import split_tasks
from foldaway.testing import assistant, call, result, user

LedgerOf = Callable[..., Ledger]


def test_tasks_come_one_at_a_time(ledger_of: LedgerOf) -> None:
    """The call that makes one tells its words, the result its number, later calls its state."""
    steps = [user("Go.")]
    for number, words in (("1", "Fix a_b"), ("2", "Test it"), ("3", "Ship it")):
        made = f"Task #{number} created successfully: {words}"
        steps += [assistant(call("TaskCreate", subject=words)), result(made)]
    for number, state in (("1", "completed"), ("2", "in_progress"), ("3", "deleted")):
        steps += [assistant(call("TaskUpdate", taskId=number, status=state)), result("Updated")]
    ledger = ledger_of(*steps)
    assert ledger.todo is not None
    assert split_tasks(ledger.todo.text) == (["Fix a_b"], ["Test it"], [])


def test_the_end_of_a_process_is_that_of_its_command(ledger_of: LedgerOf) -> None:
    """A poll that fails tells of the command, and one that ends well resolves it."""
    start = "Process running with session ID 4711\nOutput:\n"
    failed = "Chunk ID: 2\nProcess exited with code 1\nOutput:\nError: no route_x"
    passed = "Chunk ID: 3\nProcess exited with code 0\nOutput:\nok"

    def run(end: str) -> list[object]:
        return [
            assistant(call("exec_command", cmd="make test")), result(start),
            assistant(call("write_stdin", session_id=4711, chars="")), result(end),
        ]  # fmt: skip

    assert list(ledger_of(user("Go."), *run(failed)).errors) == ["make test"]
    assert ledger_of(user("Go."), *run(failed), *run(passed)).errors == {}
