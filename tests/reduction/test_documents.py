"""JSON, tables, pages, prose and code."""

from __future__ import annotations

import json

from tests.testing.rows import each_row

from foldaway import reduce
from foldaway.reduction.prose import html_text


def test_a_json_table_keeps_ends_failures_and_outliers() -> None:
    """Of four hundred rows those that are worth a look."""
    rows = [{"id": n, "status": "ok", "latency": n % 9} for n in range(400)]
    rows[137] |= {"status": "error", "error": "boom"}
    rows[222] |= {"latency": 90_000}
    rows[300] |= {"status": "degraded"}
    done = reduce(json.dumps({"total": 400, "rows": rows}), None, 300)
    value = json.loads(done.text)
    shown = [row["id"] for row in value["rows"] if isinstance(row, dict)]
    assert {0, 137, 222, 300, 399} <= set(shown)
    assert value["total"] == 400
    assert done.counts["items"] == 400 - len(shown)


def test_json_keeps_status_before_other_fields() -> None:
    """Priority keys survive where the rest does not fit; what is missing is named."""
    value = {f"field_{n}": "x" * 90 for n in range(60)} | {"status": "failed", "code": 17}
    shown = json.loads(reduce(json.dumps(value), None, 120).text)
    assert (shown["status"], shown["code"]) == ("failed", 17)
    assert "field_" in shown["…"]


def test_json_numbers_are_shown_as_they_stand_in_the_source() -> None:
    """No number is rounded or written differently; of those left out the range is said."""
    numbers = ["1.10", "2e3", "12345678901234567890", "-0.0"] + [f"{n}.50" for n in range(300)]
    text = f'{{"values": [{", ".join(numbers)}]}}'
    shown = reduce(text, None, 100).text
    assert "[1.10,2e3,12345678901234567890,-0.0," in shown
    assert '"… 289 items, 6.50 to 294.50"' in shown


def test_long_strings_in_json_are_cut_and_multi_line_ones_read_as_logs() -> None:
    """The output of a command inside JSON keeps its errors."""
    output = "\n".join(f"step {'abcdef'[n % 6] * 3} {n}" for n in range(600))
    output += "\nerror: no route\n" + output
    text = json.dumps({"output": output, "metadata": {"exit_code": 3}})
    value = json.loads(reduce(text, None, 400).text)
    assert "error: no route" in value["output"]
    assert value["metadata"] == {"exit_code": 3}


def test_json_that_was_reduced_before_keeps_its_marks() -> None:
    """No key comes twice, so that the first note is still there after the second."""
    value = {f"field_{n}": "x" * 90 for n in range(90)}
    once = reduce(json.dumps(value), "json", 600, "fa-0000000001").text
    twice = reduce(once, "json", 300, "fa-0000000002").text
    keys = [key for key, _ in json.loads(twice, object_pairs_hook=list)]
    assert len(keys) == len(set(keys))
    assert "fa-0000000002" in twice


def test_deep_json_is_cut_by_depth() -> None:
    """Nesting beyond any use becomes a count."""
    value: object = "leaf " * 50
    for n in range(60):
        value = {"level": n, "inner": value, "pad": "x" * 30}
    shown = reduce(json.dumps(value), "json", 400).text
    assert json.loads(shown)["level"] == 59
    assert "3 keys" in shown


def test_broken_json_is_read_as_text() -> None:
    """What cannot be parsed is not called JSON, and still reduced."""
    text = json.dumps([{"id": n, "name": "x" * 20} for n in range(400)])[:-300]
    done = reduce(text, "json", 200)
    assert done.kind != "json"
    assert done.tokens_after <= 200


def test_a_table_keeps_header_failures_and_outliers() -> None:
    """As lines, unchanged."""
    rows = [f"{n},name {n},{n % 9}.5,active" for n in range(400)]
    rows[250] = "250,name 250,99999,active"
    rows[300] = "300,name 300,4.5,failed"
    text = reduce("id,name,score,state\n" + "\n".join(rows), None, 200).text
    for row in ("id,name,score,state", rows[0], rows[250], rows[300], rows[399]):
        assert f"{row}\n" in text


def test_a_page_becomes_the_text_that_a_reader_sees() -> None:
    """Headings, items and cells marked; scripts, styles and comments gone; entities resolved."""
    page = (
        "<!doctype html><html><head><title>A &amp; B</title><style>p {color: red}</style></head>"
        "<body><!-- hidden --><h1>Top</h1><p>One <b>bold</b>\n word.</p><ul><li>first<li>second"
        "</ul><table><tr><td>1</td><td>2</td></tr></table><script>var x = '<p>no</p>'</script>"
        "<SCRIPT>no</SCRIPT>end</body></html>"
    )
    expected = "# A & B\n# Top\nOne bold\nword.\n- first\n- second\n1 | 2 |\nend"
    assert html_text(page) == expected


@each_row("page", ["<", "<p", "<!--", "<script>x", "</", "a < b > c", "<p>&#x;"])
def test_a_broken_page_is_no_error(page: str) -> None:
    """Whatever is not closed is text."""
    assert isinstance(html_text(page), str)


def test_prose_keeps_headings_and_telling_sentences() -> None:
    """Headings all, then what many other sentences share and what names facts."""
    filler = "It was a day like any other and nothing happened there at all. " * 8
    parts = [f"## Part {n}\n\n{filler}" for n in range(12)]
    parts[5] += "The cache in `store.py` must never exceed 512 entries, because it failed."
    text = reduce("\n\n".join(parts), "prose", 300).text
    assert all(f"## Part {n}" in text for n in range(12))
    assert "must never exceed 512 entries" in text


def test_code_keeps_its_definitions() -> None:
    """Every signature, also where there are line numbers; bodies as far as there is room."""
    names = [f"function_{n}" for n in range(12)]
    source = "import os\n\n" + "\n".join(
        f"def {name}(x):\n" + "".join(f"    y_{n} = x + {n}\n" for n in range(30)) for name in names
    )
    numbered = "\n".join(f"{n:6}→{line}" for n, line in enumerate(source.split("\n"), 1))
    for text in (source, numbered):
        shown = reduce(text, "code", 260).text
        assert all(f"def {name}(x):" in shown for name in names)


def test_code_says_when_it_was_read_without_a_parser() -> None:
    """A language without a grammar is read by indentation, and the reduction says so."""
    text = "\n".join(f"section_{n}:\n  key: value\n  other: {n}" for n in range(100))
    assert reduce(text, "code", 200).notes == (
        "read by indentation; foldaway[code] reads by syntax",
    )


@each_row("form", ["json", "jsonl"])
def test_a_field_named_after_a_secret_is_hidden_in_json_that_is_reduced(form: str) -> None:
    """Whatever its value looks like, on every level; tokens of pages stay, agents go on by them."""
    rows: list[dict[str, object]] = [
        {"n": n, "config": {"api_key": f"value-{n}-of-it"}} for n in range(300)
    ]
    rows[0] = {"next_page_token": "page-2-of-3"}
    rows[-1] = {"Password": "correct horse"}
    text = json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows))
    done = reduce(text, None, 300)
    assert done.kind == form
    assert '"api_key":"(hidden)"' in done.text.replace(": ", ":")
    assert "page-2-of-3" in done.text
    assert "-of-it" not in done.text
    assert "correct horse" not in done.text
    assert reduce(done.text, None, 300).text == done.text
