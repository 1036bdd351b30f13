"""The options that give a run its settings, and what follows: a window, prices, summarizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import click
from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import ASSUMED_CONTEXT_LENGTH, Budget, Saving, budget_for
from foldaway.caching import PriceList, Prices, context_window
from foldaway.cli import say
from foldaway.cli.files import label
from foldaway.cli.inputs import PATH, options, usage_error
from foldaway.config import Settings, home_folder, read_settings, writers_from
from foldaway.dialects import Record
from foldaway.errors import InvalidSetting, MissingExtra
from foldaway.transcript import Transcript

if TYPE_CHECKING:
    from foldaway.summarizers import NativeCompaction, Writers

_MODEL = (
    ("--model M", "model.name", str, "The model, whose window is looked up."),
    ("--context-length N", "model.context_length", int, "The window in tokens."),
    (
        "--threshold F",
        "compression.threshold",
        float,
        "Share of the window to compact at (0 to 1).",
    ),
    (
        "--target-ratio F",
        "compression.target_ratio",
        float,
        "Newest messages to keep, as a share of the threshold (0.1 to 0.8).",
    ),
    (
        "--protect-first N",
        "compression.protect_first",
        int,
        "First messages to keep beyond the system prompt.",
    ),
    (
        "--protect-last N",
        "compression.protect_last",
        int,
        "Newest messages that are never shortened (at least 1).",
    ),
)
"""Flag and metavariable, setting, type, help."""
_SUMMARIZER = (
    (
        "--summarizer WHO",
        "summarizer.model",
        str,
        "Who writes the summary: none, openai:MODEL, openai-responses:MODEL, anthropic:MODEL or "
        "litellm:MODEL; keys come from the usual variables.",
    ),
    ("--summarizer-url URL", "summarizer.url", str, "Another address for the summarizer."),
    (
        "--summarizer-key-variable NAME",
        "summarizer.key_variable",
        str,
        "The variable with the key for that address; no key is sent without it.",
    ),
    (
        "--summarizer-window N",
        "summarizer.context_length",
        int,
        "What the summarizer can read, in tokens; looked up by its name, else 32,000.",
    ),
    (
        "--fallback-summarizer WHO",
        "summarizer.fallback",
        str,
        "Asked once if it fails (main: the model itself); none for nobody.",
    ),
    ("--summarizer-timeout S", "summarizer.timeout", float, "Seconds that it has (120)."),
    (
        "--on-failure",
        "summarizer.on_failure",
        click.Choice(["auto", "ledger", "abort"]),
        "If no summary was written: make one without a model (ledger), change nothing (abort), or "
        "ledger unless the key or the network failed and there is room (auto).",
    ),
)
_FLAGS = {
    **{row[0].split()[0]: row[1] for row in (*_MODEL, *_SUMMARIZER)},
    "--save": "compression.save",
    "--profile": "sessions.profile",
    "--store": "sessions.store",
}
_WARNED = "foldaway.cli.settings.warned"
"""Under which a run keeps the warnings that it has printed."""

HOME_ROW = ("--home DIR", str, "Where Foldaway keeps everything; by default FOLDAWAY_HOME.")
CONFIG_ROW = ("--config FILE", PATH, "A settings file in place of your own and ./foldaway.toml.")
SAVE_ROW = (
    "--save",
    click.Choice(get_args(Saving)),
    "How early to compact if it saves money: from 90,000 tokens on (little), 40,000 (normal, the "
    "default), 20,000 (most), or by size alone (off).",
)
BUDGET_ROW = (
    "--budget DOLLARS",
    str,
    "What may be spent through gateways on the store, such as 5$/day, /week or /month: a warning "
    "at 80%, then requests are refused.",
)
config_option = options(CONFIG_ROW)
settings_options = options(*((flag, kind, text) for flag, _, kind, text in _MODEL), CONFIG_ROW)
summarizer_options = options(*((flag, kind, text) for flag, _, kind, text in _SUMMARIZER))
native_option = options(
    (
        "--native WHO",
        str,
        "Have the provider of the conversation compact it: openai:MODEL or anthropic:MODEL, at "
        "--summarizer-url if that is given.",
    )
)

PRICE_ROW = (
    "--price figures NAME=USD",
    [str],
    f"A price for a million tokens: {', '.join(Prices.NAMES)}. "
    "Overrides what is known of the model.",
)
price_options = options(
    PRICE_ROW,
    ("--ttl", click.Choice(["5m", "1h"]), "How long the provider keeps its cache; 5m by default."),
    (
        "--summaries",
        click.Choice(["ledger", "model"]),
        "Who writes summaries: the ledger, free of charge, or the model, at its price.",
        "ledger",
    ),
)


def home_of(given: Mapping[str, Any]) -> Path:
    """Return the folder of everything that Foldaway keeps: a flag wins over the environment."""
    return Path(given["home"]) if given.get("home") else home_folder()


def settings_from(given: Mapping[str, Any]) -> Settings:
    """Return the settings that the options of a command ask for, or raise.

    What was ignored is said on standard error, once in a run.
    """
    flags = {
        setting: (flag, value)
        for flag, setting in _FLAGS.items()
        if (value := given.get(flag[2:].replace("-", "_"))) is not None
    }
    settings = read_settings(given["config"], flags=flags)
    warned: set[str] = click.get_current_context().meta.setdefault(_WARNED, set())
    for warning in settings.warnings:
        if warning not in warned:
            say(f"warning: {warning}")
        warned.add(warning)
    return settings


class Window(Struct, frozen=True):
    """A context length, its source, and what there is to say about it."""

    model: str
    tokens: int
    source: Literal["given", "model", "assumed"]
    note: str = ""


def window_for(settings: Settings, record: Record) -> Window:
    """Return the window of the settings, else of their model, else of the model that the request
    or the agent names.
    """
    return window_of(settings, settings.model or model_in(record))


def model_in(record: Record) -> str:
    """Return the model that a request or an agent names with its messages, "" if none is."""
    named = record.transcript.frame.setting("model")
    return named if isinstance(named, str) else record.model


def window_of(settings: Settings, model: str) -> Window:
    """Return the window of the settings, else of a model.

    If none is known, 200,000 is assumed and the note says so and what to do.
    """
    if settings.context_length is not None:
        return Window(model, settings.context_length, "given")
    note = f"window assumed {ASSUMED_CONTEXT_LENGTH:,}"
    try:
        found = context_window(model) if model else None
    except MissingExtra as error:
        note += f"; give --context-length, or pip install 'foldaway[{error.extra}]'"
    else:
        if found is not None:
            return Window(model, found, "model")
        unknown = f", that of {model!r} is not known; give --context-length"
        note += unknown if model else "; give --context-length or --model"
    return Window(model, ASSUMED_CONTEXT_LENGTH, "assumed", note)


def budget_of(settings: Settings, window: Window) -> Budget:
    """Return the budgets for a window."""
    return budget_for(settings.policy, window.tokens, output_tokens=settings.output_tokens)


def writers_for(
    settings: Settings, native: NativeCompaction | None = None, *, is_preview: bool = False
) -> Writers:
    """Return who writes by the settings, or raise what names the mistake; nobody is asked yet."""
    return replace(writers_from(settings, _show_call), native=native, is_preview=is_preview)


def native_for(spec: str | None, settings: Settings) -> NativeCompaction | None:
    """Return the native compaction that `--native` names, or raise what names the mistake.

    The address of a summarizer is also that of its own provider, and of no other.
    """
    if spec is None:
        return None
    from foldaway.summarizers import native_of

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
    why = native.why_never(rules, transcript.messages)
    if why:
        raise usage_error(
            f"--native: {native.compactor.name} cannot compact {label(file)}: {why}; leave "
            "--native out, or convert the file first (foldaway convert)"
        )


def _provider(spec: str) -> str:
    return spec.partition(":")[0].removesuffix("-responses")


def _show_call(name: str, number: int, total: int) -> None:
    click.echo(f"foldaway: asking {name} for a summary, call {number} of {total}", err=True)


class Priced(Struct, frozen=True):
    """Prices, None if they are not known, and what there is to say about that."""

    prices: Prices | None
    note: str = ""


def prices_for(model: str, figures: Sequence[str]) -> Priced:
    """Return the prices of a model with those given by hand over them, or raise a usage error."""
    note, prices = "", PriceList()
    known = prices.of(model)
    if prices.is_missing:
        note = f"no prices are known for {model!r} without foldaway[prices]"
    elif known is None:
        note = f"no prices are known for {model!r}" if model else "no model is named"
    if not figures:
        return Priced(known, f"{note}; give --price input=… --price output=…" if note else "")
    try:
        return Priced(Prices.from_figures(dict(map(_figure, figures)), known))
    except InvalidSetting as error:
        raise usage_error(f"--price: {error}") from None


def _figure(given: str) -> tuple[str, float]:
    name, _, amount = given.partition("=")
    try:
        return name.strip().replace("-", "_"), float(amount)
    except ValueError:
        raise usage_error(f"--price {given!r} is not NAME=USD, as in input=3") from None
