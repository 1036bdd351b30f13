"""Models that write summaries: the openai and anthropic SDKs, litellm, and any callable.

Each is an extra of the package, and imported at its first call.
"""

from foldaway.summarizers.models.anthropic import anthropic_native
from foldaway.summarizers.models.named import from_callable, summarizer_named
from foldaway.summarizers.models.openai import openai_native

__all__ = ["anthropic_native", "from_callable", "openai_native", "summarizer_named"]
