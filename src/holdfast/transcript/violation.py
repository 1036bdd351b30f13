"""A violation: which rule, where, why, and what to do."""

from __future__ import annotations

from msgspec import Struct


class Violation(Struct, frozen=True, gc=False):
    """A place where a message list breaks a provider's rule.

    `index` is the place in the message list, -1 where the whole request is meant; `path` is the
    JSON path from the root of what was given. `mendable` says whether `repair` can mend it.
    """

    rule: str
    index: int
    path: str
    message: str
    remedy: str
    mendable: bool = True
