"""Refuse the habits that docs/english.toml lists, in README.md, docs/, the help of every command,
public docstrings, and all docstrings and comments of the packages that it names.
"""

from __future__ import annotations

import ast
import io
import re
import runpy
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = re.compile(r"```(?!text).*?```|`[^`\n]*`", re.DOTALL)
GENERATED = ("docs/rules.md",)
"""Pages that come from the sentences of the code."""


def main() -> int:
    """Print every place; 1 if there is one."""
    data = tomllib.loads((ROOT / "docs" / "english.toml").read_text(encoding="utf-8"))
    allowed = re.compile("|".join(map(re.escape, data["allowed"])), re.IGNORECASE)
    habits = [(re.compile(one["find"], re.IGNORECASE), one["instead"]) for one in data["habit"]]
    found = [
        f"{place}:{line}: {match[0].strip()!r}; write: {instead}"
        for place, first, text in [*texts(), *comments(data["packages"])]
        for shown in [allowed.sub(blank, CODE.sub(blank, text))]
        for habit, instead in habits
        for match in habit.finditer(shown)
        for line in [first + shown.count("\n", 0, match.start())]
    ]
    sys.stdout.write("".join(f"{one}\n" for one in found))
    return int(bool(found))


def texts() -> Iterator[tuple[str, int, str]]:
    """Yield each text with the name of its file and its first line."""
    make_docs = runpy.run_path(str(ROOT / "docs" / "make_docs.py"))
    for path in make_docs["contexts"]():
        yield f"foldaway {path} --help", 1, make_docs["command_help"](path)
    yield "the shared options", 1, make_docs["shared_help"]()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name = path.relative_to(ROOT).as_posix()
        if name not in GENERATED:
            yield name, 1, path.read_text(encoding="utf-8")
    public = ROOT / "src" / "foldaway" / "__init__.py"
    tree = ast.parse(public.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("foldaway."):
            names = {one.name for one in node.names}
            yield from docstrings(str(node.module), names)


def docstrings(module: str, names: set[str]) -> Iterator[tuple[str, int, str]]:
    """Yield the docstrings of the names, and of their public methods, that a module defines."""
    path = ROOT / "src" / (module.replace(".", "/") + ".py")
    if not path.exists():
        return
    for top in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(top, ast.ClassDef | ast.FunctionDef) or top.name not in names:
            continue
        for node in [top, *(top.body if isinstance(top, ast.ClassDef) else [])]:
            is_named = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if is_named and not node.name.startswith("_") and (text := ast.get_docstring(node)):
                yield path.relative_to(ROOT).as_posix(), node.lineno + 1, text


def comments(packages: list[str]) -> Iterator[tuple[str, int, str]]:
    """Yield the docstrings, private ones too, and the comments of packages under src/foldaway."""
    for package in packages:
        for path in sorted((ROOT / "src" / "foldaway" / package).rglob("*.py")):
            place, code = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
            for token in tokenize.generate_tokens(io.StringIO(code).readline):
                if token.type == tokenize.COMMENT:
                    yield place, token.start[0], token.string
            for node in ast.walk(ast.parse(code)):
                match node:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield place, node.lineno, text
                    case _:
                        pass


def blank(match: re.Match[str]) -> str:
    """Return as many lines as the match has, and no words."""
    return "\n" * match[0].count("\n") or "·"


if __name__ == "__main__":
    sys.exit(main())
