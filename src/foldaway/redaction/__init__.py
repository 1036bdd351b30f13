"""Hides secrets in any text: rules as data, one linear pass, placeholders that cannot leak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later
from foldaway.redaction.mask import HIDDEN_LINE, Vault
from foldaway.redaction.policy import RedactionPolicy, SecretRule
from foldaway.redaction.redactor import Finding, Redacted, Redactor, redact

if TYPE_CHECKING:
    from foldaway.redaction.redactor import HOLD, Stream

__all__ = [
    "HIDDEN_LINE",
    "Finding",
    "Redacted",
    "RedactionPolicy",
    "Redactor",
    "SecretRule",
    "Vault",
    "redact",
]

__getattr__ = import_later(__name__, {"redactor": "HOLD Stream"})
