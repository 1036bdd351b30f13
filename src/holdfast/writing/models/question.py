"""What the APIs have in common in how a question is put."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.errors import WrongDialect
from holdfast.ports import CachedPrefix, SummaryRequest

_FREE = ("auto", "none")


def prefix_in(request: SummaryRequest, dialect: str, api: str) -> CachedPrefix | None:
    """Return the prefix to ride on; raise `WrongDialect` where it is another API's."""
    prefix = request.prefix
    if prefix is not None and prefix.dialect != dialect:
        raise WrongDialect(api, dialect, prefix.dialect)
    return prefix


def appended_text(request: SummaryRequest) -> str:
    """Return the one user text that goes after a prefix."""
    return f"{request.instructions}\n\n{request.prompt}"


def choice_in(prefix: CachedPrefix) -> Any:
    """Return the tool choice of the main request where it leaves the model free to write, else
    None: who must call a tool writes no summary.
    """
    choice = prefix.tool_choice
    if not isinstance(choice, Mapping):
        return choice if choice in _FREE else None
    kind, held = choice.get("type"), choice.get("allowed_tools")
    if kind == "allowed_tools":
        kind = (held if isinstance(held, Mapping) else choice).get("mode")
    return choice if kind in _FREE else None


def schema_in(request: SummaryRequest) -> Mapping[str, Any] | None:
    """Return the schema to hold the model to.

    With a prefix there is none: providers put the schema before the system text, so that one
    that the main request did not have would cost the whole cache.
    """
    return None if request.prefix is not None else request.schema


def is_strict(schema: Any) -> bool:
    """Whether every object of a schema is closed and has all its fields required."""
    if isinstance(schema, list):
        return all(is_strict(each) for each in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        names = schema.get("properties") or {}
        required = schema.get("required") or []
        if schema.get("additionalProperties") is not False or set(names) != set(required):
            return False
    return all(is_strict(each) for each in schema.values())
