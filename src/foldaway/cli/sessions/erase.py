"""`foldaway sessions erase`: the words of a person or a project."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from foldaway.cli import say
from foldaway.cli.draw import progress_bar
from foldaway.cli.files import STANDARD, count_of, is_terminal, read_bytes
from foldaway.cli.inputs import confirm, json_option, options, print_json, usage_error
from foldaway.cli.settings import home_of, settings_from
from foldaway.cli.stores import clip_id, open_given, store_options
from foldaway.config import Settings, external_memory
from foldaway.errors import FoldawayError
from foldaway.memory import FilesProvider, MemoryProvider, memory_folder
from foldaway.sessions import Erasure, erase_words

_SHOWN = 10
"""Places that are listed; --json has all."""


@click.command()
@options(
    ("--person NAME", str, "Key or source of conversations; author of messages in others.", ""),
    ("--project FOLDER", str, "All sessions that ran in this folder or inside it."),
    ("--words TEXT", [str], "All messages with these words; repeatable; - reads lines of input."),
    ("--also PATH", [str], "A file or folder to check too, such as a backup; repeatable."),
    ("--dry-run", bool, "Show what would be erased; nothing is."),
    ("--yes", bool, "Do not ask."),
)
@store_options
@json_option
def erase(
    person: str,
    project: str | None,
    words: Sequence[str],
    also: Sequence[str],
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Erase the words of a person or a project, and prove it.

    Conversations of a person or a project are deleted. In other conversations the messages of the
    person, those that quote a line of them, and those with the given words say [erased] from then
    on; summaries that may quote them are dropped, and notes in memory with the words are removed.
    Then the store is rewritten and read again, byte by byte. If something is left, it is named
    and the exit code is 1.

    \b
    foldaway sessions erase --person telegram:42 --dry-run
    foldaway sessions erase --person alice --words "alice@example.org" --also backups/
    foldaway sessions erase --project ~/work/secret --yes
    """
    sought = [line for text in words for line in _lines(text)]
    if not (person or project is not None or sought):
        raise usage_error("give --person, --project or --words")
    asked: dict[str, Any] = {"person": person, "project": project, "words": sought}
    folder = memory_folder(home_of(given), settings_from(given).profile)
    with open_given(given, "write") as store, _memories(given, folder) as memories:
        plan = Erasure()
        with _progress(is_shown=not as_json) as tell:
            if dry_run or not yes:
                plan = erase_words(store, **asked, memories=memories, dry_run=True, tell=tell)
        if dry_run:
            _print(plan, as_json=as_json)
            return 0
        question, remedy = f"Erase {_counts(plan)} permanently?", "give --yes to erase"
        remedy = f"{remedy}, or --dry-run to see the list"
        if not yes and not confirm(question, remedy, lambda: _print_places(plan)):
            return say("nothing was erased", 1)
        with _progress(is_shown=not as_json) as tell:
            places = [*also, *([folder] if folder.exists() else [])]
            done = erase_words(store, **asked, memories=memories, also=places, tell=tell)
    _print(done, as_json=as_json)
    is_left = done.cannot_forget or (done.proof is not None and done.proof.left)
    return 1 if is_left else 0


def _lines(text: str) -> list[str]:
    if text != STANDARD:
        return [text]
    return [line for line in read_bytes(STANDARD).decode("utf-8", "replace").splitlines() if line]


@contextmanager
def _memories(given: dict[str, Any], folder: Path) -> Generator[list[MemoryProvider]]:
    """Give the memories of the profile: the files, and the external one of the settings."""
    found = [FilesProvider(folder), *_external(settings_from(given))]
    try:
        yield found
    finally:
        for one in found:
            one.close()


def _external(settings: Settings) -> Iterator[MemoryProvider]:
    if not settings.memory:
        return
    try:
        external = external_memory(settings)
    except FoldawayError:  # it cannot be opened here, so it cannot forget
        external = MemoryProvider()
        external.name = settings.memory
    if external is not None:
        yield external


@contextmanager
def _progress(*, is_shown: bool) -> Generator[Callable[[str, int, int], object]]:
    with progress_bar("looking", quiet=not (is_shown and is_terminal(sys.stderr))) as update:
        yield lambda what, done, total: update(
            description=what, completed=done, total=total or None
        )


def _print(done: Erasure, *, as_json: bool) -> None:
    if as_json:
        print_json(done)
        return
    _print_places(done)
    if not done.is_done:
        click.echo(f"{_counts(done)} would be erased; nothing was")
        return
    click.echo(f"erased: {_counts(done)}; {count_of(done.views, 'view')} dropped")
    for name in done.kept_for:
        click.echo(f"what {clip_id(name)} shares with an erased session stays with it")
    for name in done.cannot_forget:
        click.echo(f"the memory {name} cannot forget: remove the words there", err=True)
    _print_proof(done)


def _print_proof(done: Erasure) -> None:
    if (proof := done.proof) is None:
        return
    size = sum(one.bytes for one in proof.files)
    sought = count_of(proof.words, "text")
    lines = f"{proof.lines:,} of {count_of(proof.of_lines, 'line')}"
    where = f"{count_of(proof.bodies, 'body', 'bodies')} unpacked"
    if proof.files:
        where += f", {count_of(len(proof.files), 'file')} with {size:,} bytes"
    click.echo(f"looked for: {sought} and {lines} of what is gone, in all tables, {where}")
    for place in proof.shared_places[:_SHOWN]:
        click.echo(f"the same line was said in {place}, and stays")
    for place in proof.left:
        click.echo(f"left: {place}", err=True)
    found = count_of(len(proof.left), "place")
    click.echo(f"✗ left in {found}" if proof.left else "✓ found nowhere")


def _print_places(plan: Erasure) -> None:
    for name in plan.sessions[:_SHOWN]:
        click.echo(f"{clip_id(name)}  whole", err=True)
    for one in plan.messages[:_SHOWN]:
        click.echo(f"{clip_id(one.session)}  m{one.position}  {one.why}", err=True)
    more = sum(max(len(some) - _SHOWN, 0) for some in (plan.sessions, plan.messages))
    if more:
        click.echo(f"and {more:,} more", err=True)


def _counts(plan: Erasure) -> str:
    whole, messages = (
        count_of(len(plan.sessions), "session"),
        count_of(plan.whole_messages, "message"),
    )
    parts = count_of(len(plan.messages), "message")
    others = count_of(len(plan.touched), "session")
    notes = count_of(plan.notes, "note")
    return f"{whole} with {messages}, the words of {parts} in {others} that stay, {notes}"
