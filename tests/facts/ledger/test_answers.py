"""What must not be asked or weighed again: it has its share of the room, however much follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from tests.testing.rows import each_row

from foldaway._core.policy import Policy
from foldaway.facts.dialogue.statements import due_later
from foldaway.facts.languages import Language, phrases_for
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


@each_row(("now", "due"), [
    ("Fix the parser.", "Later also update the changelog."),
    ("Fix the parser,", "and afterwards update the changelog."),
    ("Fix the parser.", "Once that's done, could you update the changelog?"),
    ("Repariere den Parser.", "Danach bitte das Changelog nachtragen."),
    ("Repariere den Parser", "und später noch das Changelog."),
    ("Arregla el parser.", "Más tarde también actualiza el changelog."),
    ("Corrige le parser.", "Ensuite mets à jour le changelog."),
    ("Correggi il parser.", "Più tardi aggiorna anche il changelog."),
    ("Corrija o parser.", "Depois disso, atualize o changelog."),
    ("Исправь парсер.", "Потом обнови changelog."),
    ("Ayrıştırıcıyı düzelt.", "Daha sonra changelog dosyasını güncelle."),
    ("修复解析器。", "之后再更新 changelog。"),
    ("パーサーを直してください。", "その後、changelogも更新して。"),
    ("파서를 고쳐 줘.", "나중에 changelog도 업데이트해 줘."),
    ("أصلح المحلل.", "وبعد ذلك حدّث changelog."),
    ("पार्सर सुधारो।", "बाद में changelog भी बदलो।"),
])  # fmt: skip
def test_a_reply_does_not_answer_what_is_only_due_later(
    ledger_of: LedgerOf, now: str, due: str
) -> None:
    """It stands among the asks without a state: nobody said that it was done, nor that it is not.
    A newer request that is about it takes it up."""
    asked = [user(f"{now} {due}"), assistant("The parser is fixed.")]
    rows = told(ledger_of(user("Begin."), assistant("Yes."), *asked, *later(4))).split("\n")
    (pending,) = [row for row in rows if due in row]
    (done,) = [row for row in rows if now.rstrip(",") in row]
    states = [f"({phrases_for(one).answered})" for one in get_args(Language)]
    assert not any(state in pending for state in states)
    assert due not in done
    assert any(state in done for state in states)


def test_what_was_due_later_is_taken_up_by_a_newer_request(ledger_of: LedgerOf) -> None:
    """Then the whole request is over; also if it was the first, and if nothing else was asked."""
    due = "Later also update the changelog."
    asked = [user(f"Fix the parser. {due}"), assistant("The parser is fixed.")]
    taken = [user("Now update the changelog."), assistant("It is updated.")]
    assert f"First request (answered): Fix the parser. {due}" in told(
        ledger_of(*asked, *taken, *later(4))
    )
    text = told(ledger_of(*asked, *later(4)))
    assert "First request (answered): Fix the parser. [m0]" in text
    assert f"The user wrote: {due} [m0]" in text
    alone = told(ledger_of(user("Begin."), assistant("Yes."), user(due), assistant("I will.")))
    assert f"The user wrote: {due}" in alone


@each_row("text", [
    "Fix the error that shows up later in the log.", "After each change run the tests.",
    "Después de cada cambio ejecuta las pruebas.",
    "```\nLater also this.\n```", "The later versions fail.", "See what comes after that.",
    "When you are done, summarize it.",
])  # fmt: skip
def test_what_is_due_now_is_not_due_later(text: str) -> None:
    """A preposition, an adjective, code, and a word inside a clause postpone nothing."""
    assert due_later(text) == ()


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
