"""Records in Parquet files, through pyarrow."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingImports=false, reportUnknownArgumentType=false

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.errors import MissingExtra, NotReadable, NotWritable

_ROWS_AT_ONCE = 256


def require_parquet() -> None:
    """Raise `MissingExtra` where Parquet cannot be read or written."""
    _modules()


def read_rows(path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file as objects, a few hundred in memory at a time."""
    pyarrow, parquet = _modules()
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
                yield from batch.to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        what = f"cannot be read as Parquet ({_first_line(error)})"
        raise NotReadable(what, where=path, remedy="check the file") from None


def packed_rows(rows: Sequence[Any], name: str) -> bytes:
    """Return a Parquet file of objects; their types are told from the rows of this file alone."""
    pyarrow, parquet = _modules()
    out = io.BytesIO()
    try:
        parquet.write_table(pyarrow.Table.from_pylist(list(rows)), out, compression="zstd")
    except (pyarrow.ArrowException, TypeError, AttributeError) as error:
        what = f"these records have no common columns ({_first_line(error)})"
        raise NotWritable(name, what, remedy="write JSON lines instead (--format jsonl)") from None
    return out.getvalue()


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]


def _modules() -> tuple[Any, Any]:
    try:
        import pyarrow  # pyright: ignore[reportMissingTypeStubs]
        from pyarrow import parquet  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise MissingExtra("trajectories", "reading and writing Parquet") from None
    return pyarrow, parquet
