"""Questions about the past: what is asked, and when a view answers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

from foldaway.lab.scoring.needed import Elsewhere, PreparedSession, prepare
from foldaway.lab.scoring.questions import is_answered, questions_at
from foldaway.lab.scoring.score import case_at, score
from foldaway.lab.scoring.session import LabSession, Message
from foldaway.lab.scoring.signals import to_line
from foldaway.lab.strategies import append_only, keep_tail, text_view
from halves.oracle import oracle_of

NOTHING = Elsewhere(frozenset(), frozenset())
NOTHING_NEW = "Nothing else is to be said here for now, I think."
FILLER: list[Message] = [{"role": "assistant", "content": NOTHING_NEW}] * 60


def call(name: str, result: str, **arguments: Any) -> list[Message]:
    """Return a call and its result."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"id": name, "function": function}]},
        {"role": "tool", "tool_call_id": name, "content": result},
    ]


LOG: list[Message] = [
    {"role": "user", "content": "Please make the retry of the upload wait for twice as long each"},
    *call("bash", "Python 3.11.9 on linux-x86\nmore", command="python --version"),
    *call("bash", "[main 3fa9c21] fix the login page\n 1 file changed", command="git commit -a"),
    *call("edit", "ok", file_path="/app/src/api/upload.py", old_string="wait_seconds = 1",
          new_string="wait_seconds = 2 ** attempt"),
    *call("users", '[{"name": "Ann Lee", "user_id": "ann_lee_812"}]', group="all"),
    *call("order", '{"order_id": "WX5512", "payment_method": "card_99121"}', order="WX5512"),
    {"role": "assistant", "content": "I will look at the file retry_policy.py and at RetryBudget."},
]  # fmt: skip


def prepared(messages: list[Message]) -> PreparedSession:
    """Return a session of these messages."""
    return prepare(LabSession("one", "tests", "tests", messages))


def test_every_kind_is_asked_of_a_log_that_has_it() -> None:
    """Paths, outputs, sentences, edits, commits, ids and fields are found by rule."""
    asked = {one.kind: one.answer for one in questions_at(prepared([*LOG, *FILLER]), 60)}
    assert asked == {
        "path": "/app/src/api/upload.py",
        "output": "Python 3.11.9 on linux-x86",
        "person": "the upload wait for twice as long each",
        "agent": "file retry_policy.py and at RetryBudget.",
        "edit": "wait_seconds = 2 ** attempt",
        "commit": "3fa9c21",
        "id": "ann_lee_812",
        "field": "card_99121",
    }


def test_the_log_answers_all_and_nothing_answers_none(
    make_session: Callable[[], LabSession],
) -> None:
    """The whole log scores 1, an empty view 0."""
    for session in (make_session(), LabSession("one", "t", "t", [*LOG, *FILLER])):
        ready = prepare(session)
        case = case_at(ready, len(ready.messages) * 4 // 5, NOTHING)
        assert case.questions
        assert score(case, append_only(case.messages, 0)).rates["answers"] == 1
        assert score(case, text_view("")).rates["answers"] == 0
        missed = score(case, text_view("")).missed["answers"]
        assert len(missed) == len(case.questions) <= 40


def test_the_answer_is_old_and_not_given_away() -> None:
    """It is in the log, but neither in its last fifth, nor in the prompt, nor in the question."""
    found = questions_at(prepared([*LOG, *FILLER]), 60)
    source = to_line("\n".join(prepared([*LOG, *FILLER]).texts[:60]))
    for one in found:
        assert one.answer in source
        assert one.answer not in source[len(source) * 4 // 5 :]
        assert one.answer not in one.text
    assert questions_at(prepared([*FILLER, *LOG]), 60 + len(LOG)) == []
    told: Message = {"role": "system", "content": "\n".join(one.answer for one in found)}
    assert questions_at(prepared([told, *LOG, *FILLER]), 60) == []


@each_row("kind", ["output", "person", "agent", "edit", "commit", "id", "field"])
def test_an_answer_without_its_cue_does_not_count(kind: str) -> None:
    """The bare answer and one far from its cue are not enough."""
    found = questions_at(prepared([*LOG, *FILLER]), 60)
    one = next(one for one in found if one.kind == kind)
    cue = to_line(one.cue)
    assert is_answered(f"{cue}: {one.answer}", one)
    assert not is_answered(one.answer, one)
    assert not is_answered(f"{cue} {'. ' * 400} {one.answer}", one)


def test_the_same_log_is_asked_the_same() -> None:
    """Questions are picked by a hash, not by chance."""
    assert questions_at(prepared([*LOG, *FILLER]), 60) == questions_at(
        prepared([*LOG, *FILLER]), 60
    )


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.text(max_size=200)),
                min_size=1, max_size=12))  # fmt: skip
def test_any_text_can_be_asked_about(rows: list[tuple[str, str]]) -> None:
    """Whatever messages say, the log answers what is asked about it."""
    ready = prepared([{"role": role, "content": text} for role, text in rows])
    source = to_line("\n".join(ready.texts))
    assert all(is_answered(source, one) for one in questions_at(ready, len(rows)))


@each_row("unit", ["[", '{"id":', "a/b/c.py ", "-aaaaaaaaaaa\n+aaaaaaaaaab\n",
                                  "[main abcdef1] said so\n", "word ", ". ", "_"])  # fmt: skip
def test_hostile_texts_take_linear_time(unit: str) -> None:
    """Four times the text takes about four times as long."""
    spent: list[float] = []
    for size in (50_000, 200_000):
        text = unit * (size // len(unit))
        rows = [*call("bash", text, command="make it"), {"role": "assistant", "content": text}]
        ready = prepared([{"role": "user", "content": text}, *rows, *FILLER])
        begun = time.process_time()
        questions_at(ready, len(ready.messages))
        spent.append(time.process_time() - begun)
    assert spent[1] < 10 * spent[0] + 0.1


def test_the_oracle_is_a_ceiling_and_holds_nothing_of_the_future(
    make_session: Callable[[], LabSession],
) -> None:
    """It keeps at least as much as the last lines, within the budget, and leaks nothing."""
    session = make_session()
    ready = prepare(session)
    oracle = oracle_of(session, NOTHING)
    case = case_at(ready, len(ready.messages) * 3 // 5, NOTHING)
    budget = case.tokens // 5
    best, plain = oracle.shrink(case.messages, budget), keep_tail(case.messages, budget)
    assert best.tokens <= budget
    mine, other = score(case, best), score(case, plain)
    assert mine.counts["leaked"] == 0
    for name in ("bound", "answers"):
        assert (mine.rates[name] or 0) >= (other.rates[name] or 0)
