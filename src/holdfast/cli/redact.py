"""`holdfast redact`: any text without its secrets, as a stream in constant memory."""

from __future__ import annotations

import codecs
import gzip
import os
import secrets
import stat
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import click

from holdfast.cli.files import STANDARD, check_writable, label
from holdfast.cli.inputs import FILE, output_option
from holdfast.errors import NotReadable, NotWritable
from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.redaction.policy import DEFAULT_KEY

PIECE = 1 << 20
FOUND = 1


@click.command()
@click.argument("file", type=FILE)
@output_option
@click.option("--report", is_flag=True, help="Say how many secrets of each kind were found.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where something was found.")
@click.option("--code", is_flag=True, help="Source code: assignments without quotes stay.")
@click.option(
    "--personal/--no-personal", default=True, show_default=True,
    help="Hide telephone, card, account and social security numbers and e-mail addresses.",
)  # fmt: skip
@click.option("--mentions", is_flag=True, help="Hide mentions of people (Discord).")
@click.option("--keep", multiple=True, metavar="KIND", help="Leave this kind alone; repeatable.")
@click.option("--key", default=DEFAULT_KEY, metavar="TEXT", help="Makes the tags of placeholders.")
def redact(
    file: str, output: str, report: bool, check: bool, code: bool, personal: bool, mentions: bool,
    keep: tuple[str, ...], key: str,
) -> int:  # fmt: skip
    """Write a text without its secrets.

    FILE is any text, - being standard input, gzip or UTF-16 too; it is read as a stream. A secret
    becomes [redacted:kind:tag], where the same secret has the same tag.

    \b
    holdfast redact app.log -o clean.log --report
    kubectl logs pod | holdfast redact -
    holdfast redact --check .env
    """
    policy = RedactionPolicy(
        key=key, personal=personal, mentions=mentions, code=code, keep=frozenset(keep)
    )
    if not check:
        check_writable(output)
    with _source(file) as source:
        if check:
            counts = _copy(source, _nowhere, policy)
        else:
            with _sink(output) as write:
                counts = _copy(source, write, policy)
    if report or check:
        _tell(file, counts, to_stderr=not check)
    return FOUND if check and counts else 0


def _copy(
    source: _Source, write: Callable[[bytes], object], policy: RedactionPolicy
) -> Counter[str]:
    stream = Redactor(policy).stream()
    for piece in source.pieces():
        write(stream.feed(piece))
    write(stream.finish())
    return stream.counts


def _nowhere(_: bytes) -> None:
    """Take what --check does not write."""


def _tell(file: str, counts: Counter[str], *, to_stderr: bool) -> None:
    total = sum(counts.values())
    click.echo(f"{label(file)}: {total:,} {'secret' if total == 1 else 'secrets'}", err=to_stderr)
    width = max(map(len, counts), default=0)
    for kind, count in counts.most_common():
        click.echo(f"  {kind:<{width}}  {count:>7,}", err=to_stderr)


class _Source:
    """The pieces of an input, in UTF-8 where its mark says how it is encoded."""

    def __init__(self, name: str, file: BinaryIO, size: int) -> None:
        self._name = name
        self._file = file
        self._size = size

    def pieces(self) -> Iterator[bytes]:
        try:
            yield from _with_progress(self._decoded(), label(self._name), self._size)
        except gzip.BadGzipFile:
            raise NotReadable("is no whole gzip file", where=label(self._name)) from None
        except EOFError:
            raise NotReadable("ends in the middle", where=label(self._name)) from None
        except UnicodeDecodeError:
            raise NotReadable(
                "is not the UTF-16 that its mark says", where=label(self._name)
            ) from None
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            raise NotReadable(
                f"cannot be read ({error.strerror})", where=label(self._name)
            ) from None

    def _decoded(self) -> Iterator[bytes]:
        first = self._file.read(PIECE)
        if first[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) and first[:4] != _UTF32_LE:
            decoder = codecs.getincrementaldecoder("utf-16")()
            while first:
                yield decoder.decode(first).encode("utf-8", "surrogatepass")
                first = self._file.read(PIECE)
            decoder.decode(b"", final=True)
            return
        while first:
            yield first
            first = self._file.read(PIECE)


_UTF32_LE = codecs.BOM_UTF32_LE
_GZIP = b"\x1f\x8b"


@contextmanager
def _source(name: str) -> Generator[_Source]:
    try:
        if name == STANDARD:
            if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
                raise NotReadable("is closed", where=label(name), remedy="pipe something in")
            yield _Source(name, _unpacked(sys.stdin.buffer), 0)
            return
        with open(name, "rb") as file:
            yield _Source(name, _unpacked(file), os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        raise NotReadable("does not exist", where=label(name), remedy="check the name") from None
    except IsADirectoryError:
        raise NotReadable("is a directory", where=label(name), remedy="name a file in it") from None
    except PermissionError:
        raise NotReadable(
            "may not be read", where=label(name), remedy="check its permissions"
        ) from None
    except ValueError as error:
        raise NotReadable(f"cannot be read ({error})", where=label(name)) from None


def _unpacked(file: BinaryIO) -> BinaryIO:
    peek = getattr(file, "peek", None)
    packed = peek is not None and bytes(peek(2)[:2]) == _GZIP
    return cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file


@contextmanager
def _sink(name: str) -> Generator[Callable[[bytes], object]]:
    """Give a function that writes; a file appears whole under its name, or not at all."""
    if name == STANDARD:
        sys.stdout.flush()
        yield sys.stdout.buffer.write
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(name))
    if target.exists() and not target.is_file():
        with open(target, "wb") as file:
            yield file.write
        return
    new = target.with_name(f".holdfast-{secrets.token_hex(6)}.tmp")
    try:
        with _opened(name, new) as file:
            if target.exists():
                os.chmod(new, stat.S_IMODE(target.stat().st_mode))
            packed = (
                gzip.GzipFile(fileobj=file, mode="wb", mtime=0) if name.endswith(".gz") else None
            )
            yield (packed or file).write
            if packed is not None:
                packed.close()
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _opened(name: str, new: Path) -> BinaryIO:
    try:
        return open(new, "xb")
    except OSError as error:
        raise NotWritable(name, f"cannot be written ({error.strerror})") from None


def _with_progress(pieces: Iterator[bytes], name: str, size: int) -> Iterator[bytes]:
    """Pass the pieces on; a bar on standard error where it is a terminal and the input is long."""
    if not sys.stderr.isatty() or 0 < size < 8 * PIECE:
        yield from pieces
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=size or None)
        for piece in pieces:
            yield piece
            progress.advance(task, len(piece))
