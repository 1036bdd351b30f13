"""Entries of ours in the settings files of other programs; nothing else is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.installing.changes import FileChange, plan_install, plan_uninstall
    from foldaway.agents.installing.checking import problems_of
    from foldaway.agents.installing.json_text import read_json
    from foldaway.agents.installing.programs import (
        Addition,
        clients,
        list_additions,
        list_server_additions,
    )


__getattr__ = import_later(
    __name__,
    {
        "changes": "FileChange plan_install plan_uninstall",
        "checking": "problems_of",
        "json_text": "read_json",
        "programs": "Addition clients list_additions list_server_additions",
    },
)
