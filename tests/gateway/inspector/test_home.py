"""The overview and the list of sessions: figures, filters, pages, and what is shown as text."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from starlette.datastructures import QueryParams
from tests.gateway.inspector.conftest import SECRET, Pages, talk
from tests.gateway.inspector.native import MODEL, Visit, visit, write_session

from foldaway.agents.importers import sessions_in
from foldaway.agents.importers.take import take_all
from foldaway.gateway.inspector.addresses import Choice, choice_of
from foldaway.gateway.inspector.app import OpenServer
from foldaway.gateway.inspector.sessions_page import AT_ONCE
from foldaway.gateway.inspector.site import HERE, asset
from foldaway.gateway.inspector.spending_reader import SpendingReader
from foldaway.gateway.options import GatewayOptions
from foldaway.sessions import Session
from foldaway.stores import NewSession, open_store
from foldaway.usage.reading import UsageReader
from foldaway.usage.sums import full, money, short

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> \u202e\x1b[31mred"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A home with sessions of two projects on three days."""
    folder = tmp_path / "home" / ".claude" / "projects"
    write_session(folder / "a", "one", "red zebra", "and then", day="2026-01-15")
    write_session(folder / "a", "two", "blue zebra", day="2026-01-16")
    write_session(folder / "b", "three", "green giraffe", project="/work/tool", day="2026-01-18")
    return tmp_path / "home"


@pytest.fixture
def page(files: Path, tmp_path: Path) -> Iterator[Visit]:
    """The pages over these files, all of them read."""
    with visit(None, [files], tmp_path / "cache") as made:
        yield made


def usage(home: Path, *arguments: str) -> Any:
    """Return what `foldaway usage` says."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "FOLDAWAY_HOME": str(home / "h"),
                   "PYTHONPATH": os.pathsep.join(sys.path)}  # fmt: skip
    command = [sys.executable, "-m", "foldaway", "usage", "--json", *arguments]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


def text_of(page: str) -> str:
    """Return what a page says, without its elements."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", bare)).split())


def names_in(page: str) -> list[str]:
    """Return the names of the sessions of a list, in order."""
    return re.findall(r'class="name" href="/inspector/session/([^"]+)"', page)


def titles_in(page: str) -> list[str]:
    """Return the titles of the sessions of a list, in order."""
    return [html.unescape(one) for one in re.findall(r'class="name"[^>]*><bdi>(.*?)</bdi>', page)]


@pytest.mark.slow
def test_the_figures_are_those_of_the_command(page: Visit, files: Path) -> None:
    """The overview and `foldaway usage` say the same of the same files."""
    whole, said = usage(files)["total"], page.get("/inspector")
    assert whole["requests"] == 4
    assert f'<strong title="{full(whole["total_tokens"])}">{short(whole["total_tokens"])}<' in said
    assert f"<strong>{whole['requests']}</strong><span>requests" in said
    assert f"<strong>{money(whole['cost'])}" in said
    for by in ("project", "agent", "model"):
        for row in usage(files, "--by", by)["rows"]:
            name = row[by].rpartition("/")[2]
            line = f"{name} {row['sessions']} {short(row['total_tokens'])} {money(row['cost'])}"
            assert line in text_of(said)
    rows = {row["period"]: row for row in usage(files)["rows"]}
    (bars,) = re.findall(r'id="bars">(.*?)</script>', said)
    found = json.loads(bars)
    assert found["period"] == "day"
    assert {one["name"]: one["tokens"] for one in found["bars"]} == {
        "2026-01-15": rows["2026-01-15"]["total_tokens"],
        "2026-01-16": rows["2026-01-16"]["total_tokens"], "2026-01-17": 0,
        "2026-01-18": rows["2026-01-18"]["total_tokens"],
    }  # fmt: skip


@pytest.mark.slow
def test_a_day_a_project_and_a_model_narrow_everything(page: Visit, files: Path) -> None:
    """The figures are those of the same filter of the command; the list has the same sessions."""
    said = page.get("/inspector", since="2026-01-16", until="2026-01-16")
    whole = usage(files, "--since", "2026-01-16", "--until", "2026-01-16")["total"]
    assert f'title="{full(whole["total_tokens"])}"' in said
    assert titles_in(said) == ["blue zebra"]
    said = page.get("/inspector", project="/work/tool")
    whole = usage(files, "--project", "/work/tool")["total"]
    assert f'title="{full(whole["total_tokens"])}"' in said
    assert titles_in(said) == ["green giraffe"]
    assert len(titles_in(page.get("/inspector", model=MODEL))) == 3
    assert titles_in(page.get("/inspector", model="another")) == []
    assert titles_in(page.get("/inspector", days=7)) == []


def test_a_long_time_is_shown_by_weeks_and_by_months(tmp_path: Path) -> None:
    """Bars stay wide enough to be hit, and none of them is left out."""
    for number, (day, period) in enumerate([("2026-01-01", "week"), ("2023-01-01", "month")]):
        folder = tmp_path / str(number)
        write_session(folder, "first", "zebra", day=day)
        write_session(folder, "last", "zebra", day="2026-06-01")
        with visit(None, [folder], tmp_path / f"cache{number}") as made:
            found = json.loads(re.findall(r'id="bars">(.*?)</script>', made.get("/inspector"))[0])
        assert found["period"] == period
        assert len(found["bars"]) <= 105
        assert sum(bar["requests"] for bar in found["bars"]) == 2
        assert [bool(bar["requests"]) for bar in found["bars"]][:: len(found["bars"]) - 1] == [
            True, True,
        ]  # fmt: skip


def test_sessions_of_a_store_and_of_files_are_one_list(files: Path, tmp_path: Path) -> None:
    """The last used first, and what is in both is there once, by its name in the store."""
    with open_store(":memory:") as store:
        (taken,) = take_all(store, sessions_in(files / ".claude" / "projects" / "b"))
        assert taken.session
        with visit(store, [files], tmp_path / "cache") as made:
            found = made.get("/inspector/sessions")
            assert titles_in(found) == ["green giraffe", "blue zebra", "red zebra"]
            assert names_in(found)[0] == taken.session.id
            assert "3 sessions" in text_of(found)
            (second,) = take_all(store, sessions_in(files / ".claude/projects/a/two.jsonl"))
            assert second.session
            again = made.get("/inspector/sessions")
            assert names_in(again)[:2] == [taken.session.id, second.session.id]
            assert len(names_in(again)) == 3


def test_pages_of_the_list_have_every_session_once(tmp_path: Path) -> None:
    """Links lead from page to page, also between sessions of the same moment."""
    for number in range(AT_ONCE + 7):
        write_session(tmp_path / "files", f"f{number}", f"file {number}", day="2026-01-15")
    with open_store(":memory:") as store:
        for number in range(AT_ONCE + 5):
            new = NewSession(title=f"stored {number}", started=1_768_000_000 + number // 2)
            store.create(new)
        with visit(store, [tmp_path / "files"], tmp_path / "cache") as made:
            address, seen, pages = "/inspector/sessions", list[str](), 0
            while address:
                found = made.get(address)
                seen += titles_in(found)
                link = re.search(r'rel="next" href="([^"]+)"', found)
                address, pages = html.unescape(link[1]) if link else "", pages + 1
    assert pages == 3
    assert len(seen) == len(set(seen)) == 2 * AT_ONCE + 12


def test_the_list_is_narrowed_by_its_fields(page: Visit) -> None:
    """By words of the title, letter case aside, by agent, and by days."""
    address = "/inspector/sessions"
    assert titles_in(page.get(address, text="ZEBRA")) == ["blue zebra", "red zebra"]
    assert titles_in(page.get(address, agent="codex")) == []
    assert titles_in(page.get(address, since="2026-01-16", until="2026-01-18", text="")) == [
        "green giraffe", "blue zebra",
    ]  # fmt: skip
    assert "No session fits" in page.get(address, text="nothing of the kind")


def test_a_file_that_was_opened_is_searched(tmp_path: Path) -> None:
    """Also if opening it copied all that there is, so that nothing is left to copy."""
    write_session(tmp_path / "files", "one", "red zebra", "a purple walrus")
    with visit(None, [tmp_path / "files"], tmp_path / "cache") as made:
        (name,) = names_in(made.get("/inspector/sessions"))
        made.get(f"/inspector/session/{name}")
        assert "1 conversation" in text_of(made.get("/inspector/search", q="walrus"))


def test_subagents_are_listed_only_if_they_are_asked_for(tmp_path: Path) -> None:
    """What they used counts with the session that called them."""
    write_session(tmp_path, "main", "red zebra")
    write_session(tmp_path, "helper", "look for zebras", parent="main")
    with visit(None, [tmp_path], tmp_path / "cache") as made:
        assert titles_in(made.get("/inspector/sessions")) == ["red zebra"]
        both = made.get("/inspector/sessions", subagents=1)
        assert sorted(titles_in(both)) == ["look for zebras", "red zebra"]
        (row,) = re.findall(r"<tr>\s*<td\b.*?</tr>", made.get("/inspector/sessions"), re.S)
        assert "2 requests" in text_of(row)


def test_the_first_visit_shows_what_is_there_and_then_the_rest(
    pages: Pages, files: Path, tmp_path: Path
) -> None:
    """Stored sessions at once; figures and sessions of files when they are read."""
    gate = threading.Event()
    server = OpenServer(
        pages.store, [files], GatewayOptions(), cache_folder=tmp_path / "other", version="1"
    )

    def found(sessions: Any) -> None:
        assert gate.wait(60)
        server.shelf.add_files(sessions)

    server.spending = SpendingReader(
        pages.store, [files], cache_folder=tmp_path / "other", version="1", found=found
    )
    made = Visit(server)
    first = made.get("/inspector")
    assert titles_in(first) == ["The long one"]
    assert 'id="progress" data-step="reading"' in first
    assert 'role="status" aria-live="polite"' in first
    assert 'id="bars"' not in first
    answer = made.client.get("/inspector/reading", params={"known": ""}).json()
    assert answer["step"] == "reading"
    gate.set()
    made.read()
    then = made.get("/inspector")
    assert titles_in(then) == ["The long one", "green giraffe", "blue zebra", "red zebra"]
    assert 'id="progress"' not in then
    assert 'id="bars"' in then
    server.shelf.close()


def test_compactions_of_foldaway_are_counted(pages: Pages) -> None:
    """With the tokens before and after, as their reports say; an undone one does not count."""
    made = Visit(pages.server)
    made.read()
    said = made.get("/inspector")
    assert "1 compaction by Foldaway made" in text_of(said)
    assert f'href="{pages.address}/compaction/1"><bdi>The long one</bdi>' in said
    assert made.get(f"{pages.address}/compaction/1")
    assert "1×" in made.get("/inspector/sessions")
    assert "None." in text_of(made.get("/inspector", agent="codex"))


def test_titles_of_compactions_are_short(tmp_path: Path) -> None:
    """As in the list of sessions: the first words, without their Markdown."""
    with open_store(tmp_path / "home") as store:
        session = Session(store, "long", context_length=8_000, model="m")
        first, *rest = talk(30)
        session.append({**first, "content": "## Plan\n" + "read **it** " * 150}, *rest)
        assert session.compact(force=True).status == "compacted"
        with visit(store, [], tmp_path / "cache") as made:
            (title,) = re.findall(r'compaction/1"><bdi>(.*?)</bdi>', made.get("/inspector"))
    assert title.startswith("Plan")
    assert "*" not in title
    assert len(title) < 100


def test_a_compaction_is_counted_once_and_for_whom_made_it(tmp_path: Path) -> None:
    """Also if requests that were sent with its view follow: those are not the agent's own."""
    with open_store(tmp_path / "home") as store:
        session = Session(store, "long", context_length=8_000, model="m")
        session.append(*talk(30))
        session.used({"prompt_tokens": 6_000, "completion_tokens": 40})
        assert session.compact(force=True).status == "compacted"
        session.append(*talk(1))
        session.used({"prompt_tokens": 2_000, "completion_tokens": 40})
        with visit(store, [], tmp_path / "cache") as made:
            said = text_of(made.get("/inspector"))
    assert " 1 compaction " in said
    assert "1 compaction by Foldaway made" in said
    assert "by the agents" not in said


def test_the_first_sentence_says_what_was_spent_saved_and_lost(tmp_path: Path) -> None:
    """Only what is known, and what is not known is said."""
    with open_store(tmp_path / "home") as store:
        session = Session(store, "long", context_length=8_000, model=MODEL)
        session.append(*talk(30))
        session.used({"prompt_tokens": 6_000, "completion_tokens": 40})
        assert session.compact(force=True).status == "compacted"
        with visit(store, [], tmp_path / "cache") as made:
            said = text_of(made.get("/inspector"))
        assert "You spent $0.02 ." in said
        assert "What compaction saved is not known: no request" in said
        for _ in range(40):
            session.append(*talk(1))
            session.used({"prompt_tokens": 2_000, "completion_tokens": 40})
        with visit(store, [], tmp_path / "cache") as made:
            said = text_of(made.get("/inspector"))
        (saved,) = re.findall(r"You spent \$0\.28 , and compaction saved \$(\d\.\d\d) \.", said)
        assert float(saved) > 0
        assert "Saved: estimated, for 1 of 1 compaction by Foldaway." in said
        assert "lost" not in said
        assert "What Foldaway folded can be opened and recalled." in said


def test_what_a_compaction_of_an_agent_lost_is_told_if_it_is_known(tmp_path: Path) -> None:
    """Files that it used later and that its summary does not name."""
    path = write_session(tmp_path / "files", "one", "red zebra", "and then", "at last")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[4] |= {"isCompactSummary": True}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with visit(None, [tmp_path / "files"], tmp_path / "cache") as made:
        said = text_of(made.get("/inspector"))
        assert "1 compaction by the agents" in said
        assert "in their summaries" not in said
        reader = made.server.spending
        assert reader.spending
        reader.spending = replace(
            reader.spending,
            memory={},
            overview=replace(
                reader.spending.overview, judged_compactions=1,
                files_used_later=3, files_named=2,
            ),
        )  # fmt: skip
        said = text_of(made.get("/inspector"))
    assert "; 1 file that agents needed was lost in their summaries." in said
    assert "Lost: looked for in 1 compaction by the agents themselves." in said


def test_without_any_session_the_page_says_what_to_do(tmp_path: Path) -> None:
    """Two lines with a command each."""
    with visit(None, [tmp_path], tmp_path / "cache") as made:
        said = made.get("/inspector")
        assert "No sessions yet" in said
        assert "foldaway open ~/.claude/projects" in said
        assert made.get("/inspector", project="/x").count("No session fits") == 1


def test_hostile_titles_and_paths_are_text(tmp_path: Path) -> None:
    """They are shown, and are no part of the page; a secret in them is hidden."""
    write_session(tmp_path, "bad", HOSTILE, project=f"/work/{HOSTILE}")
    write_session(tmp_path, "secret", f"token {SECRET}", project=f"/work/{SECRET}")
    with visit(None, [tmp_path], tmp_path / "cache") as made:
        for path in ("/inspector", "/inspector/sessions", "/inspector/search"):
            said = made.get(path, text="", project="", q="alert")
            assert "<script>alert" not in said
            assert "<img" not in said
            assert SECRET not in said
        assert any("<script>alert(1)</script>" in one for one in titles_in(made.get("/inspector")))
        chosen = made.get("/inspector", project=f"/work/{HOSTILE}", model=HOSTILE)
        assert "<script>alert" not in chosen
        assert "<img" not in chosen


@pytest.mark.parametrize("limit", [80, 200])
def test_half_a_secret_is_not_in_a_title(tmp_path: Path, limit: int) -> None:
    """The first words of a session are cut before a word that does not fit, as a secret may be."""
    words = ("deploy it " * 40)[: limit - 20]
    write_session(tmp_path / "files", "cut", f"{words} {SECRET} and go")
    with (
        open_store(":memory:") as store,
        visit(None, [tmp_path / "files"], tmp_path / "cache") as files,
    ):
        list(take_all(store, sessions_in(tmp_path / "files")))
        with visit(store, [], tmp_path / "cache2") as stored:
            for page in (files, stored):
                for path in ("", "/sessions", "/lab", "/live"):
                    assert SECRET[:6] not in page.get(f"/inspector{path}")
                assert titles_in(page.get("/inspector/sessions"))[0].startswith("deploy it")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/inspector?days=many", 404),
        ("/inspector?since=yesterday", 404),
        ("/inspector?until=9999-12-31", 404),
        ("/inspector/sessions?since=0001-01-01", 404),
        ("/inspector/sessions?after=nothing", 404),
        ("/inspector/sessions?after=0x1.0p%2B9999%20x", 404),
        ("/inspector/nothing", 404),
        ("/inspector/session/file-0123456789abcdef", 404),
        ("/inspector/session/..%2f..%2fetc%2fpasswd", 404),
        ("/inspector/search?q=a&session=file-0123456789abcdef", 404),
        ("/inspector/search?q=a&most=x", 404),
    ],
)
def test_an_address_that_means_nothing_is_not_found(page: Visit, path: str, status: int) -> None:
    """No such thing is an error of the server."""
    found = page.client.get(path, headers={"accept": "text/html"})
    assert found.status_code == status, found.text
    assert status != 404 or "Back to the overview" in found.text


@given(
    st.builds(
        Choice, days=st.integers(0, 400), since=st.dates().map(str), project=st.text(max_size=20),
        until=st.just(""), agent=st.text(max_size=9), model=st.text(max_size=9),
        subagents=st.booleans(),
    )
)  # fmt: skip
def test_an_address_chooses_what_it_was_made_from(choice: Choice) -> None:
    """Whatever a project is called."""
    if not "1971" <= choice.since <= "2200":
        choice = Choice(project=choice.project, agent=choice.agent, model=choice.model)
    _, _, query = choice.address("/inspector").partition("?")
    assert choice_of(QueryParams(query)) == choice


def test_a_module_is_loaded_by_one_address(page: Visit) -> None:
    """By two addresses it would run twice, and what a key or a button does would be undone."""
    scripts = [one.name for one in (HERE / "static").glob("*.js")]
    assert "home.js" in scripts
    for name in scripts:
        body = page.client.get(f"/inspector/static/{name}").text
        assert 'from "./' not in body
        for address in re.findall(r'from "([^"]+)"', body):
            assert address == asset(Path(address.partition("?")[0]).name)


def test_the_reading_gives_way_to_pages_and_ends_anyway(tmp_path: Path) -> None:
    """It waits for a page before each file, but not for ever; progress counts what is stored."""
    write_session(tmp_path / "files", "one", "word")
    with open_store(":memory:") as store:
        Session(store, "two", context_length=8_000).append(*talk(4))
        reader = SpendingReader(
            store, [tmp_path / "files"], cache_folder=tmp_path, version="1", found=lambda _: None
        )
        began = time.monotonic()
        with reader.progress.give_way():
            reader.read()
        assert time.monotonic() - began >= 0.25
        assert reader.progress.state.step == "ready"
        told: list[tuple[int, int]] = []
        found = UsageReader(tmp_path, "1").read_store(
            store, [], lambda done, total: told.append((done, total))
        )
        assert len(list(found)) == 1
        assert told == [(1, 1)]
