"""The ledger: facts without a model, and what of them may stand in a summary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast import load
from holdfast.pipeline.ledger import Fact, FactKind, Ledger, facts_of, summarise, update
from holdfast.pipeline.prune import answered_calls
from holdfast.testing import Talk, assistant, call, result, talk, user
from holdfast.transcript import Message, Text

KINDS: tuple[FactKind, ...] = ("ask", "said", "read", "wrote", "edited", "command", "error")
FACTS = st.lists(
    st.builds(
        Fact, st.sampled_from(KINDS), st.sampled_from("abc"), st.sampled_from(("x", "y")),
        st.integers(0, 9).map(lambda n: f"m{n}"), st.booleans(),
    ), max_size=12,
)  # fmt: skip


def facts(made: Talk) -> list[Fact]:
    calls = answered_calls(made.messages)
    return [
        fact
        for at, message in enumerate(made.messages)
        for fact in facts_of(message, calls.get(at, {}))
    ]


@given(first=FACTS, second=FACTS)
def test_facts_in_two_rounds_are_facts_in_one(first: list[Fact], second: list[Fact]) -> None:
    """update(update(empty, a), b) equals update(empty, a + b)."""
    assert update(update(Ledger(), first), second) == update(Ledger(), first + second)


def test_an_ask_is_taken_verbatim_with_its_message() -> None:
    """The words of the user and the label of the message, nothing else."""
    [fact] = facts(talk(user("Fix  the\ntest, please.")))
    assert (fact.kind, fact.text, fact.source) == ("ask", "Fix  the\ntest, please.", "m0")


def test_a_generated_message_has_no_facts() -> None:
    """A summary or digest never becomes something that the user asked."""
    for origin in ("summary", "digest", "duplicate", "placeholder", "note", "stub"):
        message = Message("user", (Text("Please delete everything."),), 3, origin=origin)
        assert facts_of(message, {}) == ()


def test_commands_carry_how_they_ended() -> None:
    """The command, its exit code, and its first error; a later success resolves the error."""
    failed = talk(
        user("Test."), assistant(call("bash", command="npm test")),
        result("boom\nTypeError: x is not a function\nexit code 1"),
    )  # fmt: skip
    ledger = update(Ledger(), facts(failed))
    [command] = ledger.commands
    assert command.text == "`npm test` -> exit 1"
    assert command.failed
    [error] = ledger.errors.values()
    assert "TypeError: x is not a function" in error.text
    passed = talk(assistant(call("bash", command="npm test")), result("all good\nexit code 0"))
    assert update(ledger, facts(passed)).errors == {}


def test_files_are_counted_by_what_was_done() -> None:
    """Reads, changes and creation of a file, and where it was touched last."""
    made = talk(
        user("Work."),
        assistant(call("read_file", path="a.py"), call("write_file", path="new.py", content="x")),
        result("text"), result("ok"),
        assistant(call("edit_file", path="a.py")), result("ok"),
        assistant(call("write_file", path="bad.py")), result("Error: denied", is_error=True),
    )  # fmt: skip
    files = update(Ledger(), facts(made)).files
    assert (files["a.py"].read, files["a.py"].changed, files["a.py"].created) == (1, 1, False)
    assert files["new.py"].created
    assert files["bad.py"].changed == 0


def test_a_summary_quotes_asks_with_their_ids_and_leaves_out_the_live_one() -> None:
    """Every quote of the user carries the label of its message; what stands verbatim outside the
    summary is not quoted in it."""
    asked = talk(user("One."), user("Two."), user("Three."), user("Four."))
    ledger = update(Ledger(), facts(asked))
    summary = summarise(ledger, str, live_asks=frozenset({"m3"}))
    quotes = [
        (entry.text, entry.source)
        for entries in summary.sections.values()
        for entry in entries
        if entry.text.startswith(("The user wrote", "First request"))
    ]
    assert ("The user wrote: Three.", "m2") in quotes
    assert ("First request: One.", "m0") in quotes
    assert all(source for _, source in quotes)
    assert not any("Four." in text for text, _ in quotes)


def test_a_summary_says_that_no_model_wrote_it() -> None:
    """Also an empty one."""
    critical = summarise(Ledger(), str).sections["critical"]
    assert "without a model" in critical[0].text
    assert Ledger().is_empty


def test_everything_in_a_summary_goes_through_the_redactor() -> None:
    """Asks, commands, errors, files and what the agent said."""
    made = talk(
        user("Use sk-1."), assistant("Using sk-1.", call("bash", command="curl sk-1")),
        result("Error: sk-1 refused\nexit code 2"),
        assistant(call("read_file", path="sk-1.txt")), result("x"),
    )  # fmt: skip
    summary = summarise(update(Ledger(), facts(made)), lambda text: text.replace("sk-1", "***"))
    assert "sk-1" not in repr(summary.sections)
    assert repr(summary.sections).count("***") >= 5


def test_a_summary_beside_the_users_words_is_not_quoted_as_theirs() -> None:
    """Another compressor's summary and the next ask may stand in one message."""
    foreign = (
        "This session is being continued from a previous conversation that ran out of context. "
        "The summary below covers the earlier portion of the conversation.\n\nIt is long."
    )
    blocks = [{"type": "text", "text": foreign}, {"type": "text", "text": "Now ship it."}]
    (message,) = load([{"role": "user", "content": blocks}], dialect="anthropic").messages
    assert [fact.text for fact in facts_of(message, {})] == ["Now ship it."]
