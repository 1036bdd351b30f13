"""Settings, and what they lead to; here alone the environment is read."""

from holdfast.config.engines import open_engine, writers_from
from holdfast.config.places import (
    agent_places,
    external_memory,
    home_folder,
    open_memory,
    open_store,
)
from holdfast.config.settings import (
    OTHER_VARIABLES,
    SECTIONS,
    Settings,
    read_settings,
    settings_file,
)

__all__ = [
    "OTHER_VARIABLES",
    "SECTIONS",
    "Settings",
    "agent_places",
    "external_memory",
    "home_folder",
    "open_engine",
    "open_memory",
    "open_store",
    "read_settings",
    "settings_file",
    "writers_from",
]
