"""What was asked, answered, ruled, decided and planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.facts.ledger import Ledger
from foldaway.facts.ledger.tasks import split_tasks, todo_text
from foldaway.testing import assistant, call, media, result, user

LedgerOf = Callable[..., Ledger]


def test_an_ask_is_answered_by_the_reply_after_it(ledger_of: LedgerOf) -> None:
    """By words without a call, the first of them; what was left for the next ask stays open."""
    ledger = ledger_of(
        user("First."), assistant("Let me look.", call("bash", command="ls")), result("x"),
        assistant("It is done."), user("Second."), user("Third."), assistant("Yes."),
        assistant("Sure."),
    )  # fmt: skip
    assert [(ask.fact.text, ask.fact.source, ask.answered_by) for ask in ledger.asks] == [
        ("First.", "m0", "m3"), ("Second.", "m4", ""), ("Third.", "m5", "m6"),
    ]  # fmt: skip


def test_an_ask_of_media_alone_quotes_nothing(ledger_of: LedgerOf) -> None:
    """There are no words to quote."""
    assert ledger_of(user(media())).asks == ()
    assert [ask.fact.text for ask in ledger_of(user("See:", media())).asks] == ["See:"]


@each_row("rule", [
    "Never touch the migrations.", "Always run the tests first.", "Use pnpm, not npm.",
    "不要修改数据库。", "Benutze niemals Tabs.", "Ne supprime jamais ce fichier.",
    "No uses nunca npm.", "Никогда не меняй этот файл.", "Não altere o esquema.",
    "テストを必ず実行してください。", "절대 파일을 삭제하지 마세요.", "At most 3 retries.",
])  # fmt: skip
def test_a_rule_of_the_users_is_kept_in_their_words(rule: str, ledger_of: LedgerOf) -> None:
    """In many languages, once however often it is said."""
    ledger = ledger_of(user(rule), assistant("Fine."), user(rule))
    [kept] = ledger.constraints.values()
    assert kept.text in rule
    assert kept.source == "m2"


def test_what_the_agent_decided_is_kept(ledger_of: LedgerOf) -> None:
    """With its reason, in its words."""
    said = "I'll use sqlite instead of postgres because there is one writer."
    ledger = ledger_of(user("Pick one."), assistant(said))
    assert [fact.text for fact in ledger.decisions] == [said]


TODOS = [
    {"content": "Write the parser", "status": "completed", "activeForm": "Writing"},
    {"content": "Test the parser", "status": "in_progress", "activeForm": "Testing"},
    {"content": "Ship it", "status": "pending", "activeForm": "Shipping"},
]
PLAN = [{"step": row["content"], "status": row["status"]} for row in TODOS]


@each_row("made", [
    call("TodoWrite", todos=TODOS), call("todowrite", todos=TODOS),
    call("write_todos", todos=TODOS),
    call("update_plan", plan=PLAN, explanation="next"), call("functions.update_plan", plan=PLAN),
])  # fmt: skip
def test_the_agents_own_list_is_read(made: Any, ledger_of: LedgerOf) -> None:
    """Of Claude Code, OpenCode, Gemini and Codex: done, under way and still to do."""
    ledger = ledger_of(user("Go."), assistant(made), result("ok"))
    assert ledger.todo is not None
    assert split_tasks(ledger.todo.text) == (["Write the parser"], ["Test the parser"], ["Ship it"])
    assert ledger.todo.source == "m2"


def test_the_newest_list_is_the_state(ledger_of: LedgerOf) -> None:
    """A list that was written anew replaces the old one."""
    done = [{**row, "status": "completed"} for row in TODOS]
    ledger = ledger_of(
        user("Go."), assistant(call("TodoWrite", todos=TODOS)), result("ok"),
        assistant(call("TodoWrite", todos=done)), result("ok"),
    )  # fmt: skip
    assert ledger.todo is not None
    assert split_tasks(ledger.todo.text) == ([row["content"] for row in TODOS], [], [])


ROWS = st.recursive(
    st.none() | st.integers() | st.text(max_size=9) | st.sampled_from(("a: b", "x\ny", " ")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(("content", "step", "status", "state", "x")), inner, max_size=3
    ),
    max_leaves=8,
)  # fmt: skip


@given(rows=ROWS, name=st.sampled_from(("todos", "plan", "items", "other")))
def test_a_list_of_any_shape_is_read_without_harm(rows: Any, name: str) -> None:
    """One line for each item that has words; each is in one of the three states."""
    text = todo_text({name: rows})
    done, under_way, to_do = split_tasks(text)
    assert len(done) + len(under_way) + len(to_do) == (len(text.split("\n")) if text else 0)
