"""A page of another origin in the same browser reads nothing here and changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Visitor, opened

from foldaway.sessions.session import Session
from foldaway.stores.open import open_store

WORD = "zebrafish"
READS = ("/inspector", "/inspector/sessions", "/inspector/session/ID", "/inspector/search?q=zebra",
         "/inspector/session/ID/rows", "/inspector/session/ID/message/0", "/inspector/reading",
         "/inspector/session/ID?export=1", "/foldaway/sessions", "/foldaway/sessions/ID",
         "/inspector/live/state")  # fmt: skip
CHANGES = ("/foldaway/sessions/ID/compact", "/foldaway/sessions/ID/undo",
           "/foldaway/sessions/ID/pins/3", "/inspector/search/files", "/inspector/lab/session/ID",
           "/inspector/session/ID/secret")  # fmt: skip
ATTACK = """
async ([origin, reads, changes]) => {
  const got = [];
  const settled = (element, address) => new Promise((done) => {
    element.onload = () => done(got.push(`${element.tagName} loaded ${address}`));
    element.onerror = () => done();
    setTimeout(done, 3000);
    document.body.append(element);
  });
  for (const path of reads) {
    for (const mode of ["cors", "no-cors"]) {
      const answer = await fetch(origin + path, { mode, credentials: "include" }).catch(() => null);
      const text = answer ? await answer.text().catch(() => "") : "";
      if (text) got.push(`${mode} read ${path}`);
    }
    const image = new Image();
    image.src = origin + path;
    const script = document.createElement("script");
    script.src = origin + path;
    await Promise.all([settled(image, path), settled(script, path)]);
    const frame = document.createElement("iframe");
    frame.src = origin + path;
    document.body.append(frame);
    await new Promise((done) => { frame.onload = done; setTimeout(done, 3000); });
    let inner = "";
    try { inner = frame.contentDocument?.body?.innerText ?? ""; } catch { inner = ""; }
    if (inner) got.push(`frame read ${path}: ${inner.slice(0, 80)}`);
  }
  const opened = window.open(origin + reads[0]);
  await new Promise((done) => setTimeout(done, 500));
  let title = "";
  try { title = opened?.document?.title ?? ""; } catch { title = ""; }
  if (title) got.push(`window read ${title}`);
  opened?.close();
  for (const path of changes) {
    for (const method of ["POST", "DELETE", "PUT"]) {
      for (const headers of [{}, { "content-type": "application/json", "x-foldaway-page": "x" }]) {
        const asked = { method, headers, credentials: "include", body: "{}" };
        const answer = await fetch(origin + path, asked).catch(() => null);
        if (answer) got.push(`${method} answered ${answer.status} ${path}`);
      }
    }
    const blind = { method: "POST", mode: "no-cors", credentials: "include", body: "{}" };
    await fetch(origin + path, blind)
      .catch(() => null);
    navigator.sendBeacon(origin + path, "{}");
    const frame = document.createElement("iframe");
    frame.name = `to${Math.random()}`;
    document.body.append(frame);
    const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"];
    for (const enctype of types) {
      const form = document.createElement("form");
      Object.assign(form, { action: origin + path, method: "POST", target: frame.name, enctype });
      form.innerHTML = '<input name="{}" value="">';
      document.body.append(form);
      form.submit();
      await new Promise((done) => { frame.onload = done; setTimeout(done, 2000); });
    }
  }
  return got;
}
"""


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A home with one session, which was compacted once."""
    with open_store(tmp_path / "sessions") as store:
        session = Session(store, "one", context_length=8_000)
        session.append(*(
            {"role": "assistant" if at % 2 else "user", "content": f"{WORD} {at} " + "word " * 400}
            for at in range(40)
        ))  # fmt: skip
        session.compact(force=True)
    return tmp_path


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """A server on another port, with an empty page."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title><body></body>")

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_another_origin_reads_and_changes_nothing(
    stored: Path, elsewhere: int, chromium: Any, name: str
) -> None:
    """Not with the cookie, which a browser sends to all ports of a name: by fetch, form, image,
    script, frame, beacon and window.
    """
    with open_store(stored / "sessions", read_only=True) as store:
        before = store.find("one")
    reads = [path.replace("ID", before.id) for path in READS]
    changes = [path.replace("ID", before.id) for path in CHANGES]
    with opened("--home", str(stored)) as address:
        visitor = Visitor(chromium, address)
        context = chromium.new_context(storage_state=visitor.state)
        page = context.new_page()
        page.goto(f"{visitor.origin}/inspector/session/{before.id}")
        assert WORD in page.content(), "the browser was let in"
        answers: list[str] = []
        context.on("response", lambda one: answers.append(
            f"{one.status} {one.request.method} {one.url}"))  # fmt: skip
        page.goto(f"http://{name}:{elsewhere}/")
        assert not page.evaluate(ATTACK, [visitor.origin, reads, changes])
        ours = [one for one in answers if visitor.origin in one]
        assert ours, "the attack reached the server"
        assert not [one for one in ours if one[0] == "2" and " GET " not in one]
        context.close()
    with open_store(stored / "sessions", read_only=True) as store:
        assert store.session(before.id) == before
        assert not store.pins(before.id)
