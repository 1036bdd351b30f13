"""Summarizers and providers' own compactions: by name, by function, by the vendors' SDKs.

`Writers` says who is asked, in which order, and what follows a failure; `writers_of` makes one
from names. Each SDK is an extra of the package, and imported at its first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway._core import (
        NativeAnswer,
        NativeRequest,
        Summarizer,
        SummaryAnswer,
        SummaryRequest,
    )
    from foldaway.summarizers.failures import after_try, remedy_for
    from foldaway.summarizers.material import Material
    from foldaway.summarizers.models import anthropic_native, from_callable, openai_native
    from foldaway.summarizers.models.failures import Interrupted
    from foldaway.summarizers.models.keys import KEY_VARIABLES
    from foldaway.summarizers.models.named import summarizer_named
    from foldaway.summarizers.models.sdk import demand, endpoint_of
    from foldaway.summarizers.native import draft_steps, without_native
    from foldaway.summarizers.write import Call, Draft, Steps, WriteContext, arun_calls, run_calls
    from foldaway.summarizers.writers import (
        NativeCompaction,
        Progress,
        Writers,
        native_of,
        prefix_of,
        writers_of,
    )

__all__ = [
    "NativeAnswer",
    "NativeCompaction",
    "NativeRequest",
    "Summarizer",
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


__getattr__ = import_later(
    __name__,
    {
        "failures": "after_try remedy_for",
        "foldaway._core": "NativeAnswer NativeRequest Summarizer SummaryAnswer SummaryRequest",
        "material": "Material",
        "models": "anthropic_native from_callable openai_native",
        "models.failures": "Interrupted",
        "models.keys": "KEY_VARIABLES",
        "models.named": "summarizer_named",
        "models.sdk": "demand endpoint_of",
        "native": "draft_steps without_native",
        "write": "Call Draft Steps WriteContext arun_calls run_calls",
        "writers": "NativeCompaction Progress Writers native_of prefix_of writers_of",
    },
)
