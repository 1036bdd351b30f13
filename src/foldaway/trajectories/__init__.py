"""Finished runs made to fit a training window: one record, or millions of them in a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway.exports import import_later

if TYPE_CHECKING:
    from foldaway.trajectories.compress import compress_trajectory
    from foldaway.trajectories.policy import Metrics, TrajectoryPolicy

__all__ = [
    "Metrics",
    "TrajectoryPolicy",
    "compress_trajectory",
]


__getattr__ = import_later(
    __name__,
    {
        "compress": "compress_trajectory",
        "policy": "Metrics TrajectoryPolicy",
    },
)
