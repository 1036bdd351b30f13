"""What the settings lead to: the context engine, its writers, the store of sessions, memory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldaway.config.files import home_folder
from foldaway.config.sections import Settings
from foldaway.config.settings import PREFIX, read_settings

if TYPE_CHECKING:
    from foldaway.agents.engines import ContextEngine
    from foldaway.memory import MemoryManager, MemoryProvider
    from foldaway.redaction import RedactionPolicy
    from foldaway.stores import Store
    from foldaway.summarizers import Progress, Writers


def agent_places() -> list[tuple[str, Path]]:
    """Return each agent with a folder or file of its sessions that is on this machine."""
    from foldaway.agents.importers import usual_places  # a plain check needs no importer

    return list(usual_places(Path.home(), os.environ, Path.cwd()))


def open_store(
    url: str | Path | None = None,
    *,
    profile: str = "default",
    tenant: str = "",
    read_only: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Store:
    """Open the home of sessions: `postgresql://…`, a file, or what FOLDAWAY_STORE names.

    Without any of them it is a file for the profile in the data folder, which is made if it
    is missing. Raises `StoreUnavailable` with a remedy.
    """
    from foldaway.stores import open_store as open_at  # a plain check needs no database

    surroundings = os.environ if environment is None else environment
    place = url or surroundings.get(f"{PREFIX}STORE", "") or home_folder(surroundings) / "sessions"
    return open_at(place, profile=profile, tenant=tenant, read_only=read_only)


def external_memory(
    settings: Settings, *, environment: Mapping[str, str] | None = None
) -> MemoryProvider | None:
    """Return the external memory that the settings name, for `MemoryManager`; None for none.

    Raises `UnknownName`, `InvalidSetting` and `MissingExtra`; nothing is opened or asked yet.
    """
    if not settings.memory:
        return None
    from foldaway.memory import (
        external_named,  # a plain check needs no memory
        memory_folder,
    )

    folder = memory_folder(home_folder(environment), settings.profile)
    options = settings.memory_options.get(settings.memory, {})
    return external_named(settings.memory, options, folder / settings.memory)


def open_memory(
    store: Store | None = None,
    *,
    project: str | Path | None = None,
    reserved_tools: Sequence[str] = (),
    settings: Settings | None = None,
    environment: Mapping[str, str] | None = None,
) -> MemoryManager:
    """Open the memory of the settings' profile: its files, and the external one that they name.

    With a `store`, past sessions in it are recalled, and placeholders of secrets are made by its
    key; `project` is a folder whose AGENTS.md and CLAUDE.md are read too; `reserved_tools` are
    names that the host has itself. Settings are read if none are given. Raises what
    `read_settings` and `external_memory` raise.
    """
    from foldaway.errors import InvalidSetting
    from foldaway.memory import FilesProvider, MemoryManager, memory_folder
    from foldaway.redaction import Redactor
    from foldaway.sessions import recall_from, redactor_of
    from foldaway.stores import Store

    if store is not None:
        InvalidSetting.check_type("store", store, Store, "what open_store() returns")
    chosen = read_settings(environment=environment) if settings is None else settings
    redact = None if store is None else redactor_of(store, policy=redaction_policy(chosen))
    if store is None and (chosen.rules_files or chosen.rules_without):
        redact = Redactor(redaction_policy(chosen))
    files = FilesProvider(
        memory_folder(home_folder(environment), chosen.profile),
        project=None if project is None else Path(project),
        recall=None if store is None else recall_from(store, show=redact),
        redact=redact,
    )
    external = external_memory(chosen, environment=environment)
    templates = [re.compile(chosen.memory_template)] if chosen.memory_template else []
    return MemoryManager(
        files, external, reserved_tools=reserved_tools, templates=templates, redact=redact
    )


def open_engine(
    *, settings: Settings | None = None, environment: Mapping[str, str] | None = None, **more: Any
) -> ContextEngine:
    """Return a new engine by the settings: the one that `[engine] name` chooses.

    Any engine is made with `model`, `context_length`, `output_tokens` and `policy`, ours also
    with the summarizer, the lifetime of the cache and the user's own redaction rules; `more` is
    handed to it and wins. Settings are read if none are given. Raises what `read_settings`
    raises, `UnknownName` with the engines there are, and `InvalidSetting` for a package that makes
    none.
    """
    from foldaway.agents.engines import engine_named  # a plain check needs no engine

    chosen = read_settings(environment=environment) if settings is None else settings
    if chosen.engine == "compressor":
        return engine_named("compressor", **(compressor_settings(chosen) | more))
    given: dict[str, Any] = {
        "model": chosen.model,
        "context_length": chosen.context_length,
        "output_tokens": chosen.output_tokens,
        "policy": chosen.policy,
    }
    return engine_named(chosen.engine, **(given | more))


def compressor_settings(chosen: Settings) -> dict[str, Any]:
    """Return what our own engine is made with by the settings."""
    from foldaway.engine import Model, make_redactor  # a plain check needs no engine

    given: dict[str, Any] = {
        "model": Model(chosen.model, cache_ttl=chosen.cache_ttl),
        "context_length": chosen.context_length,
        "output_tokens": chosen.output_tokens,
        "policy": chosen.policy,
        "summarizer": writers_from(chosen),
    }
    if chosen.rules_files or chosen.rules_without:
        given["redact"] = make_redactor(redaction_policy(chosen))
    return given


def redaction_policy(settings: Settings, *, personal: bool = False) -> RedactionPolicy:
    """Return what a redactor hides by the settings: with the user's own rules, without some."""
    from foldaway.redaction import RedactionPolicy  # a plain check needs no redactor

    files = tuple(map(os.path.expanduser, settings.rules_files))
    return RedactionPolicy(personal=personal, rules_files=files, without=settings.rules_without)


def writers_from(settings: Settings, progress: Progress | None = None) -> Writers:
    """Return who writes summaries by the settings; nobody is asked yet.

    Raises what names the mistake in them.
    """
    from foldaway.summarizers import writers_of

    return writers_of(
        settings.summarizer,
        settings.fallback_summarizer,
        url=settings.summarizer_url,
        key_variable=settings.summarizer_key_variable,
        window=settings.summarizer_context_length,
        on_failure=settings.on_failure,
        fallback_when_complex=settings.fallback_when_complex,
        reuse_prompt_cache=settings.reuse_prompt_cache,
        timeout=settings.summarizer_timeout,
        progress=progress,
    )
