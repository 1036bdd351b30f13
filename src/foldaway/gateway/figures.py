"""What went through a gateway, counted: for a log without content, and for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from msgspec import Struct, to_builtins
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from foldaway._core import listens, log_event
from foldaway.caching import Prices, known_prices
from foldaway.sessions import turn_usage

_prices = lru_cache(maxsize=256)(known_prices)
_MOST_REMEMBERED = 4_096
"""Conversations whose last size is remembered; far more than are open at once."""


class Outcome(Struct, kw_only=True, omit_defaults=True, tag="request", tag_field="kind"):
    """What became of one request; no content of it."""

    wire: str
    operation: str = "turn"
    agent: str = ""
    model: str = ""
    conversation: str = ""
    status: int = 0
    note: str = ""
    client_compaction: str = ""
    """The agent that compacts by itself with this request."""
    bytes_in: int = 0
    bytes_out: int = 0
    held: float = 0.0
    """Seconds that it was held up before it was sent on."""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float = 0.0
    """US dollars, by the figures of the provider; 0 if no price is known."""
    saved: float = 0.0
    """US dollars less than for what the client sent, by our estimate; below 0 on a request that
    pays for a compaction."""


class GatewayFault(Struct, frozen=True, tag="fault", tag_field="kind"):
    """An error of ours, by the name of its type; the request was sent as it came."""

    fault: str


class _Counters(Struct, frozen=True):
    """What Prometheus reads, by wire."""

    requests: Counter
    faults: Counter
    compactions: Counter
    bytes: Counter
    tokens: Counter
    money: Counter
    saved: Counter
    paid: Counter
    held: Histogram

    @classmethod
    def of(cls, registry: CollectorRegistry) -> _Counters:
        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"foldaway_{name}", about, labels, registry=registry)

        return cls(
            counter("requests", "Requests.", "wire", "operation", "outcome"),
            counter("faults", "Faults of the gateway.", "kind"),
            counter(
                "client_compactions",
                "Requests by which a client compacts.",
                "wire",
                "agent",
                "outcome",
            ),
            counter("request_bytes", "Bytes of requests.", "wire", "side"),
            counter("tokens", "Tokens, as providers counted.", "wire", "kind"),
            counter("dollars", "Spent, by list prices.", "wire"),
            counter("saved_dollars", "Saved, by estimate; gains.", "wire"),
            counter("saved_dollars_negative", "What compactions cost first.", "wire"),
            Histogram(
                "foldaway_held_seconds",
                "How long requests were held up.",
                ["wire"],
                registry=registry,
                buckets=(0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.25, 0.5, 1, 2),
            ),
        )


class Figures:
    """The sums since the start of the process."""

    def __init__(
        self,
        tell: Callable[[Outcome | GatewayFault], None] | None = None,
        prices: Prices | None = None,
    ) -> None:
        """Begin with nothing; `tell` hears of every request and fault too, and `prices` are those
        of models that nobody knows.
        """
        self._tell, self._fallback = tell, prices
        self._registry = CollectorRegistry()
        self._sums = _Counters.of(self._registry)
        self._last: dict[str, int] = {}

    def text(self) -> bytes:
        """Return the sums as Prometheus reads them."""
        return generate_latest(self._registry)

    def fault(self, kind: str) -> None:
        """Count a fault of ours."""
        self._sums.faults.labels(kind).inc()
        if self._tell is not None:
            self._tell(GatewayFault(kind))

    def add(self, outcome: Outcome, usage: Mapping[str, object]) -> None:
        """Count a request with the usage that its provider reported."""
        if usage:
            self._add_usage(outcome, usage)
        result = outcome.note.partition(";")[0].split(" ")[0] or "none"
        wire = outcome.wire
        self._sums.requests.labels(wire, outcome.operation, result).inc()
        if outcome.client_compaction:
            self._sums.compactions.labels(wire, outcome.client_compaction, result).inc()
        self._sums.bytes.labels(wire, "in").inc(outcome.bytes_in)
        self._sums.bytes.labels(wire, "out").inc(outcome.bytes_out)
        self._sums.held.labels(wire).observe(outcome.held)
        if listens("gateway.request"):
            log_event("gateway.request", **to_builtins(outcome))
        if self._tell is not None:
            self._tell(outcome)

    def _add_usage(self, outcome: Outcome, usage: Mapping[str, object]) -> None:
        found = turn_usage(usage, position=0, model=outcome.model)
        outcome.input_tokens, outcome.output_tokens = found.input_tokens, found.output_tokens
        outcome.cache_read_tokens = found.cache_read_tokens
        outcome.cache_write_tokens = found.cache_write_tokens
        for kind in ("input", "output", "cache_read", "cache_write"):
            self._sums.tokens.labels(outcome.wire, kind).inc(getattr(outcome, f"{kind}_tokens"))
        grown = outcome.bytes_in - self._last.get(outcome.conversation, 0)
        if outcome.conversation:
            self._remember(outcome)
        prices = _prices(outcome.model) or self._fallback
        if prices is None or not outcome.bytes_out:
            return
        spent = prices.paid(found)
        outcome.cost = spent.usd
        if outcome.bytes_out != outcome.bytes_in:
            # the client's own request: all of it but what is new would have been in the cache
            per_byte = found.input_tokens / outcome.bytes_out
            whole, new = int(outcome.bytes_in * per_byte), int(max(grown, 0) * per_byte)
            outcome.saved = prices.bill(whole, whole - new, found.output_tokens).usd - spent.usd
        self._sums.money.labels(outcome.wire).inc(outcome.cost)
        (self._sums.saved if outcome.saved >= 0 else self._sums.paid).labels(outcome.wire).inc(
            abs(outcome.saved)
        )

    def _remember(self, outcome: Outcome) -> None:
        self._last.pop(outcome.conversation, None)
        self._last[outcome.conversation] = outcome.bytes_in
        if len(self._last) > _MOST_REMEMBERED:
            del self._last[next(iter(self._last))]
