"""Diffs, search results and listings."""

from __future__ import annotations

from foldaway import reduce


def hunk(start: int, lines: int) -> str:
    changed = "".join(f"-old line {start + n}\n+new line {start + n}\n" for n in range(lines))
    return f"@@ -{start},9 +{start},9 @@ def f():\n context above\n{changed} context below\n"


def part(path: str, *hunks: str) -> str:
    return (
        f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n"
        + "".join(hunks)
    )


def test_a_diff_names_every_file_with_its_counts() -> None:
    """Whatever else does not fit."""
    text = "".join(part(f"src/module_{n}.py", hunk(1, 9), hunk(90, 4)) for n in range(15))
    done = reduce(text, None, 500)
    for n in range(15):
        assert f"diff --git a/src/module_{n}.py b/src/module_{n}.py (+13 −13)" in done.text


def test_a_diff_keeps_changes_before_context() -> None:
    """Lines that did not change go first."""
    context = "".join(f" line {n} that stays as it was\n" for n in range(80))
    text = part("a.py", f"@@ -1,90 +1,90 @@\n{context}-gone\n+come\n{context}")
    done = reduce(text, None, 120)
    assert "-gone\n+come" in done.text
    assert "that stays" not in done.text
    assert done.counts == {"context lines": 160}


def test_lock_files_are_counted_and_not_shown() -> None:
    """Nobody reads what a package manager wrote."""
    text = part("package-lock.json", hunk(1, 200)) + part("src/a.js", hunk(1, 3))
    done = reduce(text, None, 300)
    assert "package-lock.json b/package-lock.json (+200 −200)\ndiff --git" in done.text
    assert "+new line 3" in done.text
    assert done.counts["generated files"] == 1


def test_renames_and_new_files_are_said() -> None:
    """What happened to the file is part of its title."""
    text = (
        "diff --git a/old.py b/new.py\nsimilarity index 90%\nrename from old.py\nrename to new.py\n"
        + part("b.py", hunk(1, 200))
    )
    assert "[rename from old.py] [rename to new.py]" in reduce(text, None, 200).text


def test_a_diff_of_more_files_than_fit_says_how_many() -> None:
    """The first names, and the number of the others."""
    text = "".join(part(f"src/some/long/path/module_{n}.py", hunk(1, 1)) for n in range(300))
    done = reduce(text, None, 200)
    assert "src/some/long/path/module_0.py (+1 −1)" in done.text
    assert done.counts["files"] > 200


def test_the_message_of_a_commit_stays() -> None:
    """What stands before the first file is read as text."""
    head = "commit abc123\nAuthor: A <a@example.invalid>\n\n    Fix the cache\n\n"
    text = reduce(head + part("a.py", hunk(1, 300)), None, 150).text
    assert "commit abc123" in text
    assert "Fix the cache" in text


def test_search_results_are_grouped_by_file() -> None:
    """Every file with its count; the first match of each before the second of any."""
    text = "\n".join(f"src/m{n % 4}.py:{n}:    value_{n} = compute(it)" for n in range(200))
    done = reduce(text, None, 200)
    assert done.text.startswith("200 matches in 4 files\n")
    for n in range(4):
        assert f"src/m{n}.py [50]\n  {n}: value_{n} = compute(it)" in done.text
    assert done.counts["matches"] > 150


def test_context_around_matches_goes_first() -> None:
    """Lines that did not match are counted."""
    text = "\n--\n".join(
        f"a.py-{n}-before\na.py:{n + 1}:match {n}\na.py-{n + 2}-after" for n in range(0, 90, 3)
    )
    done = reduce(text, None, 200)
    assert done.counts["context lines"] == 60
    assert "before" not in done.text


def test_the_same_match_at_many_places_is_one() -> None:
    """The text once, with its line numbers."""
    text = "\n".join(f"a.py:{n}:return None" for n in range(1, 9)) + "\nb.py:1:" + "x" * 300
    assert "1, 2, 3, 4, 5, 6, 7, 8: return None" in reduce(text, "search", 90).text


def test_an_error_among_the_matches_stays() -> None:
    """What is no match is shown before them."""
    text = "grep: secret: Permission denied\n" + "\n".join(f"a{n}.py:{n}:x" for n in range(200))
    assert "grep: secret: Permission denied" in reduce(text, None, 100).text


def test_a_listing_is_grouped_by_folder() -> None:
    """The folder once, its names behind it, both ends of a long one."""
    text = "\n".join(f"/home/me/project/src/pkg_{n // 40}/module_{n}.py" for n in range(160))
    done = reduce(text, None, 200)
    assert done.text.startswith("under /home/me/project/src/\npkg_0/ [40]: module_0.py, ")
    assert "module_159.py" in done.text
    assert done.counts["entries"] > 60


def test_a_long_listing_keeps_sizes() -> None:
    """Of `ls -l` the name and the size."""
    rows = [f"-rw-r--r--  1 me  staff  {n}00 Jan  1 10:00 file_{n}.txt" for n in range(1, 90)]
    text = reduce("total 17\n" + "\n".join(rows), None, 120).text
    assert "file_1.txt (100)" in text
    assert "staff" not in text


def test_a_stat_keeps_its_sum() -> None:
    """The last line of `git diff --stat` says it all."""
    rows = "\n".join(f" src/module_{n}.py | {n} +++---" for n in range(90))
    text = reduce(
        f"{rows}\n 90 files changed, 675 insertions(+), 448 deletions(-)\n", None, 90
    ).text
    assert "90 files changed, 675 insertions(+), 448 deletions(-)" in text
