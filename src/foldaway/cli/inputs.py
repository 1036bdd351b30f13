"""What commands share: how options are declared, a file read with them, reports as JSON."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, Generic, TypeAlias, TypeVar

import click
from msgspec import UNSET, Struct, UnsetType, to_builtins

from foldaway.cli import say
from foldaway.cli.files import STANDARD, label, mode_of, write_bytes, write_output
from foldaway.config import read_settings
from foldaway.dialects import (
    DIALECTS,
    PROFILES,
    Action,
    Document,
    Limits,
    Loss,
    Profile,
    Record,
    dialect_for,
    dump_bytes,
)
from foldaway.errors import NotReadable, WrongDialect
from foldaway.transcript import Transcript, Violation

F = TypeVar("F", bound=Callable[..., Any])
Found = TypeVar("Found", Violation, Action, Loss)

OptionRow: TypeAlias = tuple[str, Any, str] | tuple[str, Any, str, Any]
"""What `options` takes for each."""

FILE = click.Path(allow_dash=True)
PATH = click.Path()
DIALECT = click.Choice(list(DIALECTS))
PROVIDER = click.Choice(list(PROFILES))
COUNT = click.IntRange(min=1)
AMOUNT = click.FloatRange(min=0)
FOLDER = click.Path(exists=True, file_okay=False)


def options(*rows: OptionRow) -> Callable[[F], F]:
    """Return a decorator that adds options to a command, in this order.

    A row has the option as help shows it, the type, the help and, if there is one, the default,
    which is shown; `...` is an option that must be given. A word in lower case behind the flags is
    the name of the parameter, the rest the metavariable. The type `bool` is a flag that is given or
    not, `[T]` an option that can be repeated.
    """

    def add(command: F) -> F:
        for usage, kind, text, *default in reversed(rows):
            words = usage.split()
            names = [word for word in words if word[0] == "-" or word.islower()]
            shown = " ".join(words[len(names) :]) or None
            settings: dict[str, Any] = {"metavar": shown, "help": text}
            if kind is bool:
                settings["is_flag"] = True
            elif isinstance(kind, list):
                settings |= {"type": kind[0], "multiple": True}
            else:
                settings["type"] = kind
            if default == [...]:
                settings["required"] = True
            elif default:
                settings |= {"default": default[0], "show_default": default[0] != ""}
            command = click.option(*names, **settings)(command)
        return command

    return add


_DIALECT_ROW = ("--dialect", DIALECT, "Wire format of FILE; by default detected from its content.")
JSON_ROW = ("--json as_json", bool, "Print JSON lines for programs.")
dialect_option = options(_DIALECT_ROW)
json_option = options(JSON_ROW)
reading_options = options(
    ("--provider", PROVIDER, "Whose rules; by default those of the dialect."),
    _DIALECT_ROW,
    JSON_ROW,
)
output_option = click.option(
    "-o",
    "--output",
    type=FILE,
    default=STANDARD,
    metavar="OUT",
    help="Where to write; standard output by default, gzip if it ends in .gz.",
)


def usage_error(sentence: str) -> click.UsageError:
    """Return the error of a command that is called in a wrong way."""
    return click.UsageError(sentence, click.get_current_context())


def confirm(question: str, remedy: str, show: Callable[[], object] = lambda: None) -> bool:
    """Ask on the terminal, after `show`; without one raise the remedy."""
    if not sys.stdin.isatty():
        raise usage_error(f"there is no terminal to ask on; {remedy}")
    show()
    return click.confirm(question, err=True)


def numbers_in(text: str) -> list[float]:
    """Return numbers with commas between them, sorted, each once; none if one is not a number."""
    try:
        return sorted({float(part) for part in text.split(",")})
    except ValueError:
        return []


class Input(Struct, frozen=True):
    """A file that was read: its transcripts, and the profile that each is checked against."""

    name: str
    data: bytes
    """As it was on the disk, compressed or not."""
    document: Document
    profiles: tuple[Profile, ...]
    is_native: bool = False
    """Whether the messages were taken out of a file of an agent, a folder of them, or a store."""

    @property
    def records(self) -> tuple[Record, ...]:
        """The transcripts with their places in the file."""
        return self.document.records

    @property
    def transcripts(self) -> list[Transcript]:
        """The transcripts alone."""
        return [record.transcript for record in self.records]

    @property
    def holds_many(self) -> bool:
        """Whether the file is a collection of transcripts, so that places need a record."""
        return self.document.layout in ("record lines", "record list")

    @property
    def dialect(self) -> str:
        """The dialect of the transcripts; several, in order of appearance, joined by commas."""
        return ", ".join(dict.fromkeys(transcript.dialect for transcript in self.transcripts))

    @property
    def provider(self) -> str:
        """The name of the profile that was used; several as in `dialect`."""
        return ", ".join(dict.fromkeys(profile.name for profile in self.profiles))

    @property
    def message_count(self) -> int:
        """The messages of all transcripts together."""
        return sum(len(transcript.messages) for transcript in self.transcripts)

    def place(self, number: int) -> str:
        """Return how a transcript is called before what is said of it, "" if it is the only one."""
        name = self.records[number].name or place_of(self, number).name
        return f"{name}: " if name else ""

    def write(self, output: str, text: bytes) -> None:
        """Write what was made of the file; a packed file that did not change keeps its bytes."""
        is_same = text == self.document.source and self.document.compressed
        if is_same and output.endswith(".gz"):
            write_bytes(output, self.data, mode=mode_of(self.name))
        else:
            write_output(output, text, self.name)


def input_limits() -> Limits:
    """Return how much of an input the command that runs may read, by its settings."""
    context = click.get_current_context(silent=True)
    return read_settings(context.params.get("config") if context else None).limits


def refuse_contradiction(provider: str | None, dialect: str | None) -> None:
    """Raise a usage error if the provider does not speak the dialect."""
    try:
        dialect_for(provider, dialect)
    except WrongDialect as error:
        raise usage_error(str(error)) from None


class RecordPlace(Struct, frozen=True):
    """Which transcript of a file with several: `record` counts from 0, and in JSON lines `line`
    from 1.
    """

    record: int | UnsetType = UNSET
    line: int | UnsetType = UNSET

    @property
    def name(self) -> str:
        """The place for people, "" if it is unset."""
        if self.line is not UNSET:
            return f"line {self.line}"
        return "" if self.record is UNSET else f"record {self.record}"


def row_of(given: Input, record: int) -> dict[str, object]:
    """Return the file and which of its transcripts is meant, as printed for programs."""
    return {"file": given.name, **to_builtins(place_of(given, record))}


def place_of(given: Input, record: int) -> RecordPlace:
    """Return which transcript of the file is meant; unset if it contains only one."""
    if not given.holds_many:
        return RecordPlace()
    return RecordPlace(record, given.records[record].line or UNSET)


class Located(Struct, Generic[Found], frozen=True):
    """A finding in a file, and in which of its transcripts it is."""

    value: Found
    place: RecordPlace

    @property
    def where(self) -> str:
        """The place of its message in the file, for people."""
        message = f"#{self.value.index}" if self.value.index >= 0 else "request"
        return f"{self.place.name} {message}".lstrip()

    def row(self) -> dict[str, object]:
        """Return it as it is printed for programs."""
        return {**to_builtins(self.value), **to_builtins(self.place)}


def locate(given: Input, record: int, values: Iterable[Found]) -> list[Located[Found]]:
    """Return findings in one transcript of a file with their place."""
    place = place_of(given, record)
    return [Located(value, place) for value in values]


def print_json(value: object, *, err: bool = False) -> None:
    """Print a value, structs in it too, as one line of JSON."""
    click.echo(dump_bytes(to_builtins(value)), err=err)


def report_unreadable(name: str, error: NotReadable, *, as_json: bool, err: bool = False) -> int:
    """Report a file that is not a transcript, and return the exit code that goes with it."""
    if as_json:
        print_json({"file": name, "valid": False, "error": str(error)}, err=err)
        return 2
    return say(f"{label(name)}: {error}")


@contextmanager
def reading(name: str, *, as_json: bool, err: bool = False) -> Generator[None]:
    """Report a file that turns out not to be readable within the block, and end the command."""
    try:
        yield
    except NotReadable as error:
        code = report_unreadable(name, error, as_json=as_json, err=err)
        raise click.exceptions.Exit(code) from None


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
