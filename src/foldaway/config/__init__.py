"""Settings, and what they lead to; here alone the environment is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later
from foldaway.config.files import (
    FILE_NAME,
    home_folder,
    review_folder,
    trust_folder,
    untrust_folder,
    user_file,
)
from foldaway.config.opening import (
    agent_places,
    external_memory,
    open_engine,
    open_memory,
    open_store,
    redaction_policy,
    writers_from,
)
from foldaway.config.sections import Settings, SettingsFile
from foldaway.config.settings import list_settings, read_settings

if TYPE_CHECKING:
    from foldaway.config.opening import compressor_settings
    from foldaway.config.sections import State, Whose
    from foldaway.config.settings import sample_file, settings_schema

__all__ = [
    "FILE_NAME",
    "Settings",
    "SettingsFile",
    "agent_places",
    "external_memory",
    "home_folder",
    "list_settings",
    "open_engine",
    "open_memory",
    "open_store",
    "read_settings",
    "redaction_policy",
    "review_folder",
    "trust_folder",
    "untrust_folder",
    "user_file",
    "writers_from",
]

__getattr__ = import_later(
    __name__,
    {
        "opening": "compressor_settings",
        "sections": "State Whose",
        "settings": "sample_file settings_schema",
    },
)
