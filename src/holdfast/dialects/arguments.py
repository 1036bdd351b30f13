"""Call arguments where the wire holds an object: text in the model, an object outside."""

from __future__ import annotations

from typing import Any

from holdfast.dialects.jsontext import dump_text, parse
from holdfast.dialects.shape import Flaws, kind_of, object_text
from holdfast.errors import NotReadable


def arguments_text(value: Any, at: str, flaws: Flaws) -> str:
    """Return an argument object as compact JSON; what is no object is noted and put into one."""
    if type(value) is dict:
        return dump_text(value)
    flaws.add(
        "arguments-object", at, f"is {kind_of(value)}, not an object",
        "make it an object, {} where there are no arguments",
    )  # fmt: skip
    return object_text(value)


def arguments_value(text: str, had: Any = None) -> dict[str, Any]:
    """Return the object that `text` stands for: `had` itself where it says the same.

    Text that is no JSON object goes under `value`, as it does when it is read.
    """
    if type(had) is dict and dump_text(had) == text:  # pyright: ignore[reportUnknownArgumentType]
        return had  # pyright: ignore[reportUnknownVariableType]
    if not text.strip():
        return {}
    try:
        value = parse(text.encode("utf-8", "surrogatepass"))
    except (NotReadable, UnicodeError):
        return {"value": text}
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"value": value}  # pyright: ignore[reportUnknownVariableType]
