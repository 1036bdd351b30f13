"""The replay lab: what recorded sessions would have cost under other strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.lab.output import (
        compare_to_baseline,
        find_report,
        list_runs,
        read_summary,
        report_script,
    )
    from foldaway.lab.play.tournament import PlaySettings
    from foldaway.lab.replay import PlanRequest, PlanResult, ReplayTerms, plan_for
    from foldaway.lab.report.panels import cost_plot
    from foldaway.lab.report.tables import RunText, describe_run
    from foldaway.lab.runs import RunSettings
    from foldaway.lab.session_trial import (
        SessionTrial,
        needed_for_trials,
        trial_columns,
        try_session,
    )
    from foldaway.lab.simulation import THRESHOLDS, Simulation, StrategyCost, replay_session
    from foldaway.lab.used_later import Sight, UsedLater, own_losses


__getattr__ = import_later(
    __name__,
    {
        "output": "compare_to_baseline find_report list_runs read_summary report_script",
        "play.tournament": "PlaySettings",
        "replay": "PlanRequest PlanResult ReplayTerms plan_for",
        "report.panels": "cost_plot",
        "report.tables": "RunText describe_run",
        "runs": "RunSettings",
        "session_trial": "SessionTrial needed_for_trials trial_columns try_session",
        "simulation": "replay_session Simulation StrategyCost THRESHOLDS",
        "used_later": "own_losses Sight UsedLater",
    },
)
