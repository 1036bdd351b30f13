"""What the site needs beside `docs/`: pages from elsewhere in the repository, the help texts of the
program, links by titles, lists as GitHub shows them, and a check that no page loads anything from
another host.

MkDocs and the program are imported only by what needs them: tests/test_docs.py reads this file.
"""

from __future__ import annotations

import re
import runpy
from functools import cache
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = ("CHANGELOG.md", "README.md", "SECURITY.md", "examples/*.*")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)([^)]*\))")
FENCE = re.compile(r" *`{3,}")
TITLE = re.compile(r"^# (.*)$", re.MULTILINE)
LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=[\"']?(https?:)?//[^>]*>")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and examples that are outside `docs/`, under their path in the repository."""
    from mkdocs.structure.files import File

    for name in outside_files():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def outside_files() -> list[str]:
    """Return the paths of the pages and examples that are outside `docs/`."""
    found = [path.relative_to(ROOT).as_posix() for one in OUTSIDE for path in ROOT.glob(one)]
    return sorted(name for name in found if "/." not in f"/{name}" and name != "README.md")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return the page with links as they are in the site, where `docs/` is the top folder."""
    here = page.file.src_uri
    outside = (ROOT / here).is_file() and not (ROOT / "docs" / here).is_file()
    folder = PurePosixPath(here if outside else f"docs/{here}").parent

    def link(match: re.Match[str]) -> str:
        target = normpath((folder / match[2]).as_posix()).removeprefix("docs/")
        target = "index.md" if target == "README.md" else target
        file = files.get_file_from_path(target)
        is_path = re.fullmatch(rf"\S*{re.escape(PurePosixPath(target).name)}", match[1])
        text = title_of(file) if file and is_path else match[1]
        shown = relpath(target, PurePosixPath(here).parent) if file else match[2]
        for source in (target, f"docs/{target}") if file is None else ():
            if (ROOT / source).is_file():  # what is for contributors stays in the source
                shown = f"{config['extra']['source']}/{source}"
        return f"[{text}]({shown}{match[3]}"

    if "<!-- help:" in markdown:
        markdown = make_docs()["with_help"](markdown)
    return deepen_lists(LINK.sub(link, markdown))


@cache
def make_docs() -> dict[str, Any]:
    """Return what `docs/make_docs.py` has."""
    return runpy.run_path(str(ROOT / "docs" / "make_docs.py"))


def title_of(file: Any) -> str:
    """Return the title of a page, without a subtitle, or the name of a file that is not a page."""
    if not file.src_uri.endswith(".md"):
        return PurePosixPath(file.src_uri).name
    return TITLE.findall(file.content_string)[0].partition(":")[0]


def deepen_lists(markdown: str) -> str:
    """Return the text with what belongs to a list item indented by four, as the site wants it."""
    lines: list[str] = []
    fence: int | None = None
    for line in markdown.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        by = indent if fence is None else fence
        lines.append(" " * (4 - by) + line if by in (2, 3) and line else line)
        if FENCE.match(line):
            fence = indent if fence is None else None
    return "\n".join(lines)


def on_post_build(config: Any) -> None:
    """Refuse a site that loads a script, a style or a picture from another host."""
    from mkdocs.exceptions import PluginError

    for path in sorted(Path(config["site_dir"]).rglob("*.html")):
        for found in LOADED.finditer(path.read_text(encoding="utf-8")):
            raise PluginError(f"{path.name} loads from another host: {found[0]}")
