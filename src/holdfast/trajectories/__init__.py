"""Finished runs made to fit a training window: one record, or millions of them in a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.exports import import_later

if TYPE_CHECKING:
    from holdfast.trajectories.compress import compress_trajectory
    from holdfast.trajectories.policy import Metrics, TrajectoryPolicy

__all__ = [
    "Metrics",
    "TrajectoryPolicy",
    "compress_trajectory",
]

_LATER = {
    "Metrics": "holdfast.trajectories.policy",
    "TrajectoryPolicy": "holdfast.trajectories.policy",
    "compress_trajectory": "holdfast.trajectories.compress",
}

__getattr__ = import_later(__name__, _LATER)
