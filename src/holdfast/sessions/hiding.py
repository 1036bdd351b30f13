"""How the secrets of a store are hidden unless a redactor is given."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.redaction.policy import DEFAULT_KEY
from holdfast.stores.store import Store


def redactor_of(
    store: Store, *, personal: bool = False, policy: RedactionPolicy | None = None
) -> Redactor:
    """Return a redactor whose placeholders are made by the key of the store.

    `policy` says what it hides. Without one, personal data stays unless it is asked for: the agent
    goes on with it. A store that is only read and has no key yet gets the public one.
    """
    key = store.redaction_key() or DEFAULT_KEY
    return Redactor(replace(policy or RedactionPolicy(personal=personal), key=key))
