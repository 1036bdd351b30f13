"""A record as a reader takes it: its headings, its entries, the files that it names."""

from __future__ import annotations

from tests.testing.rows import each_row

from foldaway.lab.scoring.record import kind_of_heading, read_claimed_files, read_view, sections_of


@each_row(
    ("section", "claims"),
    [
        ("## Relevant files\n- src/a.go: changed 2 times [m3]\n- src/b.go: read", {"src/a.go"}),
        ("## Files\n- changed: src/a.go (2), src/b.go; deleted: c.go; read: d.go",
         {"src/a.go", "src/b.go", "c.go"}),
        ("## Changed files\n- `src/a.go`\n- src/{b,c}.go", {"src/a.go", "src/b.go", "src/c.go"}),
        ("## Files\n- read: src/a.go", set[str]()),
        ("## Files\n- old.go: renamed to new.go", {"old.go", "new.go"}),
        ("## Goal\n- src/a.go: changed", set[str]()),
    ],
)  # fmt: skip
def test_changed_files_are_read_in_any_layout(section: str, claims: set[str]) -> None:
    """A path with words, words with paths, or bare paths under a heading that says it."""
    assert read_claimed_files(section) == claims


def test_headings_are_read_by_their_words() -> None:
    """In any order and wording that a reader would understand."""
    kinds = {"Blockers": "blockers", "Open errors": "blockers", "Active state": "state",
             "Current state": "state", "Critical context": "quotes", "Relevant files": "files",
             "Constraints and preferences": "constraints", "Current request": "request",
             "Historical task snapshot": "request", "Historical in-progress state": "story",
             "Completed actions": "story", "Key decisions": "story", "Weather": ""}  # fmt: skip
    assert {heading: kind_of_heading(heading) for heading in kinds} == kinds
    text = "intro\n## Blockers\n- a\n  b\n- c\n\n## Weather\nNone."
    assert [[entry.text for entry in one.entries] for one in sections_of(text)] == [
        ["intro"], ["a\n  b", "c"], []]  # fmt: skip


def test_headings_inside_a_section_belong_to_what_it_quotes() -> None:
    """An agent's report has headings of its own; they are not sections of the record."""
    text = "## Last report\n### Blockers\n- none left\n**Files changed**\n- a.go\n\n## State\n- ok"
    assert [one.heading for one in sections_of(text)] == ["", "Last report", "State"]
    assert [one.heading for one in sections_of("**Blockers**\n- a")] == ["", "Blockers"]
    cut = "## Last report\n- It prints:\n  ```\n  ok, then …\n\n## State\n- fine"
    assert [one.heading for one in sections_of(cut)] == ["", "Last report", "State"]


def test_a_view_without_a_record_claims_nothing() -> None:
    """Messages of the source with headings of their own are not a record, cut ones neither."""
    asked = {"role": "user", "content": "Look around."}
    report = {"role": "assistant", "content": "## Blockers\n- none found\n" + "text " * 50}
    view = [asked, {**report, "content": report["content"][:120] + "…"}]
    assert read_view(view, [asked, report]).at == -1
