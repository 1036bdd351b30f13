"""What a summary says: the files that it claims, its facts, its references and sources."""

from __future__ import annotations

import re

from holdfast.lab.scoring.facts import facts_in

_REFERENCE = re.compile(r"\bhf-[0-9a-f]{10}\b")
_LABEL = re.compile(r" ?\[(?:earlier )?m?\d[\w.:-]{0,80}\]")
_SOURCE = re.compile(r" \[m(\d{1,9})\]$", re.MULTILINE)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_MUTATED = re.compile(r"\b(?:created|changed|deleted|renamed|written)\b", re.IGNORECASE)
_OURS = re.compile(
    r"\bhf-[0-9a-f]{10}\b| ?\[(?:earlier )?m?\d[\w.:-]{0,80}\]|^\(… .*$|^\d{1,6}[.)] "
    r"|\S*…\S*",
    re.MULTILINE,
)
"""What the summary says in its own right: references, labels, counts, words that it clipped."""


def claimed_files(summary: str) -> set[str]:
    """Return the files that a summary lists as changed in any way.

    Entries of the section on files look like `- path: created, changed 3 times [m12]`. Of a
    rename both names count.
    """
    found: set[str] = set()
    parts = _HEADING.split(summary)
    for heading, body in zip(parts[1::2], parts[2::2], strict=False):
        if "file" not in heading.lower():
            continue
        for line in body.split("\n"):
            path, mark, words = line.removeprefix("- ").partition(": ")
            if line.startswith("- ") and mark and _MUTATED.search(_LABEL.sub("", words)):
                found.add(path.strip().strip("`"))
                found.update(re.findall(r"renamed (?:from|to) `?([^\s`,;]+)", words))
    return found


def references(text: str) -> set[str]:
    """Return the references in a view."""
    return set(_REFERENCE.findall(text))


def label_numbers(summary: str) -> set[int]:
    """Return the positions of messages that the entries of a summary name as their sources."""
    return {int(number) for number in _SOURCE.findall(summary)}


def summary_facts(summary: str) -> set[str]:
    """Return the facts of a summary, without its own marks and counts."""
    headless = _HEADING.sub("", summary)
    return facts_in(_OURS.sub(" ", headless))
