"""How the secrets of a store are hidden where nobody says otherwise."""

from __future__ import annotations

from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.redaction.policy import DEFAULT_KEY
from holdfast.stores.store import Store


def redactor_of(store: Store, *, personal: bool = False) -> Redactor:
    """Return a redactor whose placeholders are made by the key of the store.

    Personal data stays unless it is asked for: the agent goes on with it. A store that is only
    read and has no key yet gets the public one.
    """
    key = store.redaction_key() or DEFAULT_KEY
    return Redactor(RedactionPolicy(key=key, personal=personal))
