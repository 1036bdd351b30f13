"""One address before several gateways, if you have no nginx.

python examples/gateways/balance.py PORT GATEWAY_URL…

The requests of a conversation go to the same gateway while it runs. A request that got no byte of
an answer is sent to the next one.
"""

import asyncio
import contextlib
import hashlib
import sys

import aiohttp
from aiohttp import web

NAMES = (
    "x-foldaway-session", "x-claude-code-session-id", "thread-id", "session-id", "session_id",
    "x-session-id", "x-session-affinity", "agent-session-id",
)  # fmt: skip
"""Headers that name a conversation, as foldaway reads them."""
KEYS = ("authorization", "x-api-key", "x-goog-api-key")
DROPPED = {"connection", "transfer-encoding", "content-length", "keep-alive"}


def conversation(request):
    """Return the name of the conversation of a request; without one, who asks."""
    named = "".join(request.headers.get(name, "") for name in NAMES)
    return named or str([request.remote, *(request.headers.get(name) for name in KEYS)])


def in_order(key, gateways):
    """Return the gateways for a conversation, the best first; if one is gone only its own move."""
    return sorted(gateways, key=lambda url: hashlib.sha256(f"{key} {url}".encode()).digest())


def without_hops(headers):
    return [(name, value) for name, value in headers.items() if name.lower() not in DROPPED]


def make_app(gateways):
    async def handle(request):
        body, sent = await request.read(), without_hops(request.headers)
        for url in in_order(conversation(request), gateways):
            where = url + request.raw_path
            with contextlib.suppress(aiohttp.ClientConnectionError):
                got = await client.request(request.method, where, data=body, headers=sent)
                return await pass_back(request, got, url)
        return web.Response(status=502, text="no gateway answers\n")

    async def pass_back(request, got, url):
        async with got:
            headers = [*without_hops(got.headers), ("x-gateway", url.removeprefix("http://"))]
            answer = web.StreamResponse(status=got.status, headers=headers)
            await answer.prepare(request)
            try:
                while data := await got.content.readany():
                    await answer.write(data)
            except aiohttp.ClientError:  # the client sees the cut: it has a part of the answer
                request.transport.abort()
            return answer

    async def life(_):
        nonlocal client
        patience = aiohttp.ClientTimeout(total=None, sock_connect=2)
        open_ones = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(
            auto_decompress=False, timeout=patience, connector=open_ones
        ) as client:
            yield

    client = None
    app = web.Application(client_max_size=64 << 20)
    app.cleanup_ctx.append(life)
    app.router.add_route("*", "/{path:.*}", handle)
    return app


async def serve(port, gateways):
    runner = web.AppRunner(
        make_app(gateways), access_log=None, handler_cancellation=True, auto_decompress=False
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(int(sys.argv[1]), sys.argv[2:]))
