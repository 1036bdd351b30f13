"""The replay lab: what recorded sessions would have cost under other strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.lab.cost_plots import cost_plot
    from foldaway.lab.figures import COST, FAULTS, LESS_IS_BETTER, OVER, USED, glossary, title_of
    from foldaway.lab.gate import Fall, find_falls
    from foldaway.lab.output import PAGE, SUMMARY, read_summary, write_results
    from foldaway.lab.peers.ask import Peers
    from foldaway.lab.peers.table import MODES
    from foldaway.lab.reader import READ_STRATEGIES, ReaderLosses, reader_cases, reader_lines
    from foldaway.lab.reader_models import ask, open_reader, read_losses, write_texts
    from foldaway.lab.reading import lab_session, read_sessions
    from foldaway.lab.recording import PlanRequest, PlanResult, Recording, plan_for, record
    from foldaway.lab.replay import ReplayTerms
    from foldaway.lab.report.tables import COLUMNS, format_cell, groups, title
    from foldaway.lab.results import (
        OURS,
        OWN,
        MeanInterval,
        RunManifest,
        ScoreLine,
        WrittenRun,
        summarize,
    )
    from foldaway.lab.runs import digest_of, run, terms_for
    from foldaway.lab.scoring.facts import is_present
    from foldaway.lab.scoring.needed import (
        Elsewhere,
        NeededFact,
        PreparedSession,
        UsedFact,
        commands_of,
        find_form,
        needed_facts,
        prepare,
        used_facts,
    )
    from foldaway.lab.scoring.score import CUTS
    from foldaway.lab.scoring.session import LabSession, OwnSummary, is_system, render
    from foldaway.lab.scoring.signals import to_line
    from foldaway.lab.scoring_rows import TrialTerms, session_rows
    from foldaway.lab.simulation import (
        THRESHOLDS,
        StrategyCost,
        append_only,
        planner,
        quantiles,
        simulate,
        strategies_for,
    )
    from foldaway.lab.strategies import (
        DRIFTING,
        PLAIN,
        RunSettings,
        Strategy,
        choose_strategies,
        list_strategies,
    )


__getattr__ = import_later(
    __name__,
    {
        "cost_plots": "cost_plot",
        "figures": "COST FAULTS LESS_IS_BETTER OVER USED glossary title_of",
        "gate": "Fall find_falls",
        "output": "PAGE SUMMARY read_summary write_results",
        "peers.ask": "Peers",
        "peers.table": "MODES",
        "reader": "READ_STRATEGIES ReaderLosses reader_cases reader_lines",
        "reader_models": "ask open_reader read_losses write_texts",
        "reading": "lab_session read_sessions",
        "recording": "PlanRequest PlanResult Recording plan_for record",
        "replay": "ReplayTerms",
        "report.tables": "COLUMNS format_cell groups title",
        "results": "MeanInterval OURS OWN RunManifest ScoreLine WrittenRun summarize",
        "runs": "digest_of run terms_for",
        "scoring.facts": "is_present",
        "scoring.needed": "Elsewhere NeededFact PreparedSession UsedFact commands_of needed_facts "
        "prepare find_form used_facts",
        "scoring.score": "CUTS",
        "scoring.session": "LabSession OwnSummary is_system render",
        "scoring.signals": "to_line",
        "scoring_rows": "TrialTerms session_rows",
        "simulation": "StrategyCost THRESHOLDS append_only planner quantiles simulate "
        "strategies_for",
        "strategies": "DRIFTING PLAIN RunSettings Strategy list_strategies choose_strategies",
    },
)
