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
    from foldaway.trajectories.counting import counter_for
    from foldaway.trajectories.folder import BatchReport
    from foldaway.trajectories.model_client import Spent
    from foldaway.trajectories.policy import (
        BINS,
        LEAST_SUMMARY_TOKENS,
        Artifacts,
        BatchSettings,
        Counted,
        Format,
        Metrics,
        RequestLimits,
        Summaries,
        TrajectoryPolicy,
    )
    from foldaway.trajectories.reading import RecordSource, find_sources, join_lines, read_records
    from foldaway.trajectories.stats import QUANTILES, Stats, sample, stats_of
    from foldaway.trajectories.verification import (
        Fault,
        describe_over_target,
        read_over_target,
        verify,
    )

__all__ = ["Metrics", "TrajectoryPolicy", "compress_trajectory"]


__getattr__ = import_later(
    __name__,
    {
        "batch": "BatchResult CallEstimate Progress compress_batch estimate_batch",
        "compress": "compress_trajectory",
        "counting": "counter_for",
        "folder": "BatchReport",
        "model_client": "Spent",
        "policy": "Artifacts BINS BatchSettings Counted Format LEAST_SUMMARY_TOKENS Metrics "
        "RequestLimits Summaries TrajectoryPolicy",
        "reading": "RecordSource find_sources join_lines read_records",
        "stats": "QUANTILES Stats sample stats_of",
        "verification": "Fault describe_over_target read_over_target verify",
    },
)
