from __future__ import annotations

import base64
import random
import time
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.transcript.estimate import (
    FEATURES,
    FULL_CHARS,
    IMAGE_TOKENS,
    SCRIPTS,
    estimate_text,
    feature_counts,
)

SEAM_TOKENS = 8
"""What a seam can add or save: three consonant fours, a number, a phrase, and the rounding."""

short_texts = st.text(max_size=300) | st.text(alphabet="abcXYZ 0123\n.,{}=", max_size=300)


class Golden(NamedTuple):
    kind: str
    truth: int
    tolerance: float
    text: str


# Truth is o200k_base, counted with bpe-openai 0.1.4.
GOLDEN = [
    Golden(
        "english prose",
        59,
        0.1,
        "The session kept its plan for most of the afternoon. When the window filled up, the"
        " older tool results were folded into a short summary, and the agent carried on with"
        " the failing test as if nothing had happened. Nobody noticed until the review, whic"
        "h asked why one file had been read twice.",
    ),
    Golden(
        "german prose",
        59,
        0.1,
        "Die Sitzung behielt ihren Plan fast den ganzen Nachmittag. Als das Fenster voll war"
        ", wurden die älteren Ergebnisse in eine kurze Zusammenfassung gefaltet, und der Age"
        "nt arbeitete weiter, als wäre nichts geschehen. Erst bei der Durchsicht fiel auf, d"
        "ass eine Datei zweimal gelesen worden war.",
    ),
    Golden(
        "french prose",
        61,
        0.15,
        "La session a gardé son plan presque tout l'après-midi. Quand la fenêtre a été plein"
        "e, les anciens résultats ont été repliés dans un court résumé, et l'agent a continu"
        "é comme si de rien n'était. Personne ne l'a remarqué avant la relecture du soir.",
    ),
    Golden(
        "python",
        96,
        0.1,
        'def allowed_cuts(log, rules):\n    """Return the indices where every rule permits a'
        ' cut."""\n    cuts = set(range(len(log) + 1))\n    for rule in rules:\n        cuts'
        ' &= rule.cuts(log)\n    if not cuts:\n        raise ValueError(f"no cut left for {l'
        'en(log)} messages")\n    return sorted(cuts)\n\n\nclass GroupRule:\n    def cuts(se'
        "lf, log):\n        return {group.end for group in self.groups(log)}\n",
    ),
    Golden(
        "go",
        79,
        0.1,
        "func (s *Store) Append(ctx context.Context, sessionID string, msg Message) error {"
        "\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tif err := ctx.Err(); err != nil {\n\t\tre"
        'turn fmt.Errorf("append to %s: %w", sessionID, err)\n\t}\n\ts.messages[sessionID] ='
        " append(s.messages[sessionID], msg)\n\treturn nil\n}\n",
    ),
    Golden(
        "json",
        93,
        0.1,
        '{"id": "call_7f3a", "type": "function", "function": {"name": "read_file", "argument'
        's": {"path": "src/app/main.py", "start_line": 120, "end_line": 240}}, "usage": {"pr'
        'ompt_tokens": 18234, "completion_tokens": 512}, "ok": true, "tags": ["draft", "retr'
        'y", "slow"], "parent": null}',
    ),
    Golden(
        "log",
        123,
        0.1,
        "2025-03-14T09:26:53.589Z INFO  worker-3 request_id=8842 path=/api/v1/items status=2"
        "00 took=18ms\n2025-03-14T09:26:53.771Z WARN  worker-1 request_id=8843 path=/api/v1/"
        "items status=503 took=2004ms retry=1\n2025-03-14T09:26:54.002Z ERROR worker-1 upstr"
        "eam timed out after 2000ms (host=10.0.12.7:8443)\n",
    ),
    Golden(
        "diff",
        98,
        0.1,
        "diff --git a/src/app/main.py b/src/app/main.py\nindex 4b825dc..a94a8fe 100644\n--- "
        "a/src/app/main.py\n+++ b/src/app/main.py\n@@ -12,7 +12,9 @@ def main() -> int:\n   "
        "  options = parse(sys.argv[1:])\n-    return run(options)\n+    with timer() as too"
        "k:\n+        code = run(options)\n+    return report(code, took)\n",
    ),
    Golden(
        "hex",
        116,
        0.1,
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 2c26b46b68ffc68ff9"
        "9b453c1d30413413422d706483bfa0f98a5e886266e7ae fcde2b2edba56bf408601fb721fe9b5c338d"
        "10ee429ea04fae5511b68fbf8fb9",
    ),
    Golden(
        "base64",
        133,
        0.1,
        "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCggsJrRraP/Gj/mbRTwdMEE0E0ItcGSDv6D5il6IYmb"
        "nrvzeKy7bpWv0CGAftyH+m1wzjRDuQp6gT65VEbaPv4+5iNQkm8KqXH6vtqp5yOs8zQ3Yb7pQwV0Gx2TnR9"
        "mKfLw=",
    ),
    Golden(
        "data URI in prose",
        120,
        0.1,
        "The plot is below, the legend on the left.\n\n![plot](data:image/png;base64,n4bQgYh"
        "MfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCggsJrRraP/Gj/mbRTwdMEE0E0ItcGSDv6D5il6IYmbnrvzeKy"
        "7bpWv0CGAftyH+m1wzjRDuQp6gT65VEbaPv4+5)\n\nIt shows the error by family.",
    ),
    Golden(
        "numbers",
        71,
        0.1,
        "12.5, 803, 44.125, 9.75, 1000000, 3.14159, 2718, 0.5, 65536, 4.2, 981, 77.7, 31337,"
        " 8.25, 1024, 0.125",
    ),
    Golden(
        "indentation",
        24,
        0.25,
        "            if ready:\n                for item in queue:\n                    send"
        "(item)\n            else:\n                wait()\n\n\n        return None\n",
    ),
    Golden(
        "chinese",
        69,
        0.1,
        "会话在整个下午几乎都保持着原来的计划。当窗口装满时,较旧的工具结果被折叠成一段简短"
        "的摘要,代理继续处理失败的测试,好像什么都没有发生过一样。直到晚上审查的时候才有人发"
        "现有一个文件被读了两次。",
    ),
    Golden(
        "japanese",
        65,
        0.25,
        "セッションは午後のほとんどの間、計画を保っていました。ウィンドウがいっぱいになると"
        "、古いツールの結果は短い要約にまとめられ、エージェントは何事もなかったかのように作業"
        "を続けました。",
    ),
    Golden(
        "korean",
        55,
        0.1,
        "세션은 오후 내내 거의 계획을 유지했습니다. 창이 가득 차자 오래된 도구 "
        "결과는 짧은 요약으로 접혔고, 에이전트는 아무 일도 없었던 것처럼 실패한 테"
        "스트를 계속 처리했습니다.",
    ),
    Golden(
        "russian",
        53,
        0.15,
        "Сессия сохраняла свой план почти весь день. Когда окно заполнилось, старые результа"
        "ты инструментов были свёрнуты в краткое резюме, и агент продолжил работу над упавши"
        "м тестом, как будто ничего не произошло.",
    ),
    Golden(
        "arabic",
        55,
        0.1,
        "حافظت الجلسة على خطتها معظم فترة بعد الظهر. وعندما امتلأت النافذة، طويت نتائج الأدو"
        "ات القديمة في ملخص قصير، واستمر الوكيل في العمل على الاختبار الفاشل وكأن شيئا لم يح"
        "دث.",
    ),
    Golden(
        "hindi",
        57,
        0.35,
        "सत्र ने लगभग पूरी दोपहर अपनी योजना बनाए रखी। जब विंडो भर गई, तो पुराने उपकरण परिणाम"
        "ों को एक छोटे सारांश में समेट दिया गया, और एजेंट ने असफल परीक्षण पर काम जारी रखा, ज"
        "ैसे कुछ हुआ ही न हो।",
    ),
    Golden(
        "thai",
        62,
        0.25,
        "เซสชันยังคงรักษาแผนไว้เกือบตลอดบ่าย เมื่อหน้าต่างเต็ม ผลลัพธ์เก่าของเครื่องมือถูกย่"
        "อเป็นบทสรุปสั้น ๆ และเอเจนต์ทำงานต่อไปราวกับว่าไม่มีอะไรเกิดขึ้น",
    ),
    Golden(
        "emoji",
        33,
        0.35,
        "Shipped 🎉🎉 thanks all 🙏 tests ✅ docs ✅ perf 🚀🚀 "
        "rollback plan ❌ owner 👩\u200d💻 mood 😅🔥",
    ),
]


@each_row("golden", GOLDEN, ids=lambda golden: golden.kind)
def test_every_kind_of_text_is_within_its_tolerance(golden: Golden) -> None:
    """The estimate of a known text differs from o200k_base by the recorded share at most."""
    assert estimate_text(golden.text) == pytest.approx(golden.truth, rel=golden.tolerance)


def test_the_empty_text_costs_nothing() -> None:
    """Nothing costs nothing; a single character costs a token."""
    assert estimate_text("") == 0
    assert estimate_text(" ") == estimate_text("a") == estimate_text("語") == 1


@given(st.text())
def test_any_text_costs_at_least_one_token_and_always_the_same(text: str) -> None:
    """Never negative, never zero for a text that is there, and a pure function of the text."""
    first = estimate_text(text)
    assert first == estimate_text("".join(list(text)))
    assert first >= (1 if text else 0)


@given(short_texts, short_texts)
def test_the_whole_costs_what_its_parts_cost_up_to_the_seam(left: str, right: str) -> None:
    """Joining two texts changes the sum by no more than what stands at the seam."""
    parts = estimate_text(left) + estimate_text(right)
    assert abs(estimate_text(left + right) - parts) <= SEAM_TOKENS


@given(short_texts, short_texts)
def test_appending_never_makes_a_text_that_is_counted_whole_cheaper(text: str, more: str) -> None:
    """Up to `FULL_CHARS` the estimate is monotone."""
    assert estimate_text(text + more) >= estimate_text(text)


@given(st.binary(min_size=48, max_size=2_000).filter(lambda raw: len(set(raw)) > 24))
def test_base64_costs_more_than_a_quarter_of_its_characters(raw: bytes) -> None:
    """Dense text is not taken for prose."""
    encoded = base64.b64encode(raw).decode()
    assert estimate_text(encoded) > len(encoded) / 4


def test_a_base64_run_inside_prose_is_charged_as_base64() -> None:
    """The same run costs about the same alone, in prose and in a data: URI."""
    run = base64.b64encode(random.Random(3).randbytes(3_000)).decode()
    prose = "As the figure shows, the error falls with the length of the text. " * 10
    inside = estimate_text(f"{prose}data:image/png;base64,{run} {prose}") - 2 * estimate_text(prose)
    assert inside == pytest.approx(estimate_text(run), rel=0.05)


def test_an_image_costs_a_flat_sum_far_below_its_base64() -> None:
    """Media are charged by `IMAGE_TOKENS`: their base64 never comes through the estimator."""
    encoded = base64.b64encode(random.Random(4).randbytes(300_000)).decode()
    assert IMAGE_TOKENS == 1_600
    assert estimate_text(encoded) > 100 * IMAGE_TOKENS


@each_row("size", [FULL_CHARS + 1, 30_000, 200_000, 1_000_003])
def test_a_sample_stands_for_the_whole_of_a_long_text(size: int) -> None:
    """A long mixed text costs what its pieces cost together, within 8 %."""
    rng = random.Random(size)
    kinds = [golden.text for golden in GOLDEN]
    text = ""
    while len(text) < size:
        text += "".join(rng.choices(kinds, k=size // 2_000 + 1))
    text = text[:size]
    pieces = [text[at : at + FULL_CHARS] for at in range(0, size, FULL_CHARS)]
    assert estimate_text(text) == pytest.approx(sum(map(estimate_text, pieces)), rel=0.08)


def test_records_of_a_regular_length_do_not_fall_into_step_with_the_sample() -> None:
    """Half prose, half hex in blocks as long as a stride is still half and half."""
    prose = ("the quick brown fox jumps over the lazy dog " * 50)[:2_048]
    text = (prose + random.Random(5).randbytes(1_024).hex()) * 100
    expected = 100 * (estimate_text(prose) + estimate_text(text[2_048:4_096]))
    assert estimate_text(text) == pytest.approx(expected, rel=0.12)


@pytest.mark.soak
@pytest.mark.parametrize("unit", ["a", "x", "0", " ", "\n", "=", "é", "語", "🎉", "Ab0/"])
def test_time_grows_no_faster_than_the_text(unit: str) -> None:
    """Eight times one repeated unit takes at most about eight times as long."""
    small, large = unit * 250_000, unit * 2_000_000
    assert best_seconds(large) < 24 * best_seconds(small) + 0.005


@each_row("unit", ["a", " ", "=", "\n", "─"])
def test_a_repeated_character_is_never_cheaper_than_the_longest_token(unit: str) -> None:
    """No vocabulary entry is longer than 128 characters."""
    assert estimate_text(unit * 1_280) >= 10
    assert estimate_text(unit * 1_280_000) >= 10_000


def test_lone_surrogates_are_counted() -> None:
    """Text that UTF-8 cannot hold is still text."""
    assert estimate_text("broken \ud83d half") >= 3


@given(st.text(max_size=400))
def test_the_features_of_a_text_match_the_weights(text: str) -> None:
    """`feature_counts` gives one count per weight, and together they are the estimate."""
    counts = feature_counts(text)
    weights = [*FEATURES.values(), *SCRIPTS.values()]
    assert len(counts) == len(weights)
    total = sum(count * weight for count, weight in zip(counts, weights, strict=True))
    assert abs(max(total, len(text) / 128) - estimate_text(text)) <= 1


def best_seconds(text: str) -> float:
    runs: list[float] = []
    for _ in range(3):
        started = time.perf_counter()
        estimate_text(text)
        runs.append(time.perf_counter() - started)
    return min(runs)
