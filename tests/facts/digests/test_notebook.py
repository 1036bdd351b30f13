"""Notebooks and pieces of code."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "NotebookEdit",
        {
            "notebook_path": "a.ipynb",
            "cell_id": "c3",
            "edit_mode": "replace",
            "new_source": "x = 1\ny = 2",
        },
        "Updated cell c3 with x = 1",
        "NotebookEdit changed a.ipynb cell c3 (replace) (2 lines): 26 characters",
    ),
    (
        "execute_ipython_cell",
        {"code": "import os\nprint(os.getcwd())"},
        "/w\n",
        "execute_ipython_cell ran `print(os.getcwd())` (2 lines): 3 characters",
    ),
    (
        "execute_code",
        {"code": "print(undefined)"},
        (
            'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n'
            "NameError: name 'undefined' is not defined"
        ),
        (
            "execute_code ran `print(undefined)`: 3 lines; NameError: name 'undefined' is "
            "not defined"
        ),
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_cell_keeps_its_code_and_how_it_ended(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """Of the code the first line that does something."""
    assert digest(tool, arguments, output) == line
