"""Settings, and what they lead to; here alone the environment is read."""

from foldaway.config.files import FILE_NAME, own_file, review_folder
from foldaway.config.opening import (
    agent_places,
    external_memory,
    open_engine,
    open_memory,
    open_store,
    redaction_policy,
    writers_from,
)
from foldaway.config.sections import FOLDER_MAY_SET, SECTIONS, Settings, SettingsFile
from foldaway.config.settings import OTHER_VARIABLES, read_settings, value_of
from foldaway.config.trust import home_folder, trust_folder, untrust_folder

__all__ = [
    "FILE_NAME",
    "FOLDER_MAY_SET",
    "OTHER_VARIABLES",
    "SECTIONS",
    "Settings",
    "SettingsFile",
    "agent_places",
    "external_memory",
    "home_folder",
    "open_engine",
    "open_memory",
    "open_store",
    "own_file",
    "read_settings",
    "redaction_policy",
    "review_folder",
    "trust_folder",
    "untrust_folder",
    "value_of",
    "writers_from",
]
