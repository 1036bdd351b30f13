"""Any other tool, by the shape of its result."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "get_reservation_details",
        {"reservation_id": "PUNERT"},
        (
            '{"reservation_id": "PUNERT", "user_id": "sophia_martin_4574", "origin": '
            '"BOS", "destination": "DEN", "cabin": "business", "flights": '
            '[{"flight_number": "HAT086", "price": 721}, {"flight_number": "HAT148", '
            '"price": 306}], "passengers": [{"first_name": "Sophia", "last_name": '
            '"Martin"}], "insurance": "no", "status": null}'
        ),
        (
            "get_reservation_details(reservation_id=PUNERT): user_id=sophia_martin_4574, "
            "origin=BOS, destination=DEN, cabin=business, flights=[2: HAT086, HAT148], "
            "passengers=[1: Sophia], insurance=no"
        ),
    ),
    (
        "search_direct_flight",
        {"origin": "SFO", "destination": "IAH"},
        (
            '[{"flight_number": "HAT082", "origin": "SFO", "destination": "IAH", "status": '
            '"available", "prices": {"economy": 164, "business": 323}}, {"flight_number": '
            '"HAT278", "origin": "SFO", "status": "available"}]'
        ),
        (
            "search_direct_flight(origin=SFO, destination=IAH): 2 items: HAT082, HAT278; "
            "first HAT082 SFO IAH; status: available; prices (economy: 164, business: 323)"
        ),
    ),
    (
        "search_onestop_flight",
        {"origin": "SEA", "destination": "JFK"},
        '[[{"flight_number": "HAT220", "price": 398}, {"flight_number": "HAT233", "price": 386}]]',
        (
            "search_onestop_flight(origin=SEA, destination=JFK): 1 item: HAT220, price: 398 | "
            "HAT233, price: 386"
        ),
    ),
    (
        "book_flight",
        {"access_token": "abc", "travel_date": "2026-08-10"},
        '{"booking_id": "3426812", "booking_status": true, "booking_history": {}}',
        (
            "book_flight(travel_date=2026-08-10): booking_id=3426812, booking_status=true, "
            "booking_history={}"
        ),
    ),
    (
        "execute_sql",
        {"query": "SELECT id, name FROM owner"},
        "[(1025, 'John', b'char(3)'), (1101, 'Haley', b'x')]",
        ("execute_sql(query=SELECT id, name FROM owner): 2 rows; first (1025, 'John', b'char(3)')"),
    ),
    (
        "execute_sql",
        {"query": "SELECT 1 FROM nothing"},
        "Error executing query: Table 'dog.nothing' doesn't exist",
        (
            "execute_sql(query=SELECT 1 FROM nothing): failed: Error executing query: "
            "Table 'dog.nothing' doesn't exist"
        ),
    ),
    (
        "mcp__linear-server__get_issue",
        {"id": "ENT-7"},
        ('{"id": "ENT-7", "title": "Fix the lock", "state": {"name": "Done"}, "labels": ["bug"]}'),
        (
            "mcp__linear-server__get_issue(id=ENT-7): state={name=Done}, title=Fix the "
            "lock, labels=[1: bug]"
        ),
    ),
    (
        "use_mcp_tool",
        {"server_name": "files", "tool_name": "read_file", "arguments": '{"path": "a.py"}'},
        "x = 1\ny = 2",
        "read_file a.py: 2 lines",
    ),
    (
        "think",
        {"thought": "It is late."},
        "",
        "think(thought=It is late.): nothing",
    ),
    (
        "report",
        {"depth": 2},
        "\n\n--\nAll quiet on the western front\nand in the east",
        "report(depth=2): 5 lines; begins 'All quiet on the western front'",
    ),
    (
        "big",
        {},
        '{"status": "partial", "rows": [' + "1," * 60_000 + '2], "total": 60001}',
        "big(): status=partial, total=60001",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_another_tool_keeps_the_fields_that_matter(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """Status, ids, names and counts of JSON, rows of a query, otherwise the first words."""
    assert digest(tool, arguments, output) == line
