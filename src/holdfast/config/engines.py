"""The context engine that the settings choose, and who writes its summaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.config.settings import Settings, read_settings

if TYPE_CHECKING:
    from holdfast.adapters.contract import ContextEngine
    from holdfast.writing.writers import Progress, Writers
    from holdfast.redaction import RedactionPolicy


def open_engine(
    *,
    settings: Settings | None = None,
    environment: Mapping[str, str] | None = None,
    **more: Any,
) -> ContextEngine:
    """Return a new engine by the settings: the one that `[engine] name` chooses.

    Any engine is made with `model`, `context_length`, `output_tokens` and `policy`, ours also
    with the summariser, the lifetime of the cache and the user's own redaction rules; `more` is
    handed to it and wins. Settings are read where none are given. Raises what `read_settings`
    raises, `UnknownName` with the engines there are, and `InvalidSetting` for a package that makes
    none.
    """
    from holdfast.adapters.plugins import engine_named  # a plain check needs no engine

    chosen = read_settings(environment=environment) if settings is None else settings
    given: dict[str, Any] = {
        "model": chosen.model, "context_length": chosen.context_length,
        "output_tokens": chosen.output_tokens, "policy": chosen.policy,
    }  # fmt: skip
    if chosen.engine == "compressor":
        given |= {"summarizer": writers_from(chosen), "cache_ttl": chosen.cache_ttl}
        if chosen.rules_files or chosen.rules_without:
            from holdfast.redaction import Redactor

            given["redact"] = Redactor(redaction_policy(chosen))
    return engine_named(chosen.engine, **(given | more))


def redaction_policy(settings: Settings, *, personal: bool = False) -> RedactionPolicy:
    """Return what a redactor hides by the settings: with the user's own rules, without some."""
    from os.path import expanduser

    from holdfast.redaction import RedactionPolicy  # a plain check needs no redactor

    files = tuple(map(expanduser, settings.rules_files))
    return RedactionPolicy(personal=personal, rules_files=files, without=settings.rules_without)


def writers_from(settings: Settings, progress: Progress | None = None) -> Writers | None:
    """Return who writes summaries by the settings, None where nobody does; nobody is asked yet.

    Raises what names the mistake in them.
    """
    from holdfast.writing.writers import writers_of

    return writers_of(
        settings.summarizer,
        settings.fallback_summarizer,
        url=settings.summarizer_url,
        key_variable=settings.summarizer_key_variable,
        window=settings.summarizer_context_length,
        on_failure=settings.on_failure,
        fallback_when_complex=settings.fallback_when_complex,
        rides_prefix=settings.rides_prefix,
        timeout=settings.summarizer_timeout,
        progress=progress,
    )
