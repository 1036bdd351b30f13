"""The peers of the lab: what they are, in which modes they are run, what cannot be shown."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Mode(Struct, frozen=True):
    """One mode in which a peer is run; its full name is `peer:mode`."""

    name: str
    does: str
    """What it does, and which setting is moved to meet the budget."""


class Peer(Struct, frozen=True, kw_only=True):
    """A tool from the package index; its worker is `workers/drive_NAME.py`."""

    name: str
    requirements: tuple[str, ...]
    """The distribution and its version first, then what it needs beside it."""
    licence: str
    does: str
    not_shown: str
    """What of it cannot be shown without a network or a model."""
    modes: tuple[Mode, ...]


_ALL = (
    Peer(
        name="hermes",
        requirements=("hermes-agent==0.19.0",),
        licence="MIT",
        does="prunes old tool results, keeps head and tail, replaces the middle by a summary",
        not_shown="the summary that a model would write",
        modes=(
            Mode("stub", "the model's summary is a fixed neutral text; `tail_token_budget` moves"),
            Mode("fallback", "the model fails, so its own deterministic summary stands there;"
                 " `tail_token_budget` moves"),
        ),
    ),
    Peer(
        name="langchain",
        requirements=("langchain==1.4.7", "langchain-core==1.7.2"),
        licence="MIT",
        does="keeps the newest messages, with or without a summary of the rest",
        not_shown="the summary that a model would write",
        modes=(
            Mode("trim", "`trim_messages`: the newest messages from a user's on;"
                 " `max_tokens` moves"),
            Mode("trim-loop", "the same, but may begin with an agent's message, as in a long loop"
                 " of tool calls; `max_tokens` moves"),
            Mode("summarize", "`SummarizationMiddleware`: the newest messages after a summary,"
                 " which is a fixed neutral text; `keep` in tokens moves"),
        ),
    ),
    Peer(
        name="headroom",
        requirements=("headroom-ai==0.42.0",),
        licence="Apache-2.0",
        does="shortens messages one by one by what they hold, drops none",
        not_shown="its model that compresses text, whose weights are downloaded",
        modes=(
            Mode("offline", "its rules without the model; takes no budget, so its defaults come"
                 " first and its profile `agent-90` where they leave too much"),
        ),
    ),
)  # fmt: skip

PEERS: Mapping[str, Peer] = {peer.name: peer for peer in _ALL}
MODES: tuple[str, ...] = tuple(f"{peer.name}:{mode.name}" for peer in _ALL for mode in peer.modes)
"""The full names, in the order of the table."""
