"""A request on its way to the provider itself, when no gateway answers."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

_DROPPED = ("host", "connection", "proxy-connection", "keep-alive")


class ProviderHost(Struct, frozen=True):
    """Where to connect."""

    host: str
    port: int
    is_secure: bool


def redirected(asked: bytes, upstreams: Mapping[str, str]) -> tuple[ProviderHost, bytes]:
    """Return where a request goes, and its bytes for there; raises `ValueError` if it is none.

    The connection has no other request: the provider is told to close it after its answer.
    """
    from foldaway.gateway import route_of, upstream_of  # needed only when no gateway answers

    head, _, rest = asked.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, version = first.split(" ")
    pairs = [(line.partition(":")[0].strip().lower(), line) for line in lines]
    headers = {name: line.partition(":")[2].strip() for name, line in pairs}
    wire = route_of(method, path.partition("?")[0], headers).wire
    parts = urlsplit(upstream_of(path, wire, upstreams))
    upgrades = "upgrade" in headers.get("connection", "").lower()
    kept = [line for name, line in pairs
            if name not in _DROPPED and not name.startswith("x-foldaway")]  # fmt: skip
    kept += [f"Host: {parts.netloc}", f"Connection: {'Upgrade' if upgrades else 'close'}"]
    where = parts.path + (f"?{parts.query}" if parts.query else "")
    sent = "\r\n".join([f"{method} {where} {version}", *kept]).encode("latin-1")
    is_secure = parts.scheme == "https"
    target = ProviderHost(parts.hostname or "", parts.port or (443 if is_secure else 80), is_secure)
    return target, sent + b"\r\n\r\n" + rest
