"""Spans of requests, sent by the real exporter to a real server."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

trace_service = pytest.importorskip(
    "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="needs foldaway[otel]"
)


async def test_each_request_is_a_span_of_its_clients_trace(
    gateway: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its figures, and nothing that was said; the last ones are sent when the gateway ends."""
    got: list[bytes] = []

    async def collect(request: web.Request) -> web.Response:
        got.append(await request.read())
        return web.Response()

    app = web.Application()
    app.router.add_post("/v1/traces", collect)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    trace = "0af7651916cd43dd8448eb211c80319c"
    async with gateway() as stand:
        await stand.post(kit.talk("chat", 3), traceparent=f"00-{trace}-b7ad6b7169203331-01")
    await runner.cleanup()
    spans: list[Any] = []
    for body in got:
        request: Any = trace_service.ExportTraceServiceRequest.FromString(body)
        spans += [one for held in request.resource_spans for scope in held.scope_spans
                  for one in scope.spans]  # fmt: skip
    (span,) = spans
    assert (span.name, span.trace_id.hex()) == ("turn gpt-5", trace)
    facts = {one.key: one.value for one in span.attributes}
    assert facts["http.response.status_code"].int_value == 200
    assert facts["foldaway.bytes_in"].int_value == len(kit.packed(kit.talk("chat", 3)))
    assert span.end_time_unix_nano > span.start_time_unix_nano
    assert b"parser" not in b"".join(got)
