"""Finished runs made to fit a training window: one record, or millions of them in a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.trajectories.batch import (
        BatchResult,
        CallEstimate,
        Progress,
        compress_batch,
        estimate_batch,
    )
    from foldaway.trajectories.compress import compress_trajectory
    from foldaway.trajectories.policy import (
        Artifacts,
        BatchSettings,
        Metrics,
        RequestLimits,
        Summaries,
        TrajectoryPolicy,
    )
    from foldaway.trajectories.reading import RecordSource, find_sources
    from foldaway.trajectories.stats import Stats, measure_records, sample_lines
    from foldaway.trajectories.verification import find_over_target, verify_batch

__all__ = ["Metrics", "TrajectoryPolicy", "compress_trajectory"]


__getattr__ = import_later(
    __name__,
    {
        "batch": "BatchResult CallEstimate Progress compress_batch estimate_batch",
        "compress": "compress_trajectory",
        "policy": "Artifacts BatchSettings Metrics RequestLimits Summaries TrajectoryPolicy",
        "reading": "RecordSource find_sources",
        "stats": "Stats measure_records sample_lines",
        "verification": "find_over_target verify_batch",
    },
)
