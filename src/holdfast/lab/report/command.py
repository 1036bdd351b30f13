"""The command that asks for a run again, from its manifest."""

from __future__ import annotations

from shlex import quote

from holdfast.lab.peers import MODES
from holdfast.lab.run import Manifest


def command_of(manifest: Manifest) -> str:
    """Return the command; a manifest holds neither the files nor what changes no figure."""
    parts = [
        "holdfast lab run FILES…",
        f"--strategies {quote(','.join(manifest.strategies))}",
        f"--budgets {_shares(manifest.budgets)}",
    ]
    if set(manifest.strategies) & set(MODES):
        parts.append("--peers")
    if manifest.peer_budgets:
        parts.append(f"--peer-budgets {_shares(manifest.peer_budgets)}")
    for name, value in manifest.asked.items():
        if value:
            parts.append(f"--{name} {quote(value)}")
    if not manifest.drifting:
        parts.append("--no-drift")
    return " ".join(parts)


def _shares(budgets: tuple[float, ...]) -> str:
    return ",".join(f"{budget * 100:g}" for budget in budgets)
