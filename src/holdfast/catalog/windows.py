"""How much a model can read, from the data of genai-prices (the extra `prices`)."""

from __future__ import annotations

from typing import Literal

from holdfast.catalog.models import models_called
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

    Names and `MissingExtra` are as `models_called` has them.
    """
    found = models_called(model, "the context length of a model")
    return next((one.context_window for _, one in found if one.context_window), None)
