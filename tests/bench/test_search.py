"""The figures of search that are published hold."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from recall import DATA, ask, quality


@pytest.mark.shared
@pytest.mark.soak
@pytest.mark.skipif(not (DATA / "qa").exists(), reason="no shared data: set FOLDAWAY_DATA")
def test_a_question_finds_its_evidence_better_than_plain_forms_do() -> None:
    """Ahead of AND, OR, windows and fusion, on a conversation that no weight was chosen on."""
    [forms] = quality(ask(DATA, "locomo/conv-30")).values()
    ours = forms.pop("Foldaway")
    assert forms.pop("questions") == 105
    for name, plain in forms.items():
        for cut in ("at 5", "at 10"):
            assert ours[cut] > plain[cut], name
    assert ours["at 10"] > 0.84
