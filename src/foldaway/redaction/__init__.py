"""Hides secrets in any text: rules as data, one linear pass, placeholders that cannot leak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later
from foldaway.redaction.mask import HIDDEN_LINE, Vault
from foldaway.redaction.policy import RedactionPolicy, SecretRule
from foldaway.redaction.redactor import Finding, Redacted, Redactor, redact

if TYPE_CHECKING:
    from foldaway.redaction.examples import load_examples
    from foldaway.redaction.gates import GATES
    from foldaway.redaction.mask import Dressing
    from foldaway.redaction.policy import DEFAULT_KEY, STRUCTURES
    from foldaway.redaction.redactor import HOLD, Stream
    from foldaway.redaction.text import Span

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

__getattr__ = import_later(
    __name__,
    {
        "examples": "load_examples",
        "gates": "GATES",
        "mask": "Dressing",
        "policy": "DEFAULT_KEY STRUCTURES",
        "redactor": "HOLD Stream",
        "text": "Span",
    },
)
