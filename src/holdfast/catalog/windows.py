"""How much a model can read, from the data of genai-prices (the extra `prices`)."""

from __future__ import annotations

from typing import Literal

from holdfast.errors import MissingExtra
from holdfast.policy import ASSUMED_CONTEXT_LENGTH


def window_of(model: str, given: int | None) -> tuple[int, Literal["given", "model", "assumed"]]:
    """Return the window to reckon with and where it comes from: given, the model's, or assumed."""
    if given is not None:
        return given, "given"
    try:
        found = context_window(model)
    except MissingExtra:
        found = None
    return (found, "model") if found else (ASSUMED_CONTEXT_LENGTH, "assumed")


def context_window(model: str) -> int | None:
    """Return the context length of `model` in tokens, None where it is not known.

    A name may carry its provider, as in `anthropic/claude-sonnet-4-5`. Nothing is fetched: the
    data is the one that the package ships. Raises `MissingExtra` where it is not installed; it
    is imported only here, because it brings a validation library and an HTTP client.
    """
    if not model:
        return None
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        raise MissingExtra("prices", "the context length of a model") from None
    provider, _, name = model.rpartition("/")
    snapshot = get_snapshot()
    for reference, provider_id in ((name, provider or None), (model, None), (name, None)):
        try:
            _, found = snapshot.find_provider_model(reference, None, provider_id, None)
        except LookupError:
            continue
        if found.context_window:
            return found.context_window
    return None
