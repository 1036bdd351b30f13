"""A size that is asked for is used: more room never gives a smaller result."""

from __future__ import annotations

from holdfast import compress


def test_many_turns_with_long_results_use_the_room_that_they_get() -> None:
    """All turns fit without their results, so the results have the room: none of it stays empty."""
    log: list[dict[str, object]] = [{"role": "user", "content": "Fix the parser in src/app.py."}]
    for turn in range(60):
        function = {"name": "bash", "arguments": f'{{"command": "cat src/m{turn}.py"}}'}
        call = {"id": f"c{turn}", "type": "function", "function": function}
        lines = [f"value_{turn}_{n} = load_{n}({turn * n})" for n in range(60 if turn < 45 else 25)]
        log.append({"role": "assistant", "content": f"Step {turn}.", "tool_calls": [call]})
        log.append({"role": "tool", "tool_call_id": f"c{turn}", "content": "\n".join(lines)})
    before = compress(log, target_tokens=10**6).report.tokens_before
    sizes = [int(before * share) for share in (0.2, 0.3, 0.4, 0.6)]
    results = [compress(log, target_tokens=size).report.tokens_after for size in sizes]
    assert results == sorted(results)
    for size, result in zip(sizes, results, strict=True):
        assert 0.85 * size < result < 1.05 * size


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
