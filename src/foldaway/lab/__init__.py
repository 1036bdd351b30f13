"""The replay lab: what recorded sessions would have cost under other strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.lab.cost_plots import cost_plot
    from foldaway.lab.figures import COST, FAULTS, OVER, USED, glossary, title_of
    from foldaway.lab.gate import Fall, find_falls
    from foldaway.lab.output import PAGE, SUMMARY, read_summary, write_results
    from foldaway.lab.peers.ask import Peers
    from foldaway.lab.peers.table import MODES
    from foldaway.lab.reader import READ_STRATEGIES, ReaderLosses, reader_cases, reader_lines
    from foldaway.lab.reader_models import ask, open_reader, read_losses, write_texts
    from foldaway.lab.reading import read_sessions
    from foldaway.lab.recording import PlanRequest, PlanResult, Recording, plan_for, record
    from foldaway.lab.replay import ReplayTerms
    from foldaway.lab.report.tables import COLUMNS, format_cell, groups, title
    from foldaway.lab.results import OURS, OWN, MeanInterval, RunManifest, ScoreLine, WrittenRun
    from foldaway.lab.runs import digest_of, run, terms_for
    from foldaway.lab.scoring.session import LabSession
    from foldaway.lab.session_replay import own_losses, recordings_of, replay_session
    from foldaway.lab.session_trial import BUDGET, TRIAL_COLUMNS, TrialScores, measure_session
    from foldaway.lab.simulation import (
        THRESHOLDS,
        StrategyCost,
        quantiles,
        simulate,
        strategies_for,
    )
    from foldaway.lab.strategies import (
        DRIFTING,
        RunSettings,
        Strategy,
        choose_strategies,
        list_strategies,
    )
    from foldaway.lab.used_later import LookRange, Sight, UsedLater, facts_used_later


__getattr__ = import_later(
    __name__,
    {
        "cost_plots": "cost_plot",
        "figures": "COST FAULTS OVER USED glossary title_of",
        "gate": "Fall find_falls",
        "output": "PAGE SUMMARY read_summary write_results",
        "peers.ask": "Peers",
        "peers.table": "MODES",
        "reader": "READ_STRATEGIES ReaderLosses reader_cases reader_lines",
        "reader_models": "ask open_reader read_losses write_texts",
        "reading": "read_sessions",
        "recording": "PlanRequest PlanResult Recording plan_for record",
        "replay": "ReplayTerms",
        "report.tables": "COLUMNS format_cell groups title",
        "results": "MeanInterval OURS OWN RunManifest ScoreLine WrittenRun",
        "runs": "digest_of run terms_for",
        "scoring.session": "LabSession",
        "session_replay": "own_losses recordings_of replay_session",
        "session_trial": "BUDGET TRIAL_COLUMNS TrialScores measure_session",
        "simulation": "StrategyCost THRESHOLDS quantiles simulate strategies_for",
        "strategies": "DRIFTING RunSettings Strategy list_strategies choose_strategies",
        "used_later": "LookRange Sight UsedLater facts_used_later",
    },
)
