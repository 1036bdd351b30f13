"""A page as one file: everything is in it, nothing can be asked for, and no key of the server."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from foldaway.gateway.app import make_app
from foldaway.gateway.inspector.app import pages_beside
from foldaway.gateway.inspector.export import bundle, standalone
from foldaway.gateway.inspector.lazy_pages import gateway_pages
from foldaway.gateway.inspector.site import HERE, asset
from foldaway.gateway.options import GatewayOptions
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store

TOKEN = "a-token-of-sixteen-and-more"
SECRET = "sk-ant-api03-" + "a1B2" * 20 + "-abcdefAA"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with open_store(":memory:") as store:
        for name in ("alpha", "beta"):
            session = Session(store, name, context_length=64_000)
            session.append({"role": "user", "content": f"Repair {name} </script> with {SECRET}"})
            session.used({"prompt_tokens": 2_000, "completion_tokens": 20})
        options = GatewayOptions(token=TOKEN)
        app = make_app(store, options, pages=gateway_pages(lambda: pages_beside, tmp_path, "0"))
        yield TestClient(app, "http://127.0.0.1", headers={"x-foldaway-token": TOKEN})


def exported(client: TestClient, address: str) -> str:
    found = client.get(address)
    assert found.status_code == 200, found.text
    assert found.headers["content-disposition"].startswith('attachment; filename="foldaway-')
    return found.text


def pair_address(client: TestClient) -> str:
    names = re.findall(r'<option value="([\w-]+)"', client.get("/inspector/lab").text)
    return f"/inspector/lab?a={names[0]}&b={names[1]}"


def test_a_page_offers_itself_as_a_file(client: TestClient) -> None:
    """The link keeps what the address of the page asks for; a file has no such link."""
    address = pair_address(client)
    page = client.get(address).text
    (link,) = re.findall(r'class="save" href="([^"]*)"', page)
    html = exported(client, link.replace("&amp;", "&"))
    assert "Repair alpha" in html
    assert "Repair beta" in html
    assert 'class="save"' not in html


@pytest.mark.parametrize("address", ["/inspector?export=1", "/inspector/live?export=1", "pair"])
def test_a_file_asks_for_nothing_and_holds_no_key(client: TestClient, address: str) -> None:
    address = pair_address(client) + "&export=1" if address == "pair" else address
    page_key = re.findall(r'name="foldaway-page" content="(.+?)"', client.get("/inspector").text)
    html = exported(client, address)
    markup = re.sub(r"<(script|style)\b[^>]*>.*?</\1>", "", html, flags=re.DOTALL)
    assert len(page_key) == 1
    for secret in (*page_key, TOKEN, SECRET, "foldaway-page"):
        assert secret not in markup
        assert secret not in html or secret == "foldaway-page"  # a script names the field
    assert not re.search(r"<(form|input|select|textarea|iframe)\b", markup)
    assert all('id="theme"' in one for one in re.findall(r"<button[^>]*>", markup))
    assert not re.search(r'(?:href|src|action)="/', markup)
    assert not re.search(r"<script\b[^>]*\bsrc=", html)


def test_the_policy_allows_exactly_what_is_inside(client: TestClient) -> None:
    """By hashes of every script and style; a page that was changed afterwards does not run."""
    html = exported(client, pair_address(client) + "&export=1")
    (policy,) = re.findall(r'http-equiv="content-security-policy" content="([^"]*)"', html)
    allowed = set(re.findall(r"sha256-([\w+/=]+)", policy))
    held = re.findall(r"<script(?: type=\"module\")?>(.*?)</script>", html, re.DOTALL)
    held += re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert {
        base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in held
    } == allowed
    assert len(held) == 6
    assert "default-src &#x27;none&#x27;" in policy
    assert "unsafe" not in policy
    assert html.index("http-equiv") < html.index("<script")


def test_links_become_text_and_those_within_the_page_stay() -> None:
    html = standalone(
        '<html><head></head><body><a href="/inspector/sessions" class="x">All</a>'
        '<a href="#main">Skip</a><a href="https://example.org/?a=1&amp;b=2">Web</a>'
        '<a href="javascript:alert(1)">Bad</a>'
        '<svg><a href="/inspector/x"><path d="M0 0"/></a></svg>'
        '<p>&lt;b&gt; &amp; &#39;</p><img src="/inspector/x.png" alt="a <b>"></body></html>'
    ).decode()
    assert '<span class="x">All</span>' in html
    assert '<a href="#main">Skip</a>' in html
    assert 'href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer"' in html
    assert "<span>Bad</span>" in html
    assert '<svg><g><path d="M0 0"/></g></svg>' in html
    assert "<p>&lt;b&gt; &amp; &#39;</p><span>[a &lt;b&gt;]</span>" in html


def test_what_needs_the_server_is_left_out_with_all_that_is_in_it() -> None:
    html = standalone(
        "<body><div data-not-exported>a<div>b</div>c</div><button data-view>d</button>"
        "<button>e<b>f</b></button><form>g<form></form>h</form><script>evil()</script>i</body>"
    ).decode()
    assert html == "<body><button data-view>d</button>i</body>"


def test_a_secret_that_could_be_shown_by_a_click_stays_hidden_in_a_file() -> None:
    html = standalone('<p>a <button class="secret" data-mark="x">key hidden</button> b</p>')
    assert html == b'<p>a <span class="secret">key hidden</span> b</p>'


def test_every_module_can_be_put_into_one_script() -> None:
    """A module is there once, before those that import it."""
    names = sorted(one.name for one in (HERE / "static").glob("*.js") if one.name != "theme.js")
    text = bundle(names)
    assert all(text.count(f"const of_{name.replace('.', '_')} = ") == 1 for name in names)
    assert text.index("const of_page_js = ") < text.index("} = of_page_js;")
    with pytest.raises(ValueError, match="no file"):
        bundle(["../app.py"])


def test_modules_find_each_other_under_one_address(client: TestClient) -> None:
    """A module that two others import is loaded once: its address is the same for both."""
    assert client.get(asset("page.js")).headers["cache-control"].startswith("public")
    assert asset("page.js").rpartition("/")[0] == asset("live.js").rpartition("/")[0]
    assert (
        "no-store" in client.get("/inspector/static/000000000000/page.js").headers["cache-control"]
    )
    assert client.get("/inspector/static/000000000000/../app.py").status_code == 404
