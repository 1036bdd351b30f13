"""What every package may use: settings and reports as values, protocols, files, the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core.exports import import_later

if TYPE_CHECKING:
    from foldaway._core.disk import (
        PRIVATE,
        make_private_folder,
        replace_file,
        replacing,
        sync_folder,
        write_whole,
    )
    from foldaway._core.exports import __version__, import_later
    from foldaway._core.journal import SESSION, listens, log_event
    from foldaway._core.lenient_json import Value, read_json, read_loose_value
    from foldaway._core.plugins import PluginKind
    from foldaway._core.policy import (
        ASSUMED_CONTEXT_LENGTH,
        LEAST_SAVING,
        PRESSURE,
        ArrivalLevel,
        Budget,
        Policy,
        Saving,
        SettingsStruct,
        budget_for,
        estimate_after,
        fit_budget,
        scale_budget,
    )
    from foldaway._core.ports import (
        CachedPrefix,
        MediaCounter,
        MediaReducer,
        NativeAnswer,
        NativeCompactor,
        NativeItem,
        NativeRequest,
        Redact,
        Summarizer,
        SummaryAnswer,
        SummaryRequest,
        TokenCounter,
        WireRules,
    )
    from foldaway._core.regex import Regex
    from foldaway._core.report import (
        Category,
        Reason,
        Reference,
        ReferenceKind,
        Report,
        SummaryNote,
        Urgency,
    )
    from foldaway._core.tables import phrases_in, read_table, read_words


__getattr__ = import_later(
    __name__,
    {
        "disk": "PRIVATE make_private_folder replace_file replacing sync_folder write_whole",
        "exports": "__version__ import_later",
        "journal": "SESSION listens log_event",
        "lenient_json": "Value read_loose_value read_json",
        "plugins": "PluginKind",
        "policy": "ASSUMED_CONTEXT_LENGTH ArrivalLevel Budget LEAST_SAVING PRESSURE Policy Saving "
        "SettingsStruct fit_budget budget_for estimate_after scale_budget",
        "ports": "CachedPrefix MediaCounter MediaReducer NativeAnswer NativeCompactor NativeItem "
        "NativeRequest Redact Summarizer SummaryAnswer SummaryRequest TokenCounter "
        "WireRules",
        "regex": "Regex",
        "report": "Category Reason Reference ReferenceKind Report SummaryNote Urgency",
        "tables": "phrases_in read_table read_words",
    },
)
