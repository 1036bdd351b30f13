"""The web: what was found, which address has which status and title."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "WebSearch",
        {"query": "go-git worktree cache"},
        (
            'Web search results for query: "go-git worktree cache"\n'
            '\nLinks: [{"title":"Add '
            'caching","url":"https://example.com/pull/623"},{"title":"Status","url":"https:'
            '//example.com/issues/2"}]\n\nThe cache is kept per worktree.'
        ),
        (
            "WebSearch looked for 'go-git worktree cache': 2 results; first 'Add caching' "
            "https://example.com/pull/623"
        ),
    ),
    (
        "google_web_search",
        {"query": "q"},
        "Nothing useful was found for this.",
        (
            "google_web_search looked for 'q': 34 characters; begins 'Nothing useful was "
            "found for this.'"
        ),
    ),
    (
        "WebFetch",
        {"url": "https://example.com/docs", "prompt": "What?"},
        "# Limits of the API\n\nThere are none.\n",
        "WebFetch fetched https://example.com/docs: 'Limits of the API', 3 lines",
    ),
    (
        "WebFetch",
        {"url": "https://example.com/gone"},
        "Request failed with status code 404",
        "WebFetch did not fetch https://example.com/gone: Request failed with status code 404",
    ),
    (
        "fetch",
        {"url": "https://example.com"},
        (
            "<!DOCTYPE html>\n<html><head><title>Example Domain</title></head>\n"
            "<body>\n</body></html>"
        ),
        "fetch fetched https://example.com: 'Example Domain', 4 lines",
    ),
    (
        "http_request",
        {"url": "https://example.com/api"},
        "HTTP/1.1 503 Service Unavailable\nRetry-After: 3\n\nbusy",
        "http_request fetched https://example.com/api: status 503, 4 lines",
    ),
    (
        "web_extract",
        {"urls": ["https://example.com/a", "https://example.com/b"]},
        (
            '{"results": [{"url": "https://example.com/a", "title": "A"}], "error": "one '
            'page timed out"}'
        ),
        (
            "web_extract fetched https://example.com/a https://example.com/b: error=one "
            "page timed out, results=[1: A]"
        ),
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_page_keeps_its_address_status_and_title(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """And a search its query, the count and the first result."""
    assert digest(tool, arguments, output) == line
