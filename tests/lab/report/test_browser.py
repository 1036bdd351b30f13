"""The page in a real browser: it fits a phone, and headings sort."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldaway.lab.output import PAGE, write_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), "")
SCRIPT = """<script>
for (const one of document.querySelectorAll("details")) one.open = true;
const width = document.documentElement.clientWidth;
const beyond = [...document.querySelectorAll("main *")].filter(
  (one) => one.getBoundingClientRect().right > width + 1 && !one.closest(".scroll")).length;
const table = document.querySelector("#tables table.figures");
const at = [...table.tHead.rows[0].cells].findIndex((one) => one.textContent === "bound");
const rows = table.tBodies[0].rows;
const values = () => [...rows].map((row) => row.cells[at]?.dataset.value ?? "none");
table.tHead.rows[0].cells[at].click();
document.title = `${beyond} beyond; ${values().join(" ")}`;
</script></body>"""


@pytest.mark.soak
@pytest.mark.skipif(not CHROMIUM, reason="there is no chromium")
@pytest.mark.parametrize("width", [500, 1280])
def test_the_page_fits_and_sorts(tmp_path: Path, make_run: Callable[..., Any], width: int) -> None:
    """Nothing but what scrolls by itself is wider than the window; a click sorts, failures last."""
    run = make_run()
    write_report(tmp_path, run.summary, run.rows)
    page = tmp_path / PAGE
    page.write_text(page.read_text().replace("</body>", SCRIPT))
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},2000",
         f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    found = re.search(r"<title>(\d+) beyond; (.*)</title>", done.stdout)
    assert found is not None
    beyond, values = found[1], found[2].split()
    assert beyond == "0"
    assert values[-1] == "none"
    assert len(values) == 6
    assert [float(value) for value in values[:-1]] == sorted(map(float, values[:-1]), reverse=True)
