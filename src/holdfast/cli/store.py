"""The options that say where sessions are kept, and the store that they open."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import click

from holdfast.cli import say
from holdfast.cli.settings import config_option, settings_from
from holdfast.config import Settings, home_folder, open_store, read_settings
from holdfast.errors import StoreUnavailable
from holdfast.stores.store import Store

F = TypeVar("F", bound=Callable[..., Any])

Use: TypeAlias = Literal["read", "search", "write", "create"]
"""`read` never changes the file; `search` completes its index where it may; `write` wants a store
that is there; `create` makes one where there is none."""


def store_options(command: F) -> F:
    """Add `--home`, `--profile`, `--store` and `--config` to a command."""
    return config_option(place_options(command))


def place_options(command: F) -> F:
    """Add `--home`, `--profile` and `--store` to a command that has `--config` already."""
    for flag, metavar, text in reversed((
        ("--home", "DIR", "Where Holdfast keeps everything; HOLDFAST_HOME otherwise."),
        ("--profile", "NAME",
         "Whose sessions; another profile than your own is only read by search, list and read."),
        ("--store", "URL", "A folder, a .db file or postgresql://…; HOLDFAST_STORE otherwise."),
    )):  # fmt: skip
        command = click.option(flag, metavar=metavar, help=text)(command)
    return command


def opened(options: Mapping[str, Any], use: Use) -> Store:
    """Return the store that the options name, or raise; the caller closes it.

    Where there is none yet, and none is to be made, that is said and the command ends with 1.
    """
    settings = settings_from(options)
    place = place_of(options, settings)
    if use == "create":
        return open_store(place, profile=settings.profile)
    own = is_own(options)
    try:
        store = open_store(place, profile=settings.profile, read_only=True)
    except StoreUnavailable as error:
        if is_missing(error):
            say(f"no sessions are kept yet at {error.where}; `holdfast import` takes those of "
                "your agents", 1)  # fmt: skip
            raise click.exceptions.Exit(1) from None
        if not own and use != "write":
            raise
        return open_store(place, profile=settings.profile)
    if use == "read" or (use == "search" and not own):
        return store
    try:
        return open_store(place, profile=settings.profile)
    except StoreUnavailable:
        if use == "write":
            raise
        return store  # it can still be searched, only slower


def place_of(options: Mapping[str, Any], settings: Settings) -> str | Path:
    """Return where the store is: a flag wins over the settings."""
    if options.get("store"):
        return options["store"]
    if options.get("home"):
        return Path(options["home"]) / "sessions"
    return settings.store or home_folder() / "sessions"


def is_own(options: Mapping[str, Any]) -> bool:
    """Return whether the command line names no other profile than that of the settings."""
    return options["profile"] in (None, read_settings(options["config"]).profile)


def is_missing(error: StoreUnavailable) -> bool:
    """Return whether a store could not be opened because nobody has made it."""
    return "://" not in error.where and not os.path.exists(error.where)
