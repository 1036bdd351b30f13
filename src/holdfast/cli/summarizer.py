"""The options that name who writes summaries, and the line that shows that somebody is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from holdfast.cli.files import label
from holdfast.config import Settings, writers_from
from holdfast.transcript import Transcript
from holdfast.writing.native import NativeCompaction, native_of, why_never
from holdfast.writing.writers import Writers

F = TypeVar("F", bound=Callable[..., Any])

SUMMARIZER_OPTIONS: tuple[tuple[str, str, Any, str, str], ...] = (
    ("--summarizer", "summarizer.model", str, "WHO",
     "Who writes the summary: none, openai:MODEL, openai-responses:MODEL, anthropic:MODEL or "
     "litellm:MODEL; keys come from the usual variables."),
    ("--summarizer-url", "summarizer.url", str, "URL", "Another address for the summariser."),
    ("--summarizer-key-variable", "summarizer.key_variable", str, "NAME",
     "The variable with the key for that address; no key is sent without it."),
    ("--summarizer-window", "summarizer.context_length", int, "N",
     "What the summarizer can read, in tokens; looked up by its name, else 32,000."),
    ("--fallback-summarizer", "summarizer.fallback", str, "WHO",
     "Who is asked, once, where the summariser fails."),
    ("--summarizer-timeout", "summarizer.timeout", float, "S",
     "Seconds that the summariser has (120)."),
    ("--on-failure", "summarizer.on_failure", click.Choice(["auto", "ledger", "abort"]), "",
     "Where nobody wrote a summary: make one without a model (ledger), change nothing (abort), or "
     "ledger unless it is the key or the network and there is room (auto)."),
)  # fmt: skip
"""Flag, setting, type, metavariable, help."""


def summarizer_options(command: F) -> F:
    """Add the flags that name a summariser to a command."""
    for flag, _, kind, metavar, text in reversed(SUMMARIZER_OPTIONS):
        command = click.option(flag, type=kind, metavar=metavar or None, help=text)(command)
    return command


def writers_for(settings: Settings, *, is_preview: bool = False) -> Writers | None:
    """Return who writes by the settings, or raise what names the mistake; nobody is asked yet."""
    found = writers_from(settings, _show)
    return None if found is None else replace(found, is_preview=is_preview)


def native_for(spec: str | None, settings: Settings) -> NativeCompaction | None:
    """Return the permission that `--native` gives, or raise what names the mistake.

    The address of a summariser is also that of its own provider, and of no other.
    """
    if spec is None:
        return None
    kind, colon, model = spec.partition(":")
    if kind == "openai":  # only one of its interfaces compacts
        kind = "openai-responses"
    who = settings.summarizer
    is_same = who == "none" or _provider(who) == _provider(kind)
    return native_of(
        f"{kind}{colon}{model}",
        url=settings.summarizer_url if is_same else "",
        key_variable=settings.summarizer_key_variable if is_same else "",
        timeout=settings.summarizer_timeout,
    )


def check_native(native: NativeCompaction, rules: str, transcript: Transcript, file: str) -> None:
    """Raise why a conversation is not for the provider that would compact it."""
    why = why_never(native, rules, transcript.messages)
    if why:
        raise click.UsageError(
            f"--native: {native.compactor.name} cannot compact {label(file)}: {why}; leave "
            "--native out, or convert the file first (holdfast convert)",
            click.get_current_context(),
        )


def _provider(spec: str) -> str:
    return spec.partition(":")[0].removesuffix("-responses")


def _show(name: str, number: int, total: int) -> None:
    click.echo(f"holdfast: asking {name} for a summary, call {number} of {total}", err=True)
