"""A summary whose originals are gone: ranked beside the log, its asks, rules and files kept."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.pipeline.ledger import Around, Ledger, summarise
from holdfast.pipeline.ledger.carried import carried_facts
from holdfast.pipeline.measure import Estimator
from holdfast.pipeline.summary import SECTIONS, Entry, Summary, parse_summary, render_summary
from holdfast.testing import assistant, call, result, user

LedgerOf = Callable[..., Ledger]

COUNTER = Estimator()
OLDER = """\
## Goal
- First request: Port the loader. [m1]

## Constraints and preferences
- Never touch db/schema.sql. [m1]

## Completed actions
1. `make build_all` [m4]

## Relevant files
- src/loader.py: created [m5]

## Critical context
- Read src/app.py:
  def load_user(name):
  max_retries = 31 [m6]
- get_order {"id":"W1"}: order: W1; state: sent [m8]
- Made without a model."""


def told(*rows: object, ledger_of: LedgerOf, budget: int = 2_000) -> str:
    around = Around(room_chars=4.0 * budget, carried=parse_summary(OLDER))
    return render_summary(summarise(ledger_of(*rows), around), COUNTER, budget)


def test_lines_of_one_head_are_weighed_one_by_one() -> None:
    """Each line comes back with its head, its source and its names, in the order of the summary."""
    facts = carried_facts(parse_summary(OLDER))
    lines = [(fact.text, fact.head, fact.source) for fact in facts if fact.kind == "line"]
    assert lines[:2] == [
        ("def load_user(name):", "Read src/app.py", "earlier m6"),
        ("max_retries = 31", "Read src/app.py", "earlier m6"),
    ]
    assert facts[1].terms == ("max_retries",)
    assert [fact.at for fact in facts] == sorted(fact.at for fact in facts)
    assert all(fact.at < 0 and "Made without" not in fact.text for fact in facts)


def test_everything_stays_where_there_is_room(ledger_of: LedgerOf) -> None:
    """Nothing of an older summary is lost, and a line stands under its head again."""
    text = told(user("Now test it."), ledger_of=ledger_of)
    for words in (
        "First request: Port the loader. [earlier m1]", "Never touch db/schema.sql.",
        "`make build_all` [earlier m4]", "src/loader.py: created",
        "- Read src/app.py:\n  def load_user(name):\n  max_retries = 31 [earlier m6]",
        'get_order {"id":"W1"}: order: W1; state: sent [earlier m8]',
    ):  # fmt: skip
        assert words in text


def test_the_first_request_is_that_of_the_older_summary(ledger_of: LedgerOf) -> None:
    """A later ask is not told as the first one."""
    text = told(user("Now test it."), assistant("Yes."), user("And?"), ledger_of=ledger_of)
    assert text.count("First request") == 1


def test_a_line_that_stands_in_the_log_again_is_not_told_twice(ledger_of: LedgerOf) -> None:
    """What it names is said already, so the other lines go before it."""
    rows = [user("Go on."), assistant("", call("Read", path="a")), result("max_retries = 31")]
    assert told(*rows, ledger_of=ledger_of, budget=150).count("max_retries") <= 1


@given(
    lines=st.lists(st.text("ab_ :\n#-1", max_size=12), max_size=5),
    section=st.sampled_from(SECTIONS),
)
def test_any_entry_can_be_carried(lines: list[str], section: str) -> None:
    """Whatever an entry holds, its words are among the facts or stand as they are."""
    text = "\n".join(lines)
    summary = Summary({section: (Entry(text, "m3"),)})  # pyright: ignore[reportArgumentType]
    shown = summarise(Ledger(), Around(room_chars=4_000, carried=summary))
    told_again = " ".join(entry.text for rows in shown.sections.values() for entry in rows)
    assert all(word.rstrip(":") in told_again for word in text.split())


def test_a_carried_rule_stands_before_carried_wishes(ledger_of: LedgerOf) -> None:
    """What nobody insisted on goes first, however many of it there are; nothing stands twice."""
    rows = "\n".join(f"- You can use /undo to revert commit c{n}ffee. [m{n}]" for n in range(30))
    older = parse_summary(
        f"## Constraints and preferences\n- Never touch db/schema.sql. [m1]\n{rows}\n"
        "- Never touch db/schema.sql. [m1]"
    )
    around = Around(room_chars=500, carried=older, brief=True)
    shown = render_summary(summarise(ledger_of(user("Go on.")), around), COUNTER, 130)
    assert shown.count("Never touch db/schema.sql.") == 1


def test_a_rule_that_is_carried_is_not_told_again(ledger_of: LedgerOf) -> None:
    """What the user says once more in the log stands once."""
    shown = told(user("Never touch db/schema.sql."), assistant("Yes."), ledger_of=ledger_of)
    assert shown.partition("## Completed")[0].count("- Never touch db/schema.sql.") == 1


def test_eight_compressions_of_their_own_output_keep_what_is_named_often() -> None:
    """From the transcript alone, without a state, a name of the first stretch survives them."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "Port load_user_table."}]
    for number in range(8):
        for step in range(12):
            ref = f"c{number}_{step}"
            code = "\n".join(f"value_{number}_{step}_{n} = {n}" for n in range(30))
            arguments = f'{{"path": "src/part_{number}.py"}}'
            made = {"id": ref, "type": "function",
                    "function": {"name": "Read", "arguments": arguments}}  # fmt: skip
            messages.append({"role": "assistant", "content": "", "tool_calls": [made]})
            told_by = f"def load_user_table(part_{number})\n{code}"
            messages.append({"role": "tool", "tool_call_id": ref, "content": told_by})
        messages = list(holdfast.compress(messages, target_tokens=3_000).messages)
    view = str(messages)
    assert view.count("[holdfast summary: reference only]") == 1
    assert "src/part_0.py" in view
    assert "load_user_table" in view
