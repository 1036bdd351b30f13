"""Hides secrets in any text: rules as data, one linear pass, placeholders that cannot leak."""

from __future__ import annotations

from foldaway.redaction.mask import HIDDEN_LINE, Vault
from foldaway.redaction.policy import RedactionPolicy, SecretRule
from foldaway.redaction.redactor import Finding, Redacted, Redactor, redact

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
