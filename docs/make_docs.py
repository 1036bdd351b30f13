"""Write what the documentation takes from the program: help texts and pictures of real output."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 100
BLOCK = re.compile(r"(<!-- help: ?([a-z ]*) -->\n```text\n).*?(```\n<!-- end -->)", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
FONT = re.compile(r"@font-face \{\{.*?\}\}", re.DOTALL)


def main() -> None:
    """Write everything."""
    page = ROOT / "docs" / "cli.md"
    page.write_text(with_help(page.read_text()))
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "mended.json")
        picture("check", "check", "examples/broken-chat.json")
        repair = ("repair", "examples/broken-chat.json", "-o", out)
        picture("repair", *repair, hide=(out, "mended.json"))
        small = os.path.join(scratch, "small.json")
        compress = ("compress", "examples/session.json.gz", "-o", small, "--target-tokens", "12000")
        picture("compress", *compress, hide=(small, "small.json"))
        picture("inspect", "inspect", "examples/session.json.gz")


def with_help(page: str) -> str:
    """Return the page with the help text of each command between its markers."""

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}{output('--help', of=match[2])}\n{match[3]}"

    return BLOCK.sub(block, page)


def output(*arguments: str, of: str = "", colour: bool = False, columns: int = 80) -> str:
    """Return what the real command prints."""
    env = {
        **os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": str(columns), "PYTHONUTF8": "1",
    }  # fmt: skip
    if colour:
        env |= {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm-256color"}
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *of.split(), *arguments], cwd=ROOT, env=env,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.stderr:
        raise SystemExit(done.stderr)
    return done.stdout.rstrip()


def picture(name: str, *arguments: str, hide: tuple[str, str] = ("", "")) -> None:
    """Write a picture of what the real command prints."""
    shown = " ".join(arguments).replace(*hide) if hide[0] else " ".join(arguments)
    text = output(*arguments, colour=True, columns=COLUMNS)
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ holdfast {shown}", "bold"))
    console.print(Text.from_ansi(text.replace(*hide) if hide[0] else text))
    svg = console.export_svg(
        title="holdfast", code_format=FONT.sub("", CONSOLE_SVG_FORMAT), unique_id=name
    )
    target = ROOT / "docs" / "pictures" / f"{name}.svg"
    target.parent.mkdir(exist_ok=True)
    target.write_text(re.sub(r"[ \t]+\n", "\n", COMMENT.sub("", svg)))


if __name__ == "__main__":
    main()
