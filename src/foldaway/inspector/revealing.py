"""One secret, shown to somebody who asks for it: never a page of them."""

from __future__ import annotations

from msgspec import Struct, convert
from starlette.requests import Request

from foldaway.dialects import parse
from foldaway.errors import UnknownPosition
from foldaway.inspector.site import Answer, Inspector, NotAllowed, body_of
from foldaway.redaction import DEFAULT_KEY, RedactionPolicy, Redactor, Vault
from foldaway.sessions import PLACEHOLDER, decoded, shown_text


class SecretAsked(Struct, frozen=True, forbid_unknown_fields=True):
    """Which secret: a message and the placeholder in it."""

    position: int
    mark: str


class SecretShown(Struct, frozen=True):
    """What stood there."""

    secret: str


def show_secret(inspector: Inspector, request: Request) -> Answer:
    """Return the secret behind a placeholder of a message."""
    asked = convert(parse(body_of(request)), SecretAsked)
    opened = inspector.shelf.open(str(request.path_params["id"]))
    rows = opened.store.read(opened.info.id, asked.position, asked.position + 1)
    if asked.position < 0 or not rows or not PLACEHOLDER.fullmatch(asked.mark):
        raise UnknownPosition(opened.info.id, asked.position, opened.info.length)
    vault = Vault()
    policy = RedactionPolicy(key=opened.store.redaction_key() or DEFAULT_KEY)
    shown_text(decoded(rows, opened.info.dialect)[0], Redactor(policy, vault=vault))
    found = vault.restore(asked.mark)
    if found == asked.mark:
        said = "this was hidden as a whole and cannot be shown by itself"
        raise NotAllowed(f"{said}; export the session with `foldaway sessions export`")
    return SecretShown(found)
