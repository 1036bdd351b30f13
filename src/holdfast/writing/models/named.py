"""A summariser by its name, as settings and the command line write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from holdfast.catalog.windows import context_window
from holdfast.errors import InvalidSetting, MissingExtra, UnknownName
from holdfast.ports import Summarizer
from holdfast.writing.models.anthropic import anthropic
from holdfast.writing.models.litellm import litellm
from holdfast.writing.models.openai_chat import openai_chat
from holdfast.writing.models.openai_responses import openai_responses


class _Make(Protocol):
    def __call__(
        self, model: str, *, url: str, api_key: str, key_variable: str, context_length: int
    ) -> Summarizer: ...


MAKERS: Mapping[str, _Make] = {
    "openai": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "litellm": litellm,
}

NAMES = ("none", *(f"{kind}:MODEL" for kind in MAKERS))


def summarizer_named(
    spec: str,
    *,
    url: str = "",
    api_key: str = "",
    key_variable: str = "",
    context_length: int | None = None,
) -> Summarizer | None:
    """Return the summariser that `spec` names, None for `none`.

    `url` is another address than the provider's own. It is sent `api_key`, or the key in the
    variable `key_variable`; if neither is given, it is sent no key. If no context length is given,
    it is looked up by the model's name (the extra `prices`), and 0 where that is not known. Raises
    `UnknownName` for another kind, `InvalidSetting` without a model or with an address that is
    none, `MissingExtra` without the SDK. Nothing is imported or asked yet: keys are looked for
    at the first call.
    """
    if spec == "none":
        return None
    kind, _, model = spec.partition(":")
    make = MAKERS.get(kind)
    if make is None:
        raise UnknownName("summarizer", kind, NAMES)
    if not model.strip():
        raise InvalidSetting("summarizer", spec, f"a kind and a model, as in {kind}:MODEL")
    length = context_length if context_length is not None else _looked_up(model)
    return make(model, url=url, api_key=api_key, key_variable=key_variable, context_length=length)


def _looked_up(model: str) -> int:
    try:
        return context_window(model) or 0
    except MissingExtra:
        return 0
