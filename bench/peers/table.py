"""The peers of the lab: what they are, and in which modes they are run (`peers.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct


class Peer(Struct, frozen=True):
    """A tool from the package index; its worker is `workers/drive_NAME.py`."""

    requirements: tuple[str, ...]
    """The distribution and its version first, then what it needs beside it."""
    licence: str
    modes: dict[str, str]
    """What a mode does, and which setting is moved to meet the budget."""


PEERS: Mapping[str, Peer] = msgspec.convert(
    tomllib.loads(Path(__file__).with_name("peers.toml").read_text(encoding="utf-8")),
    dict[str, Peer],
)
MODES: Mapping[str, str] = {
    f"{name}:{mode}": f"{peer.requirements[0]}: {does}"
    for name, peer in PEERS.items()
    for mode, does in peer.modes.items()
}
"""What each mode of each peer does, by its full name."""
