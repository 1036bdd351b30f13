"""Two sessions beside each other, strategies on one session, the reports of the lab."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from foldaway.gateway.actions import ApiContext
from foldaway.gateway.events import Events
from foldaway.gateway.guard import PAGE_KEY, Guard, Owner, Terms
from foldaway.gateway.inspector.app import pages_of
from foldaway.gateway.inspector.compare_pages import picture, policy_for
from foldaway.gateway.inspector.live_board import LiveFiles
from foldaway.gateway.inspector.session_sources import Shelf, file_name_of
from foldaway.gateway.inspector.site import Inspector
from foldaway.gateway.inspector.spending_reader import SpendingReader
from foldaway.gateway.options import GatewayOptions
from foldaway.lab import report
from foldaway.lab.results import MeanInterval, RunManifest, RunSummary, ScoreLine
from foldaway.lab.scoring.shell import shell_parser
from foldaway.lab.session_trial import TRIAL_COLUMNS, TRIED, SessionTrial, find_losses
from foldaway.sessions import SessionOptions
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession

SECRET = "sk-ant-api03-" + "a1B2" * 20 + "-abcdefAA"


def step(at: int, *, path: str) -> list[Any]:
    call = {"id": f"call_{at}", "type": "function",
            "function": {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}}  # fmt: skip
    text = f"def load_{at}(port={8_000 + at}): raise TypeError('load_{at} takes {at} arguments')\n"
    return [{"role": "assistant", "content": f"I read {path} now.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{at}", "content": text * 12}]  # fmt: skip


def fill(store: Store, key: str, steps: int) -> Session:
    """Begin a session in which paths of the beginning are used again at the end."""
    session = Session(
        store,
        key,
        context_length=64_000,
        options=SessionOptions(new=NewSession(source="opencode", model="gpt-5")),
    )
    session.append({"role": "user", "content": f"Repair {key} with {SECRET}."})
    for at in range(steps):
        session.append(*step(at, path=f"src/{key}_{at}.py"))
        session.used({"prompt_tokens": 2_000 + 300 * at, "completion_tokens": 20})
    for at in range(0, steps, 3):
        session.append(*step(steps + at, path=f"src/{key}_{at}.py"))
    return session


class Pages:
    """The pages over a store, and who asks for them."""

    def __init__(self, store: Store, folder: Path) -> None:
        options, events = GatewayOptions(), Events()
        api = ApiContext.of(store, options, events)
        shelf = Shelf(api, lambda made: ApiContext.of(made, options, events))
        self.terms = Terms.of_pages("", (), Owner(token="secret"))
        reader = SpendingReader(store, (), cache_folder=folder, version="0", found=shelf.add_files)
        inspector = Inspector(
            shelf=shelf, spending=reader, terms=self.terms, lab_places=(folder / "labs",),
            live=LiveFiles((), shelf.show, file_name_of),
        )  # fmt: skip
        routes = pages_of(inspector)
        self.client = TestClient(
            Guard(Starlette(routes=routes), self.terms, routes), "http://127.0.0.1"
        )
        self.client.post("/inspector/enter", data={"token": "secret"})

    def get(self, path: str, status: int = 200) -> str:
        found = self.client.get(f"/inspector/lab{path}")
        assert found.status_code == status, found.text
        return found.text

    def ended(self, address: str) -> dict[str, Any]:
        """Return the state of a trial when it is over."""
        while (state := self.client.get(address).json())["step"] not in ("ready", "failed"):
            time.sleep(0.01)
        return state


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store(":memory:") as store:
        yield store


@pytest.fixture
def pages(store: Store, tmp_path: Path) -> Pages:
    return Pages(store, tmp_path)


def test_two_sessions_are_shown_beside_each_other(store: Store, pages: Pages) -> None:
    """Their facts, the size of every prompt, and what compactions folded; no secret."""
    one, two = fill(store, "alpha", 12), fill(store, "beta", 4)
    one.compact(force=True)
    html = pages.get(f"?a={one.id}&b={two.id}")
    assert re.search(r"Requests</th><td>12</td><td>4</td>", html)
    assert re.search(r"Compactions by Foldaway</th><td>1</td><td>0</td>", html)
    assert '"a":[2000,2300,' in html
    said = re.sub(r"</?time[^>]*>", "", html)
    assert re.search(r"<li>[\dTZ:-]+: [\d.]+k → [\d.]+k tokens", said)
    assert "[redacted:" in html
    assert SECRET not in html


def test_a_session_that_is_not_there_is_said(pages: Pages) -> None:
    pages.get("?a=none&b=none", 404)
    pages.get("?session=none", 404)


def test_strategies_are_tried_in_the_background(store: Store, pages: Pages) -> None:
    """Nothing runs before somebody asks; then the page has every strategy and what it costs."""
    session = fill(store, "alpha", 14)
    address = f"/inspector/lab/session/{session.id}"
    assert 'data-step="new"' in pages.get(f"?session={session.id}")
    refused = pages.client.post(address, json={}, headers={"origin": "http://127.0.0.1"})
    assert refused.status_code == 403
    headers = {"origin": "http://127.0.0.1", PAGE_KEY: pages.terms.page_key}
    begun = pages.client.post(address, json={}, headers=headers).json()
    assert begun["step"] in ("waiting", "measuring", "replaying", "ready")
    assert pages.ended(address)["step"] == "ready"
    html = pages.get(f"?session={session.id}")
    assert all(f">{name}</th>" in html for name in TRIED)
    assert "like “when it pays + arrival”" in html
    assert re.search(r'class="ours"><th scope="row">when it pays \+ arrival<', html)
    assert "Where Foldaway loses here" in html
    assert "At 20% of the tokens Foldaway keeps" in html


def test_a_session_that_is_too_short_says_so(store: Store, pages: Pages) -> None:
    session = Session(store, "tiny", context_length=64_000)
    session.append({"role": "user", "content": "hello"})
    address = f"/inspector/lab/session/{session.id}"
    pages.client.post(address, headers={PAGE_KEY: pages.terms.page_key})
    assert "too short" in pages.ended(address)["said"]
    assert "too short" in pages.get(f"?session={session.id}")


def test_without_the_packages_of_the_lab_nothing_is_begun(
    store: Store, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says what to install, and has no button; who asks anyway gets it as the error."""
    session = fill(store, "alpha", 14)
    monkeypatch.setitem(sys.modules, "tree_sitter_bash", None)
    shell_parser.cache_clear()
    html = pages.get(f"?session={session.id}")
    assert "install &#39;foldaway[lab]&#39;" in html
    assert 'id="try"' not in html
    address = f"/inspector/lab/session/{session.id}"
    begun = pages.client.post(address, headers={PAGE_KEY: pages.terms.page_key}).json()
    assert (begun["step"], "foldaway[lab]" in begun["said"]) == ("failed", True)


def line(strategy: str, **figures: float) -> ScoreLine:
    means = {name: MeanInterval(value, value, value, 1) for name, value in figures.items()}
    return ScoreLine(
        part="cut", family="session", strategy=strategy, budget=0.2, steps=1, sessions=1, cuts=3,
        figures=means, against={}, counts={}, violations=None,
    )  # fmt: skip


def test_where_foldaway_loses_is_said() -> None:
    """The best of the others is named for each figure; of costs the least is the best."""
    lines = [
        line("foldaway", bound=0.9, far=0.5, cost=0.8),
        line("masking", bound=0.7, far=0.9, cost=0.9),
        line("keep-tail", bound=0.2, far=0.505, cost=0.6),
    ]  # fmt: skip
    found = find_losses(lines)
    assert [one.partition(":")[0] for one in found] == [
        TRIAL_COLUMNS["far"], TRIAL_COLUMNS["cost"]
    ]  # fmt: skip
    assert "masking 90%, Foldaway 50%" in found[0]
    assert "keep-tail 60%, Foldaway 80% (less is better)" in found[1]


def test_names_in_the_picture_do_not_overlap() -> None:
    """Points that nearly meet have their names at other heights, or on other sides."""
    lines = [line(name, bound=0.9 - at / 1_000, cost=0.8 + at / 1_000)
             for at, name in enumerate(TRIED)]  # fmt: skip
    trial = SessionTrial(kept=lines, own=[], losses=[], costs=[], model="", window_tokens=1)
    places = [(one.is_left, one.label_y) for one in picture(trial)]
    for at, (side, height) in enumerate(places):
        for other, lower in places[at + 1 :]:
            assert side != other or lower - height >= 15


def lab_run(folder: Path, page: bytes) -> None:
    folder.mkdir(parents=True)
    manifest = RunManifest(
        version="0", strategies=("foldaway",), budgets=(0.2,), main=0.2,
        drifting=(), asked={}, sessions=("one", "two"), digest="0",
    )  # fmt: skip
    summary = RunSummary(manifest=manifest, skipped=[], lines=[])
    (folder / "summary.json").write_bytes(msgspec.json.encode(summary))
    (folder / "report.html").write_bytes(page)


def test_a_report_of_the_lab_opens_as_a_page_of_its_own(pages: Pages, tmp_path: Path) -> None:
    """It has no origin and no network, and of its scripts only ours runs."""
    ours = (Path(report.__file__).parent / "page.js").read_bytes()
    lab_run(tmp_path / "labs" / "mine", b"<script>\n" + ours + b"</script><script>evil()</script>")
    html = pages.get("")
    (address,) = re.findall(r'href="(/inspector/lab/run/\w+)"', html)
    assert "2 sessions" in html
    found = pages.client.get(address)
    policy = found.headers["content-security-policy"]
    assert "sandbox allow-scripts" in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert policy.count("'sha256-") == 1
    assert "script-src 'none'" in policy_for(b"<script>evil()</script>")


@pytest.mark.parametrize("name", ["0" * 16, "..%2f..%2fetc", "mine"])
def test_only_runs_that_were_found_have_an_address(pages: Pages, tmp_path: Path, name: str) -> None:
    lab_run(tmp_path / "labs" / "mine", b"x")
    (tmp_path / "labs" / "link").symlink_to(tmp_path)
    assert pages.client.get(f"/inspector/lab/run/{name}").status_code == 404
