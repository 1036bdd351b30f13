"""headroom's `compress`, without the model of its text compressor, whose weights are downloaded.

It shortens messages one by one, drops none, and takes no budget: the first request gets its
defaults, a pressed one its profile of the highest savings. Both with the pipeline made again, for
it remembers what it compressed before.
"""

from __future__ import annotations

import importlib
from typing import Any

from loop import Answer, Cannot, measure_time, serve

NO_MODEL = {"kompress_model": "disabled"}
HIGHEST = {"savings_profile": "agent-90", "protect_recent": 0, "min_tokens_to_compress": 1}


def compress(request: dict[str, Any]) -> Answer:
    """Return what the peer leaves; the budget has no part in it."""
    module: Any = importlib.import_module("headroom.compress")
    module._pipeline = None
    module._get_pipeline()
    settings = NO_MODEL | HIGHEST if request["pressed"] else NO_MODEL
    made, cpu_ms = measure_time(
        lambda: module.compress(
            request["messages"], model="gpt-4o", model_limit=request["context_length"], **settings
        )
    )
    if request["messages"] and not made.tokens_before:
        raise Cannot("it failed within, and gave the messages back as they were")
    said = ", ".join(f"{name} {value}" for name, value in settings.items())
    return {
        "messages": made.messages,
        "cpu_ms": cpu_ms,
        "moves": False,
        "note": f"it takes no budget; {said}",
    }


if __name__ == "__main__":
    serve(compress)
