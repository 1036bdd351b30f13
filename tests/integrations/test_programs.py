"""The programs of docs/integrations.md: short, and made of what their adapters have.

`tests/frameworks/run.py --program` runs each in its framework.
"""

from __future__ import annotations

import ast
import importlib.util

from tests.frameworks.programs import READS, Program, adapters_of, read_programs
from tests.testing.rows import each_row

MOST_LINES = {"litellm": 23}
"""The loop is the program's own; elsewhere the framework has it."""
PROGRAMS = read_programs()


def test_the_page_has_programs_for_the_frameworks_that_most_use() -> None:
    """Four, each with its adapter."""
    assert set(PROGRAMS) == {"langchain", "openai_agents", "pydantic_ai", "litellm"}
    assert READS > 16, "so many fill the window of the scenario"


@each_row("program", PROGRAMS.values())
def test_a_program_is_short_and_takes_what_its_adapter_has(program: Program) -> None:
    """At most 13 lines of code if the framework has a loop; the names that it imports exist."""
    assert program.lines <= MOST_LINES.get(program.name, 13)
    for module, names in adapters_of(program.source).items():
        spec = importlib.util.find_spec(f"foldaway.integrations.{module}")
        assert spec is not None
        assert spec.origin is not None
        with open(spec.origin, encoding="utf-8") as file:
            body = ast.parse(file.read()).body
        assert set(names) <= {one.name for one in body if isinstance(one, ast.ClassDef)}
    compile(program.with_window(24_000), program.name, "exec")
