"""What a command printed and how it stands, out of the forms that tools give."""

from __future__ import annotations

import pytest

from foldaway.facts.digests.runs import Printed, read_printed


@pytest.mark.parametrize(("output", "wanted"), [
    ("plain", Printed("plain", None)),
    ("Exit code 3\nno", Printed("Exit code 3\nno", 3)),
    ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nbody\n", Printed("body\n", 0)),
    ("Chunk ID: 1\nProcess running with session ID 77\nOutput:\nexit code 3",
     Printed("exit code 3", None, "77")),
    ('{"output": "body", "exit_code": 2}', Printed("body", 2)),
    ('{"stdout": "out", "stderr": "err", "metadata": {"exit_code": 1}}', Printed("out\nerr", 1)),
    ('{"output": "body", "exit_code": "odd"}', Printed("body", None)),
    ('{"output": "body", "exit_code": 1}\n\n[a note of the host]', Printed("body", 1)),
    ('{"output": "torn', Printed('{"output": "torn', None)),
    ("Command: make\nOutput: cc\nError: (none)\nExit Code: 2\n", Printed("cc\nExit Code: 2\n", 2)),
    ("Command running in background with ID: bash_3",
     Printed("Command running in background with ID: bash_3", None, "bash_3")),
    ("y" * 900 + "exit code 1" + "y" * 900, Printed("y" * 900 + "exit code 1" + "y" * 900, None)),
])  # fmt: skip
def test_a_result_is_taken_out_of_its_form(output: str, wanted: Printed) -> None:
    """The status counts at the ends or where the form has a place for it, the body is the rest."""
    assert read_printed(output) == wanted
