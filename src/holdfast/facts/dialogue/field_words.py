"""Which keys of structured data are worth more than others."""

from __future__ import annotations

import re
from functools import lru_cache

_GROUPS: tuple[tuple[float, str], ...] = (
    (5.0, "id ids uuid guid key number code sku ref reference username user_id handle sha commit "
          "hash order reservation booking ticket invoice account tracking confirmation"),
    (4.0, "status state error errors message reason result outcome success code exit_code ok "
          "available cancelled canceled active enabled failed type kind"),
    (4.0, "name title first_name last_name username city country origin destination model brand "
          "label product item symbol author owner department company"),
    (3.5, "price cost amount total balance fee quantity count qty rate tax subtotal currency stock "
          "budget discount salary value"),
    (3.0, "date time day month year created updated modified expires expiry due start end deadline "
          "timestamp departure arrival dob birth scheduled created_at updated_at"),
    (2.5, "url link href path file email phone address zip host port branch version line"),
    (0.5, "description text body content html raw markdown summary details comment bio avatar "
          "image icon thumbnail metadata etag links self"),
)  # fmt: skip
_WORTH: dict[str, float] = {
    word: weight for weight, words in reversed(_GROUPS) for word in words.split()
}
_USUAL = 2.0
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@lru_cache(maxsize=4096)
def worth_of(key: str) -> float:
    """Return how likely a field of this name is asked for again; 2.0 for an unknown one."""
    low = key.lower()
    known = _WORTH.get(low) or _WORTH.get(low.removesuffix("s"))
    if known:
        return known
    parts = [part.lower() for part in _PARTS.findall(key[:80])]
    return max((_WORTH[part] for part in parts[-2:] if part in _WORTH), default=_USUAL)
