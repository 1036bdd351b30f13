"""Dialects: a provider's wire format, its rules, and what to do if they are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.dialects.checking import check, check_transcript, wire_rules
    from foldaway.dialects.conversion import Converted, convert, convert_transcript
    from foldaway.dialects.dialect import FreshIds
    from foldaway.dialects.document import (
        Document,
        Record,
        document_of,
        read_document,
        write_document,
    )
    from foldaway.dialects.jsontext import (
        clean_value,
        depth_error,
        dump_bytes,
        dump_text,
        gaps,
        parse,
        refuse_dense,
        scan,
        split_list,
        split_object,
    )
    from foldaway.dialects.limits import (
        DEFAULT_LIMITS,
        GZIP,
        Limits,
        clip_lines,
        gzip_error,
        measure_unpacked,
        read_whole,
        size_error,
        skip_note,
        unpack,
        unpacks_too_large,
    )
    from foldaway.dialects.loading import (
        dump,
        list_key,
        load,
        load_parsed,
        not_a_message,
        plain,
        refuse_strangers,
        with_messages,
    )
    from foldaway.dialects.loss import Loss
    from foldaway.dialects.profiles import PROFILES, RULES, dialect_for, profile_for
    from foldaway.dialects.registry import DIALECTS, LIST_KEYS, detect, dialect_named
    from foldaway.dialects.repairing import Repaired, repair, repair_transcript
    from foldaway.dialects.rule import Action, Profile
    from foldaway.dialects.rules.pairs import CALL_ANSWERED, has_only_results
    from foldaway.dialects.rules.results import RESULTS_ADJACENT
    from foldaway.dialects.rules.roles import ROLES_ALTERNATE
    from foldaway.dialects.rules.thinking import DROP_BLOCK_HEADERS, drop_settings
    from foldaway.dialects.shape import kind_of


__getattr__ = import_later(
    __name__,
    {
        "checking": "check check_transcript wire_rules",
        "conversion": "Converted convert convert_transcript",
        "dialect": "FreshIds",
        "document": "Document Record document_of read_document write_document",
        "jsontext": "clean_value dump_bytes dump_text gaps parse refuse_dense scan split_list "
        "split_object depth_error",
        "limits": "DEFAULT_LIMITS GZIP Limits clip_lines gzip_error read_whole size_error "
        "skip_note unpack measure_unpacked unpacks_too_large",
        "loading": "dump list_key load load_parsed not_a_message plain refuse_strangers "
        "with_messages",
        "loss": "Loss",
        "profiles": "PROFILES RULES dialect_for profile_for",
        "registry": "DIALECTS LIST_KEYS detect dialect_named",
        "repairing": "Repaired repair repair_transcript",
        "rule": "Action Profile",
        "rules.pairs": "CALL_ANSWERED has_only_results",
        "rules.results": "RESULTS_ADJACENT",
        "rules.roles": "ROLES_ALTERNATE",
        "rules.thinking": "DROP_BLOCK_HEADERS drop_settings",
        "shape": "kind_of",
    },
)
