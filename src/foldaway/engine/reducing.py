"""Reduce one text: with the default counter, and with a reducer that another package brings."""

from __future__ import annotations

from foldaway._core import PluginKind, Redact, TokenCounter
from foldaway.errors import InvalidSetting
from foldaway.reduction import Kind, Reduced, TextReducer, reduce_text
from foldaway.transcript import Estimator

REDUCERS_GROUP = "foldaway.reducers"
"""The entry-point group under which other packages register text reducers."""
_REDUCERS = PluginKind(group=REDUCERS_GROUP, word="reducer", setting="reducer")


def reduce(
    text: str,
    kind: Kind | None = None,
    budget_tokens: int = 2_000,
    reference: str = "",
    *,
    hint: str = "",
    counter: TokenCounter | None = None,
    reducer: TextReducer | str | None = None,
    redact: Redact | None = None,
) -> Reduced:
    """Return a text in at most `budget_tokens`; as it is if it fits.

    What it is (`kind`, found from the text and `hint`, the name of a file, if it is not named)
    decides what stays: errors, failing tests, changed files, counts, status before everything
    else. The result says what it left out and names the `reference`, by which the caller can give
    the original back. It never has more tokens or characters than the text, reducing it again
    changes nothing, and JSON stays valid JSON. A `reducer` from elsewhere, or the name under which
    another package registered one, goes first. With `redact` secrets are hidden first; without it
    they stay, because the text is the caller's own. Raises `InvalidSetting` and `UnknownName`.
    """
    InvalidSetting.check_type("text", text, str, "a text")
    InvalidSetting.check_type("budget_tokens", budget_tokens, int, "a number of tokens")
    if isinstance(reducer, str):
        reducer = find_reducer(reducer)
    counts = counter or Estimator()
    if redact is not None:
        text = redact(text)
    return reduce_text(
        text, kind, budget_tokens, reference, counter=counts, hint=hint, reducer=reducer
    )


def find_reducer(name: str) -> TextReducer:
    """Return a text reducer that another package brings, or raise `UnknownName`."""
    return _REDUCERS.load(name)
