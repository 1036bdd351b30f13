"""`foldaway redact`: any text without its secrets, as a stream in constant memory."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, cast

import click

from foldaway.cli.draw import progress_bar
from foldaway.cli.files import (
    STANDARD,
    check_writable,
    count_of,
    is_terminal,
    label,
    mode_of,
    open_input,
    open_output,
)
from foldaway.cli.inputs import FILE, PATH, input_limits, options, output_option, usage_error
from foldaway.cli.settings import config_option, settings_from
from foldaway.config import redaction_policy
from foldaway.errors import NotReadable
from foldaway.redaction import Finding, RedactionPolicy, Redactor, Stream

FOUND, NOT_READ = 1, 2


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@output_option
@options(
    ("--report", bool, "Say how many secrets of each kind were found."),
    ("--check", bool, "Write nothing; exit 1 if a secret is found."),
    ("--code", bool, "Source code: assignments without quotes stay."),
    (
        "--personal/--no-personal",
        bool,
        "Hide telephone, card, account and social security numbers and e-mail addresses.",
        True,
    ),
    ("--mentions", bool, "Hide mentions of people (Discord)."),
    ("--keep KIND", [str], "Leave this kind alone; repeatable."),
)
@click.option("--key", default="", metavar="TEXT", help="Makes the tags of placeholders.")
@options(
    ("--rules rules_files FILE", [PATH], "Rules of your own, a TOML file; repeatable."),
    ("--without NAME", [str], "Switch this rule off; repeatable."),
    ("--explain", bool, "Say of each secret its line, its rule and the rule's gate."),
)
@config_option
def redact(
    files: tuple[str, ...], output: str, report: bool, check: bool, explain: bool, **given: Any
) -> int:
    """Write a text without its secrets.

    FILE is any text, - being standard input; gzip, UTF-16 and UTF-32 are read too, and written as
    UTF-8. It is read as a stream. A secret becomes [redacted:kind:tag], where the same secret has
    the same tag. Several files can be checked; the worst one decides the exit code.

    \b
    foldaway redact app.log -o clean.log --report
    kubectl logs pod | foldaway redact -
    foldaway redact --check .env src/*.py
    foldaway redact --check --explain app.log
    """
    redactor = Redactor(_policy(given))
    if check:
        return max(_check_file(name, redactor, explain=explain) for name in files)
    name, *others = files
    if others:
        raise usage_error("several files can only be checked (--check)")
    check_writable(output)
    is_shown = output == STANDARD and is_terminal(sys.stdout)
    tell = Explanation(name, redactor, to_stderr=True) if explain else None
    with source_of(name, bar=not is_shown) as pieces, _sink(output, mode_of(name)) as write:
        counts = _copy(pieces, write, redactor.stream(tell))
    if tell is not None:
        tell.print_rules()
    if report:
        _tell(name, counts, to_stderr=True)
    return 0


def _policy(given: Mapping[str, Any]) -> RedactionPolicy:
    """Return what the options ask for; the rules of the settings go with those of the options."""
    settings = redaction_policy(settings_from(given))
    return RedactionPolicy(
        **{name: given[name] for name in ("key", "personal", "mentions", "code", "keep")},
        rules_files=(*settings.rules_files, *given["rules_files"]),
        without=(*settings.without, *given["without"]),
    )


def _check_file(name: str, redactor: Redactor, *, explain: bool) -> int:
    tell = Explanation(name, redactor, to_stderr=False) if explain else None
    try:
        with source_of(name, bar=True) as pieces:
            counts = _copy(pieces, lambda _: None, redactor.stream(tell))
    except NotReadable as error:
        click.echo(f"foldaway: {error}", err=True)
        return NOT_READ
    if tell is not None:
        tell.print_rules()
    _tell(name, counts, to_stderr=False)
    return FOUND if counts else 0


def _copy(
    pieces: Iterable[bytes], write: Callable[[bytes], object], stream: Stream
) -> Counter[str]:
    for piece in pieces:
        write(stream.feed(piece))
    write(stream.finish())
    return stream.counts


class Explanation:
    """Prints why each secret of a file was hidden: rule, file of the rule and gate."""

    def __init__(self, name: str, redactor: Redactor, *, to_stderr: bool) -> None:
        """Take the file that is read; the rules are those of the redactor."""
        self._name = label(name)
        self._redactor = redactor
        self._rules = {rule.name: rule for rule in redactor.rules}
        self._err = to_stderr
        self._met: dict[str, None] = {}

    def __call__(self, found: Finding, line: int) -> None:
        """Print one secret, without its content."""
        self._met[found.rule] = None
        rule = self._rules.get(found.rule)
        by = found.rule if rule is None else f"rule {rule.name} ({rule.file}), gate {rule.gate}"
        click.echo(f"{self._name}:{line}: {found.kind} by {by}", err=self._err)

    def print_rules(self) -> None:
        """Print what the rules and gates that found something are, with an example."""
        for name in self._met:
            click.echo(f"  {name}: {self._redactor.explain(name)}", err=self._err)


def _tell(file: str, counts: Counter[str], *, to_stderr: bool) -> None:
    click.echo(f"{label(file)}: {count_of(counts.total(), 'secret')}", err=to_stderr)
    width = max(map(len, counts), default=0)
    for kind, count in counts.most_common():
        click.echo(f"  {kind:<{width}}  {count:>7,}", err=to_stderr)


@contextmanager
def _sink(name: str, mode: int) -> Generator[Callable[[bytes], object]]:
    """Give a function that writes; a file appears whole under its name, or not at all."""
    with open_output(name, mode) as file:
        if not name.endswith(".gz"):
            yield file.write
            return
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
            yield packed.write


PIECE = 1 << 20
LONG = 8 * PIECE
"""An input that is longer gets a bar."""


@contextmanager
def source_of(name: str, *, bar: bool) -> Generator[Iterator[bytes]]:
    """Give the pieces of an input, `-` being standard input; in UTF-8 if it is UTF-16 or UTF-32.

    With `bar`, a long input says on standard error how far it is, if that is a terminal. Raises
    `NotReadable` if there is no such input, if it is packed otherwise than by gzip, torn or not
    decodable.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open_input(name))
        except NotReadable as error:
            raise error.at(label(name)) from None
        size = 0 if name == STANDARD else os.fstat(file.fileno()).st_size
        yield _pieces(name, _unpack(file), size, bar=bar)


def _pieces(name: str, file: BinaryIO, size: int, *, bar: bool) -> Iterator[bytes]:
    where = label(name)
    try:
        pieces = _decode(file)
        is_shown = bar and is_terminal(sys.stderr)
        yield from _show_progress(pieces, where, size) if is_shown else pieces
    except NotReadable as error:
        raise error.at(where) from None
    except gzip.BadGzipFile:
        raise NotReadable("is no whole gzip file", where=where) from None
    except EOFError:
        raise NotReadable("ends in the middle", where=where) from None
    except UnicodeDecodeError:
        raise NotReadable("is not the UTF-16 or UTF-32 that it begins as", where=where) from None
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise NotReadable(f"cannot be read ({error.strerror})", where=where) from None


def _decode(file: BinaryIO) -> Iterator[bytes]:
    piece = file.read(PIECE)
    if packed := _PACKED.match(piece):
        raise NotReadable(f"is packed ({packed.lastgroup})", remedy="unpack it first")
    encoding = encoding_of(piece)
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass") if encoding else None
    limits, total = input_limits() if isinstance(file, gzip.GzipFile) else None, 0
    while piece:
        total += len(piece)
        if limits is not None:
            limits.check_unpacked(total)
        yield piece if decoder is None else decoder.decode(piece).encode("utf-8", "surrogatepass")
        piece = file.read(PIECE)
    if decoder is not None:
        decoder.decode(b"", final=True)


_GZIP = b"\x1f\x8b"
_PACKED = re.compile(
    rb"(?P<zip>PK\x03\x04)|(?P<xz>\xfd7zXZ\x00)|(?P<bzip2>BZh[1-9]1AY&SY)|(?P<zstd>\x28\xb5\x2f\xfd)"
    rb"|(?P<lz4>\x04\x22\x4d\x18)|(?P<sevenzip>7z\xbc\xaf\x27\x1c)"
)
"""What would be passed on with every secret in it, or broken."""
_SAMPLE = 4_096
_LEAST = 16
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNITS = (("utf-32-le", 4, 0), ("utf-32-be", 4, 3), ("utf-16-le", 2, 0), ("utf-16-be", 2, 1))
"""Encoding, bytes of a unit, and which of them is the character if that is ASCII."""


def encoding_of(start: bytes) -> str:
    """Return in which wide encoding a text begins, by its mark or its NULs; "" for none."""
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            return encoding
    sample = start[:_SAMPLE]
    for encoding, unit, place in _UNITS:
        low = sample[place::unit]
        others = [sample[at::unit] for at in range(unit) if at != place]
        if len(sample) >= _LEAST and _is_words(low) and all(map(_is_nothing, others)):
            return encoding
    return ""


def _is_words(column: bytes) -> bool:
    return sum(32 <= byte < 127 or byte in b"\t\r\n" for byte in column) > 0.9 * len(column)


def _is_nothing(column: bytes) -> bool:
    return column.count(0) > 0.9 * len(column)


def _unpack(file: BinaryIO) -> BinaryIO:
    peek = getattr(file, "peek", None)
    packed = peek is not None and bytes(peek(2)[:2]) == _GZIP
    return cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file


def _show_progress(pieces: Iterator[bytes], name: str, size: int) -> Iterator[bytes]:
    """Pass the pieces on, with a bar on standard error where the input is long."""
    passed = 0
    while passed < LONG and not size > LONG:
        piece = next(pieces, None)
        if piece is None:
            return
        yield piece
        passed += len(piece)
    from rich.progress import DownloadColumn, TransferSpeedColumn

    columns = (DownloadColumn(), TransferSpeedColumn())
    with progress_bar(name, quiet=False, total=size or None, columns=columns) as update:
        update(advance=passed)
        for piece in pieces:
            yield piece
            update(advance=len(piece))
