"""A summary whose originals are gone: ranked beside the log, its asks, rules and files kept."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

import foldaway
from foldaway.facts.ledger import Around, Ledger, summarize
from foldaway.facts.ledger.state import carried_facts
from foldaway.facts.summary import SECTIONS, Entry, Summary, parse_summary
from foldaway.testing import assistant, call, result, user
from foldaway.transcript import Estimator

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
    return summarize(ledger_of(*rows), around).render(COUNTER, budget)


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


def test_an_older_task_is_one_of_the_asks_where_the_user_wrote_again(ledger_of: LedgerOf) -> None:
    """There is one task; of asks without a rule only the newest stay where there is no room, and
    of one that goes the rule stays."""
    rows = "\n".join(f"- The user wrote (answered): Then do part {n}, please. [m{n}]"
                     for n in range(2, 40))  # fmt: skip
    older = parse_summary(
        "## Goal\n- First request (answered): Port the loader. [m0]\n"
        "## Historical task snapshot\n- The user wrote (answered): Port it now. [m41]\n"
        "## Historical pending asks\n"
        f"- The user wrote (answered): {'Look at it again. ' * 20}Never touch db/schema.sql. [m1]\n"
        f"{rows}"
    )  # fmt: skip
    ledger = ledger_of(user("Now test it."), assistant("Done."))
    made = summarize(ledger, Around(room_chars=800, carried=older, brief=True))
    shown = {name: [row.text for row in rows] for name, rows in made.sections.items()}
    assert shown["task"] == ["The user wrote (answered): Now test it."]
    assert "pending" not in shown
    assert shown["resolved"][-1] == "The user wrote (answered): Port it now."
    assert "The user wrote (answered): Then do part 39, please." in shown["resolved"]
    assert "The user wrote (answered): Then do part 2, please." not in shown["resolved"]
    assert shown["constraints"] == ["Never touch db/schema.sql."]


def test_a_value_is_that_of_the_log_where_the_log_has_one(ledger_of: LedgerOf) -> None:
    """The newest wins, and an older summary does not tell another beside it."""
    older = parse_summary("## Active state\n- working directory: /srv/old [m1]\n- port: 80 [m2]")
    rows = [user("Go on."), assistant("", call("Bash", command="cd /srv/new")), result("")]
    made = summarize(ledger_of(*rows), Around(room_chars=4_000, carried=older))
    state = [row.text for row in made.sections["state"]]
    assert state == ["port: 80", "working directory: /srv/new"]


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
    shown = summarize(Ledger(), Around(room_chars=4_000, carried=summary))
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
    shown = summarize(ledger_of(user("Go on.")), around).render(COUNTER, 130)
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
        messages = list(foldaway.compress(messages, target_tokens=3_000).messages)
    view = str(messages)
    assert view.count("[foldaway summary: reference only]") == 1
    assert "src/part_0.py" in view
    assert "load_user_table" in view
