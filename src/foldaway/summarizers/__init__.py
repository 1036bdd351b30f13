"""Summarizers and providers' own compactions: by name, by function, by the vendors' SDKs.

`Writers` says who is asked, in which order, and what follows a failure; `writers_of` makes one
from names. Each SDK is an extra of the package, and imported at its first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway._core import NativeAnswer, NativeRequest, SummaryAnswer, SummaryRequest
    from foldaway.summarizers.cached_prompt import check_cached_prompt, prefix_of
    from foldaway.summarizers.failures import CLASSES, LONGEST_PAUSE, remedy_for, without_writer
    from foldaway.summarizers.material import Material
    from foldaway.summarizers.models import anthropic_native, from_callable, openai_native
    from foldaway.summarizers.models.failures import Interrupted, failure
    from foldaway.summarizers.models.keys import ANTHROPIC, OPENAI, Vendor, access_to
    from foldaway.summarizers.models.named import summarizer_named
    from foldaway.summarizers.models.sdk import demand, open_client
    from foldaway.summarizers.native import (
        awrite_through,
        draft_steps,
        why_never,
        without_native,
        write_through,
    )
    from foldaway.summarizers.write import (
        Call,
        Draft,
        Steps,
        WriteContext,
        add_draft,
        arun_calls,
        context_at,
        count_added,
        run_calls,
        window_note,
    )
    from foldaway.summarizers.writers import (
        NativeCompaction,
        Progress,
        Writers,
        native_of,
        with_request,
        writers_of,
    )

__all__ = [
    "NativeAnswer", "NativeCompaction", "NativeRequest", "SummaryAnswer", "SummaryRequest",
    "Writers", "anthropic_native", "from_callable", "native_of", "openai_native",
    "summarizer_named", "writers_of",
]  # fmt: skip


__getattr__ = import_later(
    __name__,
    {
        "cached_prompt": "check_cached_prompt prefix_of",
        "failures": "CLASSES LONGEST_PAUSE remedy_for without_writer",
        "foldaway._core": "NativeAnswer NativeRequest SummaryAnswer SummaryRequest",
        "material": "Material",
        "models": "anthropic_native from_callable openai_native",
        "models.failures": "Interrupted failure",
        "models.keys": "ANTHROPIC OPENAI Vendor access_to",
        "models.named": "summarizer_named",
        "models.sdk": "demand open_client",
        "native": "awrite_through draft_steps why_never without_native write_through",
        "write": "Call Draft Steps WriteContext add_draft arun_calls context_at count_added "
        "run_calls window_note",
        "writers": "NativeCompaction Progress Writers native_of with_request writers_of",
    },
)
