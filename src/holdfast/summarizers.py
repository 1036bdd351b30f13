"""Summarizers and providers' own compactions: by name, by function, by the vendors' SDKs.

Each SDK is an extra of the package, and imported at its first call.
"""

from holdfast.writing.models import (
    anthropic_native,
    from_callable,
    openai_native,
    summarizer_named,
)

__all__ = ["anthropic_native", "from_callable", "openai_native", "summarizer_named"]
