"""Who is let in, what every page says to the browser, and what is never shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.gateway.inspector.conftest import SECRET, Pages, talk
from tests.gateway.inspector.native import visit, write_session

from foldaway.gateway.app import make_app
from foldaway.gateway.guard import Owner
from foldaway.gateway.inspector.app import PAGES, pages_beside
from foldaway.gateway.inspector.lazy_pages import gateway_pages
from foldaway.gateway.inspector.site import HERE, POLICY, as_json
from foldaway.gateway.options import GatewayOptions
from foldaway.sessions import Session
from foldaway.stores import open_store

HTML = {"accept": "text/html"}


def test_a_stranger_gets_nothing(pages: Pages) -> None:
    """Without the cookie a browser is asked for the token, and a program is refused."""
    stranger = pages.stranger()
    for path in ("/", "/inspector", pages.address, "/foldaway/sessions", f"{pages.address}/rows"):
        found = stranger.get(path)
        assert found.status_code == 403, path
        assert "zebra" not in found.text
    for path in ("/", "/inspector", pages.address):
        found = stranger.get(path, headers=HTML)
        assert (found.status_code, found.headers["location"]) == (303, "/inspector/enter")
    assert "token" in stranger.get("/inspector/enter").text


def test_the_address_on_the_command_line_works_once(pages: Pages) -> None:
    """Whoever reads it in a list of processes is too late."""
    first, second = pages.stranger(), pages.stranger()
    address = f"/inspector/enter?key={pages.server.entry_key}"
    found = first.get(address)
    assert (found.status_code, found.headers["location"]) == (303, "/inspector")
    cookie = found.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert pages.server.terms.token not in cookie
    assert second.get(address).status_code == 403
    assert first.get("/inspector").status_code == 200


def test_a_wrong_token_is_refused(pages: Pages) -> None:
    """Also one that is far too long."""
    stranger = pages.stranger()
    for token in ("", "wrong", "x" * 100_000):
        found = stranger.post("/inspector/enter", data={"token": token})
        assert found.status_code == 403
        assert "set-cookie" not in found.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:3000"},
    ],
)
def test_other_sites_get_nothing(pages: Pages, headers: dict[str, str]) -> None:
    """Not even with the cookie, which their requests would not have."""
    for path in ("/inspector", pages.address, "/inspector/enter", "/inspector/static/page.js"):
        assert pages.client.get(path, headers=headers).status_code == 403


def test_a_change_needs_the_key_of_the_page(pages: Pages) -> None:
    """The cookie alone is what a page of another site might make the browser send."""
    undo = f"/foldaway/sessions/{pages.id}/undo"
    pages.post(undo, 403, with_key=False)
    assert pages.store.session(pages.id).view == 1
    pages.post(undo)
    assert pages.store.session(pages.id).view == 0


def test_a_form_of_another_site_changes_nothing(pages: Pages) -> None:
    """What forms can send is not what the API takes, even with the key."""
    headers = {"content-type": "text/plain", "origin": "http://127.0.0.1:80",
               "x-foldaway-page": pages.server.terms.page_key}  # fmt: skip
    found = pages.client.post(f"/foldaway/sessions/{pages.id}/undo", content="{}", headers=headers)
    assert found.status_code == 415


def test_every_page_has_the_policy(pages: Pages) -> None:
    """No inline script or style, no other host, no frame, no cache, on every route there is."""
    for path, _ in PAGES:
        plain = path.replace("{name:path}", "page.js")
        filled = plain.format(id=pages.id, name="1", position=0, reference="fa-0000000000")
        found = pages.client.get(filled)
        assert found.headers["content-security-policy"] == POLICY, path
        assert found.headers["x-content-type-options"] == "nosniff"
        assert " style=" not in found.text, path
        assert not re.findall(r"<script(?![^>]*(?:src=|application/json))", found.text), path
        assert not re.findall(r"\son\w+=", found.text), path


@pytest.mark.parametrize(
    "name",
    ["../site.py", "..%2fsite.py", "%2e%2e/app.py", "/etc/passwd", "vendor/../../app.py",
     "vendor", "vendor/uPlot.LICENSE", "page.css/", ""],
)  # fmt: skip
def test_only_files_of_the_pages_have_an_address(pages: Pages, name: str) -> None:
    """No path leads out of the folder."""
    assert pages.client.get(f"/inspector/static/{name}").status_code in (404, 405)


@pytest.mark.parametrize("name", ["nobody", "file-0000000000000000", "%00", "a" * 5_000, "*"])
def test_an_unknown_session_is_a_page_that_says_so(pages: Pages, name: str) -> None:
    """Whatever the name is: no traceback, no other session."""
    found = pages.client.get(f"/inspector/session/{name}", follow_redirects=True)
    assert found.status_code == 404
    assert "zebra" not in found.text


@pytest.mark.parametrize(
    "path", ["?at=x", "/compaction/99", "/compaction/x", "/compaction/own-3", "/message/999",
             "/compaction/1/message?side=after&at=99",
             "/reference/fa-0000000000", "/rows?start=x"],
)  # fmt: skip
def test_a_wrong_address_within_a_session_is_not_found(pages: Pages, path: str) -> None:
    """A sentence, no fault of the server."""
    assert "Not found" in pages.get(pages.address + path, 404)


def test_secrets_are_hidden_and_one_is_shown_on_request(pages: Pages) -> None:
    """Every page hides them; a click with the key of the page shows one."""
    for path in ("", "?show=view", "/rows", "/message/2", "/compaction/1",
                 "/compaction/1/lines?side=before", "/compaction/1/message?side=before&at=2",
                 "/compaction/1/facts"):  # fmt: skip
        assert SECRET not in pages.get(pages.address + path), path
    (mark,) = set(re.findall(r'data-mark="([^"]+)"', pages.get(f"{pages.address}/rows")))
    asked = {"position": 2, "mark": mark}
    pages.post(f"{pages.address}/secret", 403, with_key=False, **asked)
    assert pages.post(f"{pages.address}/secret", **asked) == {"secret": SECRET}
    pages.post(f"{pages.address}/secret", 404, position=3_000, mark=mark)
    pages.post(f"{pages.address}/secret", 403, position=3, mark=mark)


def test_a_gateway_has_the_pages_for_browsers_and_passes_the_rest_on(tmp_path: Path) -> None:
    """`/` is a page only for somebody who wants to see one."""
    with open_store(":memory:") as store:
        Session(store, "one", context_length=8_000).append(*talk(4))
        options = GatewayOptions(upstreams={"": "http://127.0.0.1:9"})
        owner = Owner(token="secret", entry_key="once")
        app = make_app(
            store, options, pages=gateway_pages(lambda: pages_beside, tmp_path, "1"), owner=owner
        )
        with TestClient(app, "http://127.0.0.1", follow_redirects=False) as client:
            assert client.get("/", headers=HTML).headers["location"] == "/inspector/enter"
            assert client.get("/").status_code == 502
            assert client.get("/inspector/enter?key=once").status_code == 303
            assert client.get("/", headers=HTML).headers["location"] == "/inspector"
            assert client.get("/inspector").status_code == 200
            assert client.get("/").status_code == 502
            secret = client.post("/inspector/session/one/secret", json={})
            assert secret.status_code == 403  # without the key of the page
        with TestClient(app, "http://127.0.0.1", follow_redirects=False) as other:
            assert other.get("/inspector/enter?key=once").status_code == 403


def test_a_gateway_with_a_token_asks_browsers_for_it(tmp_path: Path) -> None:
    """Programs send a header, people type it once."""
    with open_store(":memory:") as store:
        app = make_app(
            store,
            GatewayOptions(token="s\xe9same"),
            pages=gateway_pages(lambda: pages_beside, tmp_path, "1"),
        )
        with TestClient(app, "http://127.0.0.1", follow_redirects=False) as client:
            assert client.get("/", headers=HTML).headers["location"] == "/inspector/enter"
            client.post("/inspector/enter", data={"token": "s\xe9same"})
            assert client.get("/inspector").status_code == 200


def test_values_in_a_page_cannot_end_their_element() -> None:
    """JSON in HTML has no sign that a browser reads as HTML."""
    assert as_json({"a": "</script><!--\u2028&"}) == (
        '{"a":"\\u003c/script\\u003e\\u003c!--\\u2028\\u0026"}'
    )


def test_no_template_marks_content_as_safe() -> None:
    """Everything is escaped by the one rule; what is HTML comes as Markup from `rendering`."""
    for template in (HERE / "templates").iterdir():
        text = template.read_text()
        assert "|safe" not in text.replace(" ", ""), template.name
        assert "autoescape" not in text, template.name


def test_hostile_names_are_text(tmp_path: Path) -> None:
    """Titles, folders, models and tools come from files that anybody may have written."""
    evil: Any = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x00\x1b[31m'
    with open_store(":memory:") as store:
        made = Pages(store, tmp_path)
        store.change(made.id, title=evil, model=evil)
        for path in ("/inspector", made.address, f"{made.address}/compaction/1"):
            text = made.get(path)
            assert "<script>alert" not in text
            assert "<img src=x" not in text
            assert not set("\u202e\x00\x1b") & set(text)
            assert "⟨U+202E⟩" in text


def test_a_title_that_is_not_valid_unicode_is_shown(tmp_path: Path) -> None:
    """Files of agents may have half of a surrogate pair anywhere; every page opens, and so does
    the next inspector, with the cache of this one.
    """
    write_session(tmp_path / "files", "half", "half \ud83d alone", project="/work/\udc00")
    write_session(tmp_path / "files", "whole", "whole")
    for _ in range(2):
        with visit(None, [tmp_path / "files"], tmp_path / "cache") as made:
            for path in ("/inspector", "/inspector/sessions", "/inspector/lab", "/inspector/live"):
                made.get(path)
            # a title is what the store would have of it; the folder is the file's own
            shown = made.get("/inspector/sessions")
            assert "half \ufffd alone" in shown
            assert "⟨U+DC00⟩" in shown
        assert b"whole" in (tmp_path / "cache" / "usage.cache").read_bytes()


def test_an_error_of_ours_is_a_page_and_a_record_without_content(
    pages: Pages, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks gets a sentence, whoever operates it the kind of the error."""

    def broken(*_: Any) -> None:
        raise KeyError("zebra")

    monkeypatch.setattr(pages.store, "outline", broken)
    text = pages.get(pages.address, 500)
    assert "Nothing was changed" in text
    (record,) = [one for one in caplog.records if one.name == "foldaway.inspector"]
    assert record.getMessage() == "inspector.failed fault=KeyError"
    assert "zebra" not in text
