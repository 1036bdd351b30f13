"""What a compaction leaves as it was: first messages once, the newest words, the last answer."""

from __future__ import annotations

import re
from typing import Any

from tests.testing.long_lists import Exchange, written

from foldaway import Policy, Session

SMALL = Policy(floor_tokens=500)
ITEMS = written("openai-chat", [Exchange(2, 2, 900)] * 8, with_system=True)


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def test_the_first_messages_stay_in_the_first_compaction_only() -> None:
    """Afterwards the summary has them: what was asked at first is not copied for ever."""
    made = Session(context_length=32_000, policy=SMALL)
    made.append(*ITEMS)
    made.compact(force=True)
    assert made.messages[:4] == ITEMS[:4]
    made.append(*written("openai-chat", [Exchange(2, 2, 900)] * 24, start=100))
    made.compact(force=True)
    assert made.messages[0] == ITEMS[0]
    assert ITEMS[1] not in made.messages
    assert ITEMS[1]["content"] in str(made.messages)


def test_the_newest_three_messages_are_not_folded_however_long_they_are() -> None:
    """The request stays whole; an answer beside it that does not fit is cut, and comes back."""
    long = [said(role, f"{role} {number} " + "word " * 9_000)
            for number, role in enumerate(("assistant", "user", "assistant"))]  # fmt: skip
    made = Session(context_length=64_000, policy=SMALL)
    made.append(*ITEMS, *long)
    report = made.compact(force=True)
    assert report.status == "compacted"
    assert report.fits_window
    newest = made.messages[-3:]
    assert [one["role"] for one in newest] == ["assistant", "user", "assistant"]
    assert newest[1] == long[1]
    (reference,) = re.findall(r"fa-[0-9a-f]{10}", newest[0]["content"])
    assert made.recall(reference) == [long[0]]


def test_the_request_and_the_last_answer_before_a_long_run_of_calls_stay() -> None:
    """What a person saw last is not replaced by a summary, however many results follow it."""
    asked = [said("user", "Where does the timeout come from?"),
             said("assistant", "From pool.py, line 40: it is 30 seconds."),
             said("user", "Then look at every caller.")]  # fmt: skip
    run = written("openai-chat", [Exchange(60, 1, 900)], start=100)[1:]
    made = Session(context_length=32_000, policy=SMALL)
    made.append(*ITEMS, *asked, *run)
    assert made.compact(force=True).status == "compacted"
    assert asked[2] in made.messages
    assert asked[1] in made.messages
