"""A size that is asked for is used: more room never gives a smaller result."""

from __future__ import annotations

import json

from foldaway import Options, compress
from foldaway.compaction.room import summary_room
from foldaway.engine.compressor import Compressor


def assert_used(log: list[dict[str, object]], shares: tuple[float, ...]) -> None:
    before = compress(log, target_tokens=10**6).report.tokens_before
    sizes = [int(before * share) for share in shares]
    results = [compress(log, target_tokens=size).report.tokens_after for size in sizes]
    assert results == sorted(results)
    for size, result in zip(sizes, results, strict=True):
        assert 0.85 * size < result < 1.05 * size


def asked(turn: int, output: str) -> list[dict[str, object]]:
    function = {"name": "get_list", "arguments": f'{{"page": {turn}}}'}
    call = {"id": f"c{turn}", "type": "function", "function": function}
    return [{"role": "user", "content": f"Show me page {turn}, please."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": output},
            {"role": "assistant", "content": "Done."}]  # fmt: skip


def test_a_few_turns_with_very_long_data_use_the_room_that_they_get() -> None:
    """Results that do not fit are cut to the room, and not folded with the room left empty."""
    names = json.dumps({"names": [f"item_{n}" for n in range(3_000)]})
    turns = [*asked(0, names), *asked(1, names), *asked(2, '{"ok": true}'), *asked(3, "[]")]
    assert_used([*turns, {"role": "user", "content": "And now?"}], (0.1, 0.2, 0.3, 0.4))


def test_the_room_is_used_if_only_the_newest_request_lies_before_the_tail() -> None:
    """Nothing is folded then, so the newest result has the room."""
    rows = json.dumps([{"id": f"A{n}", "text": f"word_{n} " * 12} for n in range(80)])
    rest = json.dumps([{"id": f"B{n}", "text": f"word_{n} " * 12} for n in range(12)])
    opening: list[dict[str, object]] = [
        {"role": "assistant", "content": "Hello!"}, {"role": "user", "content": "Help."},
        {"role": "assistant", "content": "What are the details?"},
        {"role": "user", "content": "These are the details that you asked for. " * 48},
    ]  # fmt: skip
    assert_used([*opening, *asked(0, rest)[1:3], *asked(1, rows)[1:3]], (0.3, 0.4, 0.5, 0.6))


def test_many_turns_with_long_results_use_the_room_that_they_get() -> None:
    """All turns fit without their results, so the results have the room: none of it stays empty."""
    log: list[dict[str, object]] = [{"role": "user", "content": "Fix the parser in src/app.py."}]
    for turn in range(60):
        function = {"name": "bash", "arguments": f'{{"command": "cat src/m{turn}.py"}}'}
        call = {"id": f"c{turn}", "type": "function", "function": function}
        lines = [f"value_{turn}_{n} = load_{n}({turn * n})" for n in range(60 if turn < 45 else 25)]
        log.append({"role": "assistant", "content": f"Step {turn}.", "tool_calls": [call]})
        log.append({"role": "tool", "tool_call_id": f"c{turn}", "content": "\n".join(lines)})
    assert_used(log, (0.2, 0.3, 0.4, 0.6))


def test_of_several_images_the_newest_stays_if_a_size_is_asked_for() -> None:
    """An image of the latest request is not old because earlier requests have one too."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    log: list[dict[str, object]] = []
    for turn in range(4):
        ask = {"type": "text", "text": f"Change value_{turn}."}
        function = {"name": "bash", "arguments": f'{{"command": "make {turn}"}}'}
        call = {"id": f"c{turn}", "type": "function", "function": function}
        output = "\n".join(f"line {n} of {turn}: checked_{n}" for n in range(60))
        log += [
            {"role": "user", "content": [ask, image]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": output},
            {"role": "assistant", "content": f"Value {turn} is changed."},
        ]
    before = compress(log, target_tokens=10**6).report.tokens_before
    made = compress(log, target_tokens=before * 2 // 3)
    assert made.report.status == "compacted", made.report.detail
    assert made.messages[-4] == log[-4]


def test_a_summary_has_a_share_of_what_it_replaces_within_its_bounds() -> None:
    """A fifth of it, from 2,000 tokens up to 5 % of the window, and 12,000 at most."""
    work = Compressor(context_length=200_000).work_with(Options())
    assert [summary_room(work, size) for size in (500, 40_000, 90_000)] == [2_000, 8_000, 10_000]
    roomy = Compressor(context_length=1_000_000).work_with(Options())
    assert summary_room(roomy, 400_000) == 12_000


def test_the_words_of_what_failed_stay_until_it_is_resolved() -> None:
    """As in Hermes: checks fail, and many modules are read before they are repaired. A check that
    then goes well needs no room; the exact message of each other one is shown.
    """
    log: list[dict[str, object]] = [{"role": "user", "content": "Run the checks, then repair."}]

    def run(command: str, output: str, code: int) -> None:
        function = {"name": "terminal", "arguments": json.dumps({"command": command})}
        call = {"id": f"c{len(log)}", "type": "function", "function": function}
        wrapped = json.dumps({"output": output, "exit_code": code, "error": None})
        log.append({"role": "assistant", "content": "Next.", "tool_calls": [call]})
        log.append({"role": "tool", "tool_call_id": f"c{len(log) - 1}", "content": wrapped})

    said = [
        f"OSError: porte {41_003 + 97 * n} refusée, lock_{n} is held by {70_001 + 613 * n}"
        for n in range(10)
    ]
    trace = 'Traceback (most recent call last):\n  File "/srv/check.py", line 6\n    raise OSError'
    for n, words in enumerate(said):
        run(f"python3 check.py {n}", f"ok disk of region {n}\nok clock\n{trace}\n{words}", 1)
    run("python3 check.py 3", "ok disk\nok clock\nok queue\nok lock", 0)
    for n in range(26):
        steps = [f"def step_{m}(value):\n    return value + {m + n}" for m in range(120)]
        run(f"cat src/m{n}.py", "\n\n\n".join(steps), 0)
    before = compress(log, target_tokens=10**6).report.tokens_before
    for share in (0.25, 0.4):
        made = compress(log, target_tokens=int(before * share)).messages
        seen = "\n".join(str(message["content"]) for message in made)
        missing = [
            words for words in said if words not in seen and json.dumps(words)[1:-1] not in seen
        ]
        assert missing == [said[3]]
