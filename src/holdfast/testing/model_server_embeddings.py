"""Embeddings that need no model: texts that share words are near each other."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from math import sqrt
from typing import Any

from holdfast.testing.model_server_openai import tokens_of
from holdfast.testing.model_server_replies import Says

DIMENSIONS = 256
"""Where the request names none."""


def embeddings(body: Mapping[str, Any], says: Says) -> Mapping[str, Any]:
    """Return a vector for each text of the request; what the script says is not used."""
    del says
    given: Any = body.get("input") or []
    texts: list[Any] = [given] if isinstance(given, str) else list(given)
    dimensions = int(body.get("dimensions") or DIMENSIONS)
    data = [
        {"object": "embedding", "index": at, "embedding": vector_of(str(text), dimensions)}
        for at, text in enumerate(texts)
    ]
    used = tokens_of(texts)
    usage = {"prompt_tokens": used, "total_tokens": used}
    return {"object": "list", "model": body.get("model", "model"), "data": data, "usage": usage}


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Return a vector of length 1 that counts words, each at a place by its hash."""
    counts = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or [""]:
        data = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
        counts[int.from_bytes(data) % dimensions] += 1.0
    length = sqrt(sum(count * count for count in counts))
    return [count / length for count in counts]
