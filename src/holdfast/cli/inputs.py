"""What a command was given: the options that commands share, and a file read with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from msgspec import Struct

from holdfast.cli.files import STANDARD, read_bytes
from holdfast.config import read_settings
from holdfast.dialects.document import Document, Record, read_document
from holdfast.dialects.limits import Limits
from holdfast.dialects.profiles import PROFILES, dialect_for, profile_for
from holdfast.dialects.registry import DIALECTS
from holdfast.dialects.rule import Profile
from holdfast.errors import WrongDialect
from holdfast.transcript import Transcript

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(allow_dash=True)
DIALECT = click.Choice(list(DIALECTS))
PROVIDER = click.Choice(list(PROFILES))


class Input(Struct, frozen=True):
    """A file that was read: its transcripts, and the profile that each is held against."""

    name: str
    data: bytes
    """As it was on the disk, compressed or not."""
    document: Document
    profiles: tuple[Profile, ...]

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
        return _joined([transcript.dialect for transcript in self.transcripts])

    @property
    def provider(self) -> str:
        """The name of the profile that was used; several as in `dialect`."""
        return _joined([profile.name for profile in self.profiles])

    @property
    def message_count(self) -> int:
        """The messages of all transcripts together."""
        return sum(len(transcript.messages) for transcript in self.transcripts)


def read_input(name: str, provider: str | None, dialect: str | None) -> Input:
    """Return the file with its transcripts decoded, or raise `NotReadable`."""
    limits = input_limits()
    data = read_bytes(name, limits)
    document = read_document(data, dialect=dialect_for(provider, dialect), limits=limits)
    profiles = [profile_for(record.transcript.dialect, provider) for record in document.records]
    return Input(name, data, document, tuple(profiles))


def input_limits() -> Limits:
    """Return how much of an input the command that runs may read, by its settings."""
    context = click.get_current_context(silent=True)
    return read_settings(context.params.get("config") if context else None).limits


def refuse_contradiction(provider: str | None, dialect: str | None) -> None:
    """Raise a usage error where the provider does not speak the dialect."""
    try:
        dialect_for(provider, dialect)
    except WrongDialect as error:
        raise click.UsageError(str(error), click.get_current_context()) from None


def reading_options(command: F) -> F:
    """Add `--provider`, `--dialect` and `--json` to a command."""
    return provider_option(dialect_option(json_option(command)))


def provider_option(command: F) -> F:
    """Add `--provider` to a command."""
    return click.option(
        "--provider", type=PROVIDER,
        help="Whose rules; those of the dialect where it is not named.",
    )(command)  # fmt: skip


def dialect_option(command: F) -> F:
    """Add `--dialect` to a command."""
    return click.option(
        "--dialect", type=DIALECT,
        help="The wire format of FILE; found from the data where it is not named.",
    )(command)  # fmt: skip


def json_option(command: F) -> F:
    """Add `--json` to a command."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print JSON for programs, one object a line."
    )(command)


def output_option(command: F) -> F:
    """Add `-o` to a command."""
    return click.option(
        "-o", "--output", type=click.Path(allow_dash=True), default=STANDARD, metavar="OUT",
        help="Where to write; standard output where it is not named, gzip where it ends in .gz.",
    )(command)  # fmt: skip


def _joined(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))
