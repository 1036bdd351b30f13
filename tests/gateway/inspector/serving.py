"""A gateway with pages, as a real server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foldaway._core.policy import Policy
from foldaway.gateway.app import listen, make_server
from foldaway.gateway.guard import Owner
from foldaway.gateway.inspector.app import pages_beside
from foldaway.gateway.inspector.lazy_pages import gateway_pages
from foldaway.gateway.options import GatewayOptions
from foldaway.stores.open import open_store
from foldaway.testing import ModelServer

TOKEN = "the secret of the owner"


@contextmanager
def gateway_with_pages(folder: Path, model: ModelServer, window: int) -> Iterator[str]:
    """Give the address of a gateway whose conversations are compacted after a few steps."""
    options = GatewayOptions(
        context_length=window, policy=Policy(floor_tokens=1_000), deadlines=(20.0, 20.0),
        upstreams={"": model.openai_url.removesuffix("/v1")},
    )  # fmt: skip
    with open_store(folder / "store") as store:
        listening = listen("127.0.0.1", 0)
        owner = Owner(token=TOKEN)
        server = make_server(
            store, options, pages=gateway_pages(lambda: pages_beside, folder, "0"), owner=owner
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
            listening.close()
