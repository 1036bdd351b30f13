"""Entries of ours in the settings files of other programs; nothing else is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.installing.changes import (
        FileChange,
        apply_install,
        apply_uninstall,
        entry_text,
        plan_install,
        plan_uninstall,
    )
    from foldaway.agents.installing.checking import problems_of
    from foldaway.agents.installing.json_text import entry
    from foldaway.agents.installing.plain import NotEditable
    from foldaway.agents.installing.programs import (
        Addition,
        clients,
        is_here,
        list_additions,
        list_server_additions,
        opening_clients,
    )


__getattr__ = import_later(
    __name__,
    {
        "changes": "FileChange apply_install apply_uninstall entry_text plan_install "
        "plan_uninstall",
        "checking": "problems_of",
        "json_text": "entry",
        "plain": "NotEditable",
        "programs": "Addition clients is_here list_additions list_server_additions opening_clients",
    },
)
