"""`foldaway redact`: any text without its secrets, as a stream in constant memory."""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

import click

from foldaway.cli.files import (
    STANDARD,
    check_writable,
    count_of,
    is_terminal,
    label,
    mode_of,
    open_output,
)
from foldaway.cli.inputs import FILE, PATH, options, output_option, usage_error
from foldaway.cli.redact_input import source_of
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
    ("--check", bool, "Write nothing; exit 1 where something was found."),
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
