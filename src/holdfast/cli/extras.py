"""The optional packages: which extra brings them, and what is missing without it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from msgspec import Struct


class Extra(Struct, frozen=True, kw_only=True):
    """An extra of the package, and whether it is there."""

    name: str
    package: str
    installed: bool
    version: str = ""
    purpose: str
    remedy: str = ""


_EXTRAS: tuple[tuple[str, str, str, str], ...] = (
    ("prices", "genai-prices", "genai_prices", "windows and prices of models"),
    ("openai", "openai", "openai", "summaries by OpenAI and what speaks its protocol"),
    ("anthropic", "anthropic", "anthropic", "summaries by Anthropic"),
    ("litellm", "litellm", "litellm", "summaries by other providers"),
    ("exact", "tiktoken", "tiktoken", "exact token counts"),
    ("postgres", "psycopg", "psycopg", "sessions on a PostgreSQL server"),
    ("mcp", "mcp", "mcp", "past sessions for agents, `holdfast mcp`"),
    ("lab", "tree-sitter-bash", "tree_sitter_bash", "scores and report of `holdfast lab run`"),
    ("trajectories", "pyarrow", "pyarrow", "Parquet and tokenizer files of trajectories"),
    ("code", "tree-sitter-python", "tree_sitter_python", "source code reduced by its syntax"),
)
"""Extra, package, module, purpose."""


def extras() -> tuple[Extra, ...]:
    """Return all extras; nothing is imported."""
    found: list[Extra] = []
    for name, package, module, purpose in _EXTRAS:
        there = find_spec(module) is not None
        found.append(Extra(
            name=name, package=package, installed=there, purpose=purpose,
            version=version_of(package) if there else "",
            remedy="" if there else f"pip install 'holdfast[{name}]'",
        ))  # fmt: skip
    return tuple(found)


def version_of(package: str) -> str:
    """Return the version of a package, "" where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
