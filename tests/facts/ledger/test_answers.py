"""What must not be asked or weighed again: it has its share of the room, however much follows."""

from __future__ import annotations

from collections.abc import Callable

from foldaway._core.policy import Policy
from foldaway.facts.ledger import Around, Ledger, summarize
from foldaway.facts.reading import FactReader, LogReading
from foldaway.facts.summary import parse_summary
from foldaway.testing import assistant, call, result, talk, user
from foldaway.transcript import Estimator, Message, ToolResult

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


def told(ledger: Ledger, budget: int = 1_200, carried: str = "", focus: str = "") -> str:
    older = parse_summary(carried) if carried else None
    around = Around(room_chars=4.0 * budget, carried=older, focus=focus)
    return summarize(ledger, around).render(Estimator(), budget)


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


def test_what_settled_a_question_outlives_hundreds_of_requests() -> None:
    """Whoever asked, and whether the log is read while it grows or once: the version and the name
    that the user asked for, the port that the agent did.
    """
    asked = [assistant("Which port should it listen on?"), user("8081 please."), assistant("Good.")]
    wrote = [user("Who wrote the tax table?"), assistant("Greta Olsen wrote it.")]
    log = talk(*SETTLED, *asked, *wrote, *later(700)).messages
    reading = LogReading(Estimator(), Policy())
    reader, in_rounds = FactReader(log, reading), Ledger()
    for start in range(0, len(log), 500):
        in_rounds = reader.ledger(min(start + 500, len(log)), in_rounds, start)
    once = FactReader(log, reading, lines_of=10_000).ledger(len(log))
    for ledger in (in_rounds, once):
        text = told(ledger, 4_000)
        assert "Which Python version do we use? -> We use Python 3.11.4." in text
        assert "Which port should it listen on? -> 8081 please." in text
        assert "Who wrote the tax table? -> Greta Olsen wrote it." in text


def test_a_choice_in_few_words_stays_in_a_long_log_that_is_read_once() -> None:
    """Of what the agent wrote long ago only short replies are read."""
    log = talk(*SETTLED, *later(120)).messages
    once = FactReader(log, LogReading(Estimator(), Policy()), lines_of=1_000).ledger(len(log))
    assert "I'll use PLY because ANTLR needs a Java runtime." in told(once, 4_000)


def test_a_first_request_that_is_a_question_stands_with_its_answer(ledger_of: LedgerOf) -> None:
    """It was told as answered without saying what the answer is."""
    asked = [user("Which Python version do we use?"), assistant("We use Python 3.11.4.")]
    text = told(ledger_of(*asked, *later(60)))
    assert "Which Python version do we use? -> We use Python 3.11.4. [m0]" in text


def test_a_reply_does_not_settle_a_rule(ledger_of: LedgerOf) -> None:
    """The agent said yes; that it did what is due later, or that the rule is over, it did not."""
    rule = "Later also write the changelog, but not now."
    said = [user(rule), assistant("Yes, I will do that after the tests pass.")]
    text = told(ledger_of(user("Begin."), assistant("Yes."), *said, *later(6)))
    assert text.count(rule) == 1
    assert rule in text.partition("## Constraints and preferences\n")[2].partition("\n\n")[0]


def test_requests_on_a_focus_come_before_newer_ones(ledger_of: LedgerOf) -> None:
    """Among questions with their answers, and among requests; they had no room before."""
    asked = [
        row
        for n in range(90)
        for row in (
            user(f"Which port has kestrel_{n}?"),
            assistant(f"kestrel_{n} has {4000 + n}."),
            user(f"Restart kestrel_{n}."),
            assistant("Done."),
        )
    ]
    ledger = ledger_of(user("Begin."), assistant("Yes."), *asked, *later(80))
    assert "kestrel_77" not in told(ledger)
    text = told(ledger, focus="kestrel_77")
    assert "Which port has kestrel_77? -> kestrel_77 has 4077." in text
    assert "Restart kestrel_77." in text


def test_values_of_an_older_summary_stay_among_new_ids(ledger_of: LedgerOf) -> None:
    """Another program's summary says them once, and later outputs are full of names."""
    older = "## Critical Context\n- The staging database is staging-db-7.internal.\n"
    text = told(ledger_of(*later(60)), carried=older)
    assert text.count("staging-db-7.internal") == 1
