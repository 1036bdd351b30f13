"""What must not be asked or weighed again: it has its share of the room, however much follows."""

from __future__ import annotations

from collections.abc import Callable

from foldaway.facts.ledger import Around, Ledger, summarize
from foldaway.facts.summary import parse_summary, render_summary
from foldaway.testing import assistant, call, result, user
from foldaway.tokens import Estimator
from foldaway.transcript import Message, ToolResult

LedgerOf = Callable[..., Ledger]

SETTLED: list[Message | ToolResult] = [
    user("Write a parser."),
    assistant("Should I use PLY or ANTLR?"),
    user("PLY"),
    assistant("I'll use PLY because ANTLR needs a Java runtime."),
    user("Which Python version do we use?"),
    assistant("We use Python 3.11.4."),
]


def later(count: int) -> list[Message | ToolResult]:
    """Return turns that bring new names each, which rank before anything old."""
    rows: list[Message | ToolResult] = []
    for n in range(count):
        change = {"path": f"src/part_{n}.py", "old_string": f"old_{n} = 10", "new_string": f"y_{n}"}
        rows += [user(f"Go on with part_{n}."), assistant(call("patch", **change)), result("ok")]
        rows += [assistant(f"Part {n} is done, see item_{n}/v{n}.2 and the log_{n}.txt.")]
    return rows


def told(ledger: Ledger, budget: int = 1_200, carried: str = "") -> str:
    older = parse_summary(carried) if carried else None
    around = Around(room_chars=4.0 * budget, carried=older)
    return render_summary(summarize(ledger, around), Estimator(), budget)


def test_a_question_of_the_user_stays_with_its_answer(ledger_of: LedgerOf) -> None:
    """In a section of its own; neither stands elsewhere too."""
    text = told(ledger_of(*SETTLED, *later(6)))
    section = text.partition("## Resolved questions\n")[2].partition("\n\n")[0]
    assert "Which Python version do we use? -> We use Python 3.11.4. [m4]" in section
    assert text.count("Which Python version") == 1


def test_what_an_older_summary_tells_as_settled_stays(ledger_of: LedgerOf) -> None:
    """Done, decided and answered: the log has no second copy of it."""
    older = (
        "## Completed actions\n1. EDIT src/loader.py:45, == to !=\n\n"
        "## Key decisions\n- Chose httpx because the old client leaks sockets.\n\n"
        "## Resolved questions\n- Which region? eu-west-1.\n"
    )
    text = told(ledger_of(*later(80)), carried=older)
    for words in ("EDIT src/loader.py:45", "Chose httpx because", "eu-west-1"):
        assert text.count(words) == 1


def test_a_long_request_is_no_question_with_an_answer(ledger_of: LedgerOf) -> None:
    """Its words stay a request of the user's, whole, also if it ends with a question."""
    long = f"Look at the loader. {'It reads each file twice. ' * 10}Can you fix that?"
    asks = ledger_of(user("Begin."), assistant("Yes."), user(long), assistant("Done.")).asks
    assert [ask.answer for ask in asks] == ["", ""]
    assert asks[-1].answered_by == "m3"
