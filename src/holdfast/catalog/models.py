"""The models that genai-prices knows (the extra `prices`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.errors import MissingExtra


def models_called(name: str, purpose: str) -> Iterator[tuple[str, Any]]:
    """Yield what may be meant by a name, with its seller, the likeliest first.

    A name may carry its provider, as in `anthropic/claude-sonnet-4-5`. Nothing is fetched: the
    data is the one that the package ships. Raises `MissingExtra` where it is not installed; it
    is imported only here, because it brings a validation library and an HTTP client.
    """
    if not name:
        return
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        raise MissingExtra("prices", purpose) from None
    seller, _, rest = name.partition("/")
    bare = name.rpartition("/")[2]
    snapshot = get_snapshot()
    for reference, seller_id in ((rest, seller), (name, None), (bare, None)):
        if reference:
            try:
                provider, found = snapshot.find_provider_model(reference, None, seller_id, None)
            except LookupError:
                continue
            yield provider.id, found
