"""A table of rows as one test: `parametrize` makes every row an item, and an item has its price."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeAlias, TypeGuard

import pytest

Ids: TypeAlias = Callable[[Any], object] | Iterable[object] | None
Test: TypeAlias = Callable[..., None]

LONGEST_NAME = 80
"""So many characters of a row without a name of its own: enough to find it in its table."""


def each_row(
    names: str | Sequence[str], rows: Iterable[Any], ids: Ids = None
) -> Callable[[Test], Test]:
    """Call a test with every row, and name all rows that fail, each with its own error.

    Written as `pytest.mark.parametrize` is. The rows share the fixtures of the test, so what a
    test changes in its fixtures must not matter to the next row. If a row skips, the others run and
    then the test skips with its reason.
    """
    split = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    table = list(
        _named(split, list(rows), ids, is_tuple=len(split) > 1 or not isinstance(names, str))
    )
    if not table:
        raise ValueError(f"no rows of {', '.join(split)!r}")

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in split]
        if inspect.iscoroutinefunction(test) or len(left) + len(split) != len(signature.parameters):
            raise TypeError(f"{test.__name__!r} is async, or does not take {split!r}")

        @wraps(test)
        def run_rows(**fixtures: Any) -> None:
            failed: dict[str, BaseException] = {}
            skipped: list[str] = []
            for name, values in table:
                try:
                    test(**fixtures, **values)
                except pytest.skip.Exception as reason:
                    skipped.append(f"row {name}: {reason}")
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  every row has its say
                    error.add_note(f"row {name}")
                    failed[name] = error
            if failed:
                what = f"{len(failed)} of {len(table)} rows failed: {'; '.join(failed)}"
                raise BaseExceptionGroup(what, list(failed.values()))
            if skipped:
                pytest.skip("; ".join(skipped))

        run_rows.__dict__["__signature__"] = signature.replace(parameters=left)
        return run_rows

    return decorate


def _named(
    names: Sequence[str], rows: Sequence[Any], ids: Ids, *, is_tuple: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    given = list(ids) if _is_listed(ids) else [None] * len(rows)
    for at, (row, own_id) in enumerate(zip(rows, given, strict=True)):
        values, name = row if is_tuple else (row,), own_id
        if _is_param(row):
            if row.marks:
                raise ValueError(f"a row has no marks of its own: {row!r}")
            values, name = row.values, row.id or own_id
        if name is None and callable(ids):
            name = "-".join(str(ids(value)) for value in values)
        if name is None:
            name = ", ".join(map(repr, values))
        short = f"{name}" if len(f"{name}") <= LONGEST_NAME else f"{name}"[:LONGEST_NAME] + "…"
        yield f"{at} ({short})", dict(zip(names, values, strict=True))


def _is_listed(ids: Ids) -> TypeGuard[Iterable[object]]:
    return ids is not None and not callable(ids)


def _is_param(row: Any) -> bool:
    return type(row) is type(pytest.param())
