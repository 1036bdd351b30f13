"""Dialects: a provider's wire format, its rules, and what to do if they are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.dialects.checking import (
        Repaired,
        check,
        check_transcript,
        repair,
        repair_transcript,
        wire_rules,
    )
    from foldaway.dialects.conversion import Converted, convert, convert_transcript
    from foldaway.dialects.dialect import FreshIds
    from foldaway.dialects.document import Document, Record
    from foldaway.dialects.jsontext import (
        clean_value,
        dump_bytes,
        dump_text,
        gaps,
        parse,
        refuse_dense,
        scan,
        split_list,
        split_object,
    )
    from foldaway.dialects.limits import Limits, input_error, unpack_stream
    from foldaway.dialects.loading import (
        DIALECTS,
        detect,
        dialect_named,
        dump,
        has_list,
        load,
        load_parsed,
        not_a_message,
        plain,
        refuse_strangers,
        sole_list_key,
    )
    from foldaway.dialects.loss import Loss
    from foldaway.dialects.profiles import PROFILES, dialect_for, profile_for
    from foldaway.dialects.rule import Action, Profile
    from foldaway.dialects.rules.pairs import has_only_results
    from foldaway.dialects.rules.thinking import drop_settings
    from foldaway.dialects.shape import kind_of


__getattr__ = import_later(
    __name__,
    {
        "checking": "check check_transcript repair repair_transcript Repaired wire_rules",
        "conversion": "Converted convert convert_transcript",
        "dialect": "FreshIds",
        "document": "Document Record",
        "jsontext": "clean_value dump_bytes dump_text gaps parse refuse_dense scan split_list "
        "split_object",
        "limits": "Limits input_error unpack_stream",
        "loading": "detect dialect_named DIALECTS dump has_list load load_parsed not_a_message "
        "plain refuse_strangers sole_list_key",
        "loss": "Loss",
        "profiles": "PROFILES dialect_for profile_for",
        "rule": "Action Profile",
        "rules.pairs": "has_only_results",
        "rules.thinking": "drop_settings",
        "shape": "kind_of",
    },
)
