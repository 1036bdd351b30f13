"""Programs and what they do to files: one table, one file a kind of program."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.facts.effects.commands import (
    archives,
    files,
    formatters,
    git,
    in_place,
    makers,
    processes,
    readers,
    transfer,
)
from holdfast.facts.effects.invocation import Handler

HANDLERS: Mapping[str, Handler] = {
    **files.HANDLERS,
    **readers.HANDLERS,
    **in_place.HANDLERS,
    **formatters.HANDLERS,
    **git.HANDLERS,
    **transfer.HANDLERS,
    **archives.HANDLERS,
    **makers.HANDLERS,
    **processes.HANDLERS,
}
