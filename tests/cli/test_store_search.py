"""`search` over the store: words, phrases, prefixes, substrings, filters, profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("home")


def test_a_hit_carries_what_programs_need(foldaway: Any, talked: str) -> None:
    """Our id, the source's, the place, the role, the snippet, the score, the window."""
    (hit,) = foldaway("search", "module_7.py", "--json").reports
    assert (hit["session"], hit["position"], hit["role"]) == (talked, 15, "user")
    assert hit["source_id"] == "talk"
    assert "module_7.py" in hit["snippet"]
    assert isinstance(hit["score"], float)
    assert [row["position"] for row in hit["window"]] == list(range(10, 21))
    assert [row["position"] for row in hit["first"]] == [0, 1, 2]
    assert [row["position"] for row in hit["last"]] == [38, 39, 40]


@pytest.mark.parametrize(
    "query", ["questions", '"at most 7 times"', "ques*", "odule_7.p", "問題", "#10896", "E0425"]
)
def test_every_way_of_asking_finds(foldaway: Any, put: Any, query: str) -> None:
    """Stems, phrases, prefixes, pieces, CJK, numbers and codes."""
    words = "Question on module_7.py, at most 7 times; see #10896 and error[E0425]; 問題です"
    foldaway("import", put("q.json", [{"role": "user", "content": words}]))
    assert foldaway("search", query, "--json").code == 0


@pytest.mark.parametrize("query", ['"', "AND OR NOT", "*", "((", "NEAR(a b)", "a:b:c", "-", "'--"])
def test_no_query_is_an_error(foldaway: Any, talked: str, query: str) -> None:
    """It finds something or it does not."""
    assert foldaway("search", "--", query).code in (0, 1)


def test_the_picture_has_the_words_and_their_neighbours(foldaway: Any, talked: str) -> None:
    """The place, the words, one message either side."""
    seen = foldaway("search", "module_7.py")
    assert seen.code == 0
    assert f"{talked[-8:]} m15" in seen.text
    assert "user: Question 7 on module_7.py" in seen.text
    assert "m14 assistant: Answer 6." in seen.text
    assert "m16 assistant: Answer 7." in seen.text


def test_nothing_found_is_exit_1(foldaway: Any, talked: str) -> None:
    """A sentence for people, nothing for programs."""
    seen = foldaway("search", "giraffe")
    assert (seen.code, seen.out) == (1, b"")
    assert seen.err.count("\n") == 1
    assert foldaway("search", "giraffe", "--json").out == b""


def test_what_lacks_half_of_the_words_is_not_offered(foldaway: Any, put: Any) -> None:
    """Not as the only hit either: what is said instead is a search that finds something."""
    said = {"a": "refused: the last connection", "b": "a connection", "c": "refused"}
    for name, words in said.items():
        foldaway("import", put(f"{name}.json", [{"role": "user", "content": words}]))
    seen = foldaway("search", "connection refused")
    assert seen.text.startswith('No exact match for "connection refused". Partial matches:')
    assert (seen.text.count("user:"), "without" in seen.text) == (1, False)
    seen = foldaway("search", "giraffe refused")
    assert (seen.code, seen.text) == (1, "")
    assert "half of these words; try: foldaway search refused" in seen.err
    assert foldaway("search", "giraffe refused connection").text.count("without giraffe") == 1


def test_a_phrase_is_a_phrase_if_the_shell_leaves_its_quotes(foldaway: Any, talked: str) -> None:
    """Then nothing else is tried. Behind -- a query may begin with what it must not find."""
    assert foldaway("search", "Question on").text.startswith("No exact match")
    assert foldaway("search", '"Question on"').code == 1
    assert foldaway("search", "--", "-giraffe").code == 0
    assert "put -- before it" in " ".join(foldaway("search", "--help").text.split())


def test_filters_narrow_the_search(foldaway: Any, put: Any, talked: str) -> None:
    """Role, source, session, day; a session that is not there is refused."""
    other = [{"role": "assistant", "content": "module_7.py is fine"}]
    foldaway("import", put("other.json", [{"role": "user", "content": "hi"}, *other]))
    find = lambda *more: [  # noqa: E731
        hit["role"] for hit in foldaway("search", "module_7.py", *more, "--json").reports
    ]
    assert sorted(find()) == ["assistant", "user"]
    assert find("--role", "assistant") == ["assistant"]
    assert find("--session", talked) == ["user"]
    assert find("--source", "codex") == []
    assert find("--until", "2001-01-01") == []
    assert len(find("--most", 1)) == 1
    assert find("--tool", "ls") == []
    assert foldaway("search", "x", "--session", "nobody").code == 2


def test_the_window_is_as_wide_as_asked(foldaway: Any, talked: str) -> None:
    """Also none at all."""
    (hit,) = foldaway("search", "module_7.py", "--around", 0, "--json").reports
    assert [row["position"] for row in hit["window"]] == [15]


def test_originals_are_searched_as_before(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """No store is needed, and none is made; filters of sessions are refused."""
    messages = [{"role": "user" if n % 2 == 0 else "assistant",
                 "content": f"needle {n} " + "x " * 300} for n in range(60)]  # fmt: skip
    out = tmp_path / "small.json"
    foldaway("compress", put("in.json", messages), "-o", out, "--target-tokens", 3000)
    kept = f"{out}.originals.jsonl"
    (hit, *_) = foldaway("search", "needle", "--originals", kept, "--json").reports
    assert {"ref", "position", "snippet"} <= set(hit)
    assert foldaway("recall", hit["ref"], "--originals", kept).code == 0
    wrong = foldaway("search", "needle", "--originals", kept, "--role", "user")
    assert wrong.code == 2
    assert "--role is for sessions" in wrong.err


def test_another_profile_is_only_read(foldaway: Any, put: Any, talked: str) -> None:
    """It is searched and listed on request, and never mixed with one's own."""
    foldaway("import", put("w.json", [{"role": "user", "content": "zebra"}]), "--profile", "work")
    assert foldaway("search", "zebra").code == 1
    (hit,) = foldaway("search", "zebra", "--profile", "work", "--json").reports
    assert foldaway("sessions", "read", hit["session"]).code == 2
    assert foldaway("sessions", "read", hit["session"], "--profile", "work").code == 0
    missing = foldaway("search", "zebra", "--profile", "nobody")
    assert (missing.code, missing.out) == (1, b"")


def test_variables_and_settings_name_store_and_profile(
    foldaway: Any, put: Any, tmp_path: Path, own_settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FOLDAWAY_PROFILE, FOLDAWAY_STORE and [sessions]; a flag wins."""
    path = put("w.json", [{"role": "user", "content": "zebra"}])
    monkeypatch.setenv("FOLDAWAY_PROFILE", "work")
    foldaway("import", path)
    assert foldaway("search", "zebra", "--profile", "default").code == 1
    assert foldaway("search", "zebra").code == 0
    monkeypatch.setenv("FOLDAWAY_STORE", str(tmp_path / "other.db"))
    assert foldaway("search", "zebra").code == 1
    foldaway("import", path)
    assert (tmp_path / "other.db").exists()
    monkeypatch.delenv("FOLDAWAY_STORE")
    own_settings.write_text('[sessions]\nstore = "third.db"\n')
    foldaway("import", path)
    assert (tmp_path / "third.db").exists()
    assert foldaway("search", "zebra", "--home", tmp_path / "new").code == 1
