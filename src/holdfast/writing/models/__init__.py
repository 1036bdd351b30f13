"""Models that write summaries: the openai and anthropic SDKs, litellm, and any callable.

Each is an extra of the package, and imported at its first call.
"""

from holdfast.writing.models.callables import from_callable
from holdfast.writing.models.named import summarizer_named

__all__ = ["from_callable", "summarizer_named"]
