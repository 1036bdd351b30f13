"""Placeholder until the dialect is written."""

from msgspec.structs import replace

from holdfast.dialects import openai_chat


def _never(items: object, body: object) -> int:
    return 0


DIALECT = replace(openai_chat.DIALECT, name="sharegpt", likeness=_never)
