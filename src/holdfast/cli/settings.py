"""The options by which a run is given its settings, and the window that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import click
from msgspec import Struct

from holdfast.catalog.windows import context_window
from holdfast.cli import say
from holdfast.cli.summarizer import SUMMARIZER_OPTIONS
from holdfast.config import Settings, read_settings
from holdfast.errors import MissingExtra
from holdfast.policy import ASSUMED_CONTEXT_LENGTH, Budget, budget_for
from holdfast.transcript import Transcript

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: tuple[tuple[str, str, type, str, str], ...] = (
    ("--model", "model.name", str, "M", "The model, whose window is looked up."),
    ("--context-length", "model.context_length", int, "N", "The window in tokens."),
    ("--threshold", "compression.threshold", float, "F",
     "Share of the window at which compaction is due (0 to 1)."),
    ("--target-ratio", "compression.target_ratio", float, "F",
     "Newest messages to keep, as a share of the threshold (0.1 to 0.8)."),
    ("--protect-first", "compression.protect_first", int, "N",
     "First messages to keep beyond the system prompt."),
    ("--protect-last", "compression.protect_last", int, "N",
     "Newest messages that are never shortened (at least 1)."),
)  # fmt: skip
"""Flag, setting, type, metavariable, help."""
_SAID = "holdfast.cli.settings.said"
"""Under which a run keeps the warnings that it has printed."""
_SETTINGS = (
    *((option[0], option[1]) for option in (*_OPTIONS, *SUMMARIZER_OPTIONS)),
    ("--profile", "sessions.profile"),
    ("--store", "sessions.store"),
)


class Window(Struct, frozen=True):
    """A context length, where it comes from, and what there is to say about it."""

    tokens: int
    source: Literal["given", "model", "assumed"]
    model: str
    note: str = ""


def settings_options(command: F) -> F:
    """Add `--config` and the flags that override single settings to a command."""
    command = config_option(command)
    for flag, _, kind, metavar, text in reversed(_OPTIONS):
        command = click.option(flag, type=kind, metavar=metavar, help=text)(command)
    return command


def config_option(command: F) -> F:
    """Add `--config` to a command."""
    return click.option(
        "--config", type=click.Path(), metavar="FILE",
        help="Read this settings file instead of your own and ./holdfast.toml.",
    )(command)  # fmt: skip


def settings_from(options: Mapping[str, Any]) -> Settings:
    """Return the settings that the options of a command ask for, or raise.

    What was ignored is said on standard error, once in a run.
    """
    flags = {
        setting: (flag, given)
        for flag, setting in _SETTINGS
        if (given := options.get(flag[2:].replace("-", "_"))) is not None
    }
    settings = read_settings(options["config"], flags=flags)
    said: set[str] = click.get_current_context().meta.setdefault(_SAID, set())
    for warning in settings.warnings:
        if warning not in said:
            say(f"warning: {warning}")
        said.add(warning)
    return settings


def window_for(settings: Settings, transcript: Transcript) -> Window:
    """Return the window of the settings, else of their model, else of the request's own model."""
    return window_of(settings, settings.model or _model_of(transcript))


def window_of(settings: Settings, model: str) -> Window:
    """Return the window of the settings, else of a model.

    Where none is known, 200,000 is assumed and the note says so and what to do.
    """
    if settings.context_length is not None:
        return Window(settings.context_length, "given", model)
    assumed = f"window assumed {ASSUMED_CONTEXT_LENGTH:,}"
    if not model:
        return Window(
            ASSUMED_CONTEXT_LENGTH, "assumed", "", f"{assumed}; give --context-length or --model"
        )
    try:
        found = context_window(model)
    except MissingExtra as error:
        note = f"{assumed}; give --context-length, or install holdfast[{error.extra}]"
        return Window(ASSUMED_CONTEXT_LENGTH, "assumed", model, note)
    if found is None:
        note = f"{assumed}, that of {model!r} is not known; give --context-length"
        return Window(ASSUMED_CONTEXT_LENGTH, "assumed", model, note)
    return Window(found, "model", model)


def budget_of(settings: Settings, window: Window) -> Budget:
    """Return the budgets for a window."""
    return budget_for(settings.policy, window.tokens, output_tokens=settings.output_tokens)


def _model_of(transcript: Transcript) -> str:
    named = transcript.frame.setting("model")
    return named if isinstance(named, str) else ""
