"""Summarizers and providers' own compactions: by name, by function, by the vendors' SDKs.

`Writers` says who is asked, in which order, and what follows a failure; `writers_of` makes one
from names. Each SDK is an extra of the package, and imported at its first call.
"""

from foldaway.ports import NativeAnswer, NativeRequest, SummaryAnswer, SummaryRequest
from foldaway.writing.models import (
    anthropic_native,
    from_callable,
    openai_native,
    summarizer_named,
)
from foldaway.writing.writers import NativeCompaction, Writers, native_of, writers_of

__all__ = [
    "NativeAnswer",
    "NativeCompaction",
    "NativeRequest",
    "SummaryAnswer",
    "SummaryRequest",
    "Writers",
    "anthropic_native",
    "from_callable",
    "native_of",
    "openai_native",
    "summarizer_named",
    "writers_of",
]
