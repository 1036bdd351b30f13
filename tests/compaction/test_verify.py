"""Before anything is replaced: what is not better than the original does not replace it."""

from __future__ import annotations

import pytest
from tests.testing.long_lists import Exchange, written

from foldaway import Model, Options
from foldaway._core.policy import Policy
from foldaway.engine.oneshot import compress
from foldaway.testing import assistant, call, result, talk, user
from foldaway.transcript import Estimator


class Longer(Estimator):
    """Finds every generated text a hundred times as long as it is."""

    def count(self, text: str) -> int:
        return super().count(text) * (100 if "fa-" in text else 1)


def test_a_result_that_is_not_smaller_does_not_replace_the_original() -> None:
    """By the same measure, whatever the measure is; the very list comes back with the reason."""
    items = written("openai-chat", [Exchange(1, 1, 300)] * 4)
    made = compress(items, target_tokens=500, model=Model(counter=Longer()))
    assert made.messages is items
    assert (made.report.status, made.report.reason) == ("unchanged", "not smaller")
    assert made.report.tokens_after == made.report.tokens_before


@pytest.mark.parametrize("keep_last", [1, 2])
def test_short_asks_are_not_folded_into_a_longer_summary(keep_last: int) -> None:
    """Three short turns are shorter than any frame around them."""
    items = talk(user("Hi."), assistant("Hello."), user("Hm?"), assistant("Yes."), user("Go."))
    wire = items.wire("openai-chat")
    made = compress(wire, options=Options(keep_last=keep_last), policy=Policy(protect_first=0))
    assert made.messages is wire
    assert made.report.reason in ("not smaller", "nothing to compact")


def test_a_pending_call_stays_pending() -> None:
    """Neither answered nor folded: its result is still to come."""
    items = talk(
        *[step for n in range(6) for step in (user(f"Ask {n}."), assistant(call("bash", n=n)),
                                              result("word " * 400))],
        user("Confirm it?"), assistant(call("confirm", call_id="wait")),
    ).wire("openai-chat")  # fmt: skip
    made = compress(items, target_tokens=1_000)
    assert made.report.status == "compacted"
    assert made.messages[-1] is items[-1]
    assert made.report.repaired == ()
