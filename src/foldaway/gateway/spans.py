"""Requests as spans of OpenTelemetry, with the extra `otel` and an address where they go."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import to_builtins

from foldaway._core import log_event
from foldaway.gateway.figures import Outcome

AddSpan: TypeAlias = Callable[[Outcome, Mapping[str, str], int, int], None]
"""Takes a request with its headers, and when it began and ended, in nanoseconds since 1970."""

_WHERE = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Variables of OpenTelemetry that say where spans go."""
_NAMES = {
    "model": "gen_ai.request.model",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "status": "http.response.status_code",
}
"""Facts that OpenTelemetry has a name for; the others are `foldaway.…`."""
_FAILED = 400


def span_writer() -> tuple[AddSpan | None, Callable[[], None]]:
    """Return what takes spans, and what sends the last of them at the end; None if nobody said
    where they go, or the extra is not installed.
    """
    if not any(map(os.environ.get, _WHERE)):
        return None, _do_nothing
    try:
        from opentelemetry import propagate, trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log_event("gateway.no_spans")
        return None, _do_nothing
    name = os.environ.get("OTEL_SERVICE_NAME", "foldaway")
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("foldaway.gateway")

    def add(outcome: Outcome, headers: Mapping[str, str], begun: int, ended: int) -> None:
        facts = {name: value for name, value in to_builtins(outcome).items() if name != "kind"}
        span = tracer.start_span(
            f"{outcome.operation} {outcome.model}".strip(),
            start_time=begun,
            context=propagate.extract(headers),
            kind=trace.SpanKind.SERVER,
            attributes={
                _NAMES.get(name, f"foldaway.{name}"): value for name, value in facts.items()
            },
        )
        if outcome.status >= _FAILED or outcome.status == 0:
            span.set_status(trace.StatusCode.ERROR)
        span.end(ended)

    return add, provider.shutdown


def _do_nothing() -> None:
    """Do nothing: there are no spans to send."""
