"""Many literals in one pass."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.reduction.signs import Signs

LITERALS = ("rror", "error", "ERR", "not ok ", "fatal", "a", "r")
SIGNS = Signs(LITERALS)
TEXTS = st.lists(
    st.sampled_from((*LITERALS, " ", "é", "\ud800", "x", "not ", "ok", "er", "ror")), max_size=12
).map("".join)


@given(text=TEXTS | st.text(st.characters(), max_size=80))
def test_the_same_as_looking_for_each(text: str) -> None:
    """Also where one stands inside another, and in text that cannot be encoded."""
    assert SIGNS.held(text) == {place for place, sign in enumerate(LITERALS) if sign in text}
    assert SIGNS.any_in(text) == any(sign in text for sign in LITERALS)
