"""Hides secrets in any text: rules as data, one linear pass, placeholders that cannot leak."""

from __future__ import annotations

from holdfast.redaction.policy import RedactionPolicy
from holdfast.redaction.redactor import Finding, Redacted, Redactor, redact
from holdfast.redaction.rule import SecretRule
from holdfast.redaction.vault import Vault

__all__ = [
    "Finding",
    "Redacted",
    "RedactionPolicy",
    "Redactor",
    "SecretRule",
    "Vault",
    "redact",
]
