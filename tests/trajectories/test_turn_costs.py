"""What turns cost is counted as far as it decides something, and no further."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldaway.dialects.loading import load
from foldaway.trajectories.counting import TurnCosts, turn_tokens


class Noting:
    """Counts words, and notes how many it was shown."""

    name = "words"
    is_estimate = False

    def __init__(self) -> None:
        self.shown = 0

    def count(self, text: str) -> int:
        """Return the words of `text`."""
        self.shown += len(text)
        return len(text.split())


_TEXT = st.sampled_from(
    [" ".join([word] * number) for word in ("a", "word", "\n") for number in (1, 9, 400, 5_000)]
)


@given(st.lists(_TEXT, min_size=1, max_size=12), st.lists(st.integers(-5, 12_000)))
def test_what_is_said_of_a_record_is_as_if_all_of_it_were_counted(
    texts: list[str], limits: list[int]
):
    """Whatever was asked before: whether record or turn are over a limit, what a stretch costs up
    to a limit; and what was counted is never more than there is."""
    record = load([{"from": "gpt", "value": text} for text in texts])
    exact = [turn_tokens(one, "sharegpt", Noting()) for one in record.messages]
    costs = TurnCosts(record, Noting())
    for number, limit in enumerate(limits):
        at = number % len(texts)
        assert costs.are_over(at, limit) == (exact[at] > limit)
        assert costs.exceed(limit) == (sum(exact) > limit)
        if limit >= 0:
            assert costs.span(0, at, limit) == min(sum(exact[:at]), limit + 1)
        assert costs.counted <= sum(exact)
        assert costs.counted <= costs.whole()
        assert not costs.all_counted or costs.whole() == sum(exact)
    assert [costs[at] for at in range(len(texts))] == exact
    assert costs.whole() == costs.count_all() == sum(exact)


def test_of_a_turn_that_is_far_too_long_a_part_is_counted():
    """100,000 words are more than 50 whatever the rest is."""
    record = load([{"from": "human", "value": "word " * 100_000}])
    counter = Noting()
    costs = TurnCosts(record, counter)
    assert costs.exceed(50)
    assert counter.shown < 1_000
    assert not costs.all_counted
    assert costs[0] == 100_004
    assert costs.counted == 100_004
