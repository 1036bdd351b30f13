"""Whose conversation it is: of the credential that began it, no matter who else names it.

A conversation has a keyed hash of the credential in its key. The hash's key is in the store, so
that a restart and another gateway agree; the credential itself is neither kept nor logged.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from binascii import Error as NotBase64
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, cast
from urllib.parse import parse_qs

from foldaway.dialects import dialect_named, dump_bytes, dump_text, parse, split_list, split_object
from foldaway.errors import NotReadable
from foldaway.gateway.identity import read_user_id
from foldaway.sessions import decode_rows, digest, find_by_key, frame_of
from foldaway.stores import SessionInfo, Store

_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
_CHANGING = ("sk-ant-oat", "ya29.")
"""How tokens begin that are renewed every few hours: Claude and Google subscriptions."""
_JWT = re.compile(r"[\w-]+\.([\w-]+)\.[\w-]*")
_OWNER = "owner"
"""The note of a session from before that a credential has taken over."""
_MOST_TOKENS = 1_000
"""Whose accounts are remembered; more clients than one gateway has."""


class Owners:
    """Tells whose a request is."""

    def __init__(self, store: Store, *, is_shared: bool) -> None:
        """Take the store that has the key of the hash. `is_shared` says that people on other
        machines use the gateway.
        """
        self._store, self._is_shared = store, is_shared
        self._accounts: OrderedDict[str, str] = OrderedDict()

    def of(self, headers: Mapping[str, str], frame: Mapping[str, Any]) -> str:
        """Return the owner of a request, "" if it has no credential. All that it has count."""
        given = {re.sub("(?i)^bearer +", "", headers.get(name, "")) for name in _CREDENTIALS} - {""}
        if not given:
            return ""
        known = sorted(self._find_account(one, frame) for one in given)
        known.append(headers.get("chatgpt-account-id", ""))
        return self._hash(dump_text(known))

    def _find_account(self, token: str, frame: Mapping[str, Any]) -> str:
        """Return what stays of a token that is renewed: the account that it or its request names,
        or that it came with before. Of one that names none, what kind of token it is; but among
        people of other machines the token itself.
        """
        if claims := _claims(token):
            return claims
        kind = next((one for one in _CHANGING if token.startswith(one)), "")
        if not kind:
            return token
        name, account = self._hash(token), read_user_id(frame)[0]
        if account:
            self._accounts[name] = account
            if len(self._accounts) > _MOST_TOKENS:
                self._accounts.popitem(last=False)
        return self._accounts.get(name) or (token if self._is_shared else kind)

    def _hash(self, text: str) -> str:
        key = self._store.redaction_key().encode()
        data = text.encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=8, key=key, person=b"foldaway-owner").hexdigest()


def _claims(token: str) -> str:
    """Return whom a JSON Web Token names, "" if it is none or names nobody."""
    match = _JWT.fullmatch(token)
    if match is None:
        return ""
    try:
        said: Any = parse(urlsafe_b64decode(match[1] + "=" * (-len(match[1]) % 4)))
    except (NotReadable, NotBase64):
        return ""
    held = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    return dump_text([held.get("iss"), held["sub"]]) if held.get("sub") else ""


def key_in(query: bytes) -> dict[str, str]:
    """Return the API key in an address as the header that may have it instead."""
    found = parse_qs(query.decode("latin-1")).get("key", [""]) if b"key=" in query else [""]
    return {"x-goog-api-key": found[0]} if found[0] else {}


def find_stored(
    store: Store, key: str, owner: str, source: str, body: bytes
) -> tuple[str, SessionInfo | None]:
    """Return the key under which a conversation is in the store, and where it goes on; None if it
    is not there yet.

    One from before, whose key has no owner, goes to the first one whose request holds all of it:
    that reveals nothing. From then on nobody else reaches it.
    """
    plain = key.removesuffix(f"@{owner}") if owner else key
    if owner and (known := find_by_key(store, key, source)) is not None:
        return key, known
    known = find_by_key(store, plain, source)
    if known is None:
        return key, None
    notes = (frame_of(one).get("notes", {}) for one in store.lineage(known.root_id))
    taken_by = next((one[_OWNER] for one in notes if _OWNER in one), "")
    if taken_by == owner:
        return plain, known
    if taken_by or not _has_all(body, store, known):
        other = key if owner else f"{plain}@"
        return other, find_by_key(store, other, source)
    frame = frame_of(known)
    noted = {**frame.get("notes", {}), _OWNER: owner}
    return plain, store.change(known.id, frame=dump_bytes({**frame, "notes": noted}))


def _has_all(body: bytes, store: Store, known: SessionInfo) -> bool:
    """Return whether a request has all that was said in a session, system prompts aside."""
    dialect = dialect_named(known.dialect)
    said = [parse(raw) for raw in split_list(split_object(body)[dialect.list_key])]
    given, kept = (
        [digest(one) for one in messages if one.role not in ("system", "developer")]
        for messages in (dialect.decode(said, 0), decode_rows(store.read(known.id), known.dialect))
    )
    return bool(kept) and given[: len(kept)] == kept
