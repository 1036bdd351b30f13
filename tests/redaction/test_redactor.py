"""The redactor's laws: stable, valid JSON, linear, one placeholder for one secret."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.rows import each_row

import foldaway
from foldaway.errors import UnknownName
from foldaway.redaction import RedactionPolicy, Redactor, Vault, redact
from foldaway.redaction.examples import load_examples
from foldaway.redaction.keys import A_PIECE, key_tail
from foldaway.redaction.names import kind_of
from foldaway.redaction.rules import FIELDS, built_in_rules, kinds_of

KEYED = Redactor(RedactionPolicy(key="test"))
EXAMPLES = [
    *load_examples()["fields"].true,
    *(
        parts
        for rule in built_in_rules() if rule.family != "mention"
        for parts in load_examples()[rule.name].true
    ),
]  # fmt: skip
TOKEN = "ghp_" + "a8Bd3Fg7Hj2Kl5Mn9Pq4Rs6Tv1Wx3Yz8Cb2D"

examples = st.integers(0, len(EXAMPLES) - 1).map(lambda n: EXAMPLES[n])
texts = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.integers(0, len(EXAMPLES) - 1).map(lambda n: "".join(EXAMPLES[n])),
        st.sampled_from(
            ["password=", '"', "'", "\\", "\\n", "\n", ": ", " ", "token", "key", "=", "\0",
             "[redacted:key:00]", "[redacted:", "]", "://", "@", "-----BEGIN RSA PRIVATE KEY-----",
             "4012888888881881", ",", "[", "{", "\ud800", "\u200b", "eyJhbGciOi", "\\u00", "%3D",
             "\x1b[0m"]
        ),
    ),
    max_size=12,
).map("".join)  # fmt: skip
values: Any = st.recursive(
    st.one_of(texts, st.integers(), st.just(4012888888881881), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["password", "pan", "token", "x"]), inner, max_size=4),
    ),
    max_leaves=8,
)


@given(texts)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """No rule matches a placeholder, and none reaches over one."""
    once = KEYED(text)
    assert KEYED(once) == once


@each_row("group", [20, 30, 40])
@each_row("secret", ["curl -u adm:s3cr3tpw27 x ", "echo hunter2024 | sudo -S ls "])
def test_a_line_of_groups_of_secrets_is_not_too_much_the_second_time(
    secret: str, group: int
) -> None:
    """Literals whose secret is hidden are not charged to their line as tries that failed."""
    once = KEYED((secret * group + "x y " * 260) * 30)
    assert "hunter2024" not in once
    assert "s3cr3tpw27" not in once
    assert KEYED(once) == once


@given(values)
def test_json_stays_json(value: Any) -> None:
    """A text that is JSON is still JSON, also where JSON stands escaped within it."""
    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(json.dumps(value))):
        json.loads(KEYED(text))
    json.loads(json.loads(KEYED(json.dumps(json.dumps(json.dumps(value))))))


@given(texts)
def test_any_text_is_taken_and_findings_lie_within_it(text: str) -> None:
    """Nothing is raised for any text; findings are in order and do not overlap."""
    at = 0
    for found in KEYED.redact(text).findings:
        assert at <= found.start < found.end <= len(text)
        at = found.end


@given(examples, texts, texts)
def test_what_stands_around_a_secret_on_other_lines_does_not_hide_it(
    parts: tuple[str, ...], before: str, after: str
) -> None:
    """Invariant: a known secret on lines of its own never survives."""
    text = "".join(parts)
    if before.count("-----BEGIN") or "\0" in before + after or "\\" in before[-2:]:
        return
    out = KEYED(f"{before}\n\n{text}\n\n{after}")
    for secret in parts[1::2]:
        if secret not in before + after and len(secret) > 9:
            assert secret not in out


def test_the_same_secret_has_the_same_placeholder_and_another_key_another() -> None:
    """A summary can say "the same key"; two stores cannot be compared."""
    (first, second) = (redact(f"{word}={TOKEN}").partition("=")[2] for word in ("a", "b"))
    assert first == second
    assert KEYED(f"a={TOKEN}") != f"a={first}"
    assert KEYED(f"a={TOKEN}") == Redactor(RedactionPolicy(key="test"))(f"a={TOKEN}")


def test_a_private_key_becomes_one_fixed_marker() -> None:
    """Nothing of a private key is left, not even a tag."""
    body = "MIIEpAIBAAKCAQEA1u3kYf0qv1Q8sT4uW7xY9zA2\n" * 3
    text = f"x\n-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\ny"
    assert KEYED(text) == "x\n[redacted:private-key]\ny"


def test_a_number_hidden_in_json_gets_quotes_of_its_own() -> None:
    """Only a number can stand outside of a string, so its placeholder must be one."""
    card = "4012888888881881"
    for text in (
        f'{{"pan": {card}, "l": [1, {card}]}}',
        json.dumps(f'{{"pan": {card}, "l": [1, {card}]}}'),
        json.dumps({"text": f"cards [{card}, 1] and {card}, ok"}),
    ):
        out = KEYED(text)
        assert card not in out
        json.loads(out)


def test_a_key_that_begins_and_ends_in_two_strings_does_not_join_them() -> None:
    """BEGIN in one string and END in another leave the JSON between them whole."""
    body = "AIj0jSsi9I0rIgAAAAtzc2gtZWQyNTUxOQAAACBz"
    value = {
        "a": ["-----BEGIN RSA PRIVATE KEY-----"],
        "b": f"{body}\n-----END RSA PRIVATE KEY-----",
    }
    out = KEYED(json.dumps(value))
    assert body not in out
    assert list(json.loads(out)) == ["a", "b"]


def test_an_escape_before_a_secret_goes_as_a_whole_or_stays() -> None:
    """A key without its first line may start with the letter of an escaped line end."""
    body = "MIIEpAIBAAKCAQEA1u3kYf0qv1Q8sT4uW7xY9zA2"
    text = f"machine h login d password asT1T0woqQBHo62\n-- KEY--\n{body}\nafter"
    for depth in range(3):
        out = KEYED(text)
        assert body not in out
        assert "asT1T0" not in out
        for _ in range(depth):
            out = json.loads(out)
        text = json.dumps(text)


def test_code_mode_leaves_bare_assignments_and_nothing_else() -> None:
    """Source-code mode skips only the noisy passes."""
    code = Redactor(RedactionPolicy(key="test", code=True))
    assert code("password = abc123xyz9") == "password = abc123xyz9"
    assert "abc123xyz9" not in KEYED("password = abc123xyz9")
    for text in (
        f"x = {TOKEN}",
        'password = "abc123xyz9"',
        "db://a:abc123xyz9@h",
        "--token abc123xyz9",
    ):
        assert "abc123xyz9" not in code(text)
        assert TOKEN not in code(text)


def test_families_and_kinds_can_be_switched() -> None:
    """Personal data is a family; mentions are off by default; a kind can be kept."""
    text = "call +1 503 757 9372, mail jane.roe@mailhost.org, <@112233445566778899>"
    assert Redactor(RedactionPolicy(personal=False))(text) == text
    assert "<@112233445566778899>" in redact(text)
    assert "112233445566778899" not in Redactor(RedactionPolicy(mentions=True))(text)
    assert "jane.roe@mailhost.org" in Redactor(RedactionPolicy(keep=frozenset({"email"})))(text)
    assert "9372" not in redact(text)


@each_row("keep", [{"email"}, ["email"], ("email",), frozenset({"email"}), "email"])
def test_any_collection_says_what_is_kept(keep: Any) -> None:
    """Policies of equal kinds are equal, however those were given."""
    policy = RedactionPolicy(keep=keep)
    assert policy == RedactionPolicy(keep=frozenset({"email"}))
    assert Redactor(policy)("mail jane.roe@mailhost.org") == "mail jane.roe@mailhost.org"


@each_row("kind", ["emial", "", "Email", "line", "personal"])
def test_a_kind_that_does_not_exist_is_refused(kind: str) -> None:
    """A slip would hide what should stay; and what nobody has read, a whole line, is never kept."""
    with pytest.raises(UnknownName) as raised:
        Redactor(RedactionPolicy(keep={"phone", kind}))
    assert raised.value.name == kind
    assert {"email", "password", "github-token", "api-key"} <= set(raised.value.known)
    if kind == "emial":
        assert raised.value.known[0] == "email"


def test_every_kind_that_is_found_can_be_kept() -> None:
    """What a report names is a kind that exists."""
    every = Redactor(RedactionPolicy(mentions=True))
    texts_of_rules = ["".join(parts) for one in load_examples().values() for parts in one.true]
    found = {one.kind for text in texts_of_rules for one in every.redact(text).findings}
    assert found <= kinds_of(built_in_rules())
    assert {kind_of(name) for name in ("pwd", "jwt", "api", "secret", "key", "x")} == set(FIELDS)
    Redactor(RedactionPolicy(keep=found))


def test_a_vault_restores_what_it_saw_and_nothing_else() -> None:
    """Placeholders come back only through the vault of the redactor that made them."""
    vault = Vault()
    keeper = Redactor(RedactionPolicy(key="test"), vault=vault)
    text = f"curl -H 'Authorization: Bearer {TOKEN}' and password=hunter2024!"
    hidden = keeper(text)
    assert TOKEN not in hidden
    assert vault.restore(hidden) == text
    assert Vault().restore(hidden) == hidden
    assert TOKEN not in repr(vault)
    vault.put("[redacted:x:0000]", "a")
    vault.put("[redacted:x:0000]", "b")
    assert vault.restore("[redacted:x:0000]") == "[redacted:x:0000]"


def test_colours_and_zero_width_characters_are_looked_through() -> None:
    """A code in the middle of a token does not hide it from the rules."""
    for odd in (
        "\x1b[0m\x1b[31m", "\u200b", "\\u001b[0m", "\ufeff", "\x9b31m", "\x1b(B", "\x1b=", "\u202e",
        "\u2068", "\u2069", "\u2060", "\u206f", "\xad", "\u034f", "\u061c", "\u180e", "\U000e0041",
        "\\u2069", "\\u202A", "\\u00ad", "\x1b]8;;http://x\x07",
    ):  # fmt: skip
        out = KEYED(f"say {TOKEN[:20]}{odd}{TOKEN[20:]} now")
        assert TOKEN[6:18] not in out
        assert TOKEN[22:] not in out
        assert out.startswith("say [redacted:")
        assert out.endswith(" now")


def test_a_token_that_is_broken_in_two_is_hidden_on_both_sides() -> None:
    """A line end or a string put together from two does not save a token."""
    for odd in ("\n", "\\n", '" + "', "' '"):
        out = KEYED(f'k = "{TOKEN[:20]}{odd}{TOKEN[20:]}"')
        assert TOKEN[6:18] not in out
        assert TOKEN[22:] not in out


@each_row("gap", [b"\n", b"\\n", b"\r\n"])
def test_what_is_read_before_the_end_of_a_key_is_told(gap: bytes) -> None:
    """The line before it decides; where many had to be read, they are paid for."""
    reads: list[int] = []
    for line in (b"the key ends here", b"A" * 64):
        data = (line + gap) * 400
        key = key_tail(data + b"-----END PRIVATE KEY-----", len(data), 0)
        assert key.span is None
        reads.append(key.read)
    assert reads[0] <= 2 * A_PIECE
    assert reads[1] >= 100 * A_PIECE


def test_an_element_is_no_value_where_a_part_of_it_is_hidden() -> None:
    """A placeholder is shorter than its secret, so what is read of the rest would be another."""
    words = "lorem ipsum " * 30
    secret = "kV9x2Qm7TzR4wL8bkV9x2Qm7"
    text = f"<token> {words} see https://bob:{'swordfish' * 20}@host/ and {secret}</token>"
    once = KEYED(text)
    assert "[redacted:url-password:" in once
    assert KEYED(once) == once
    before = "<token>see [redacted:password:ab12] or that</token>"
    assert KEYED(before) == before


HOSTILE = (
    "a.", "a", "key-", "sk-", "12:34:", "4", "4111 1111 1111 1112 ",
    "-----BEGIN RSA PRIVATE KEY-----\n", "-----END RSA PRIVATE KEY-----\n",
    "\n " * 15 + "\n-----END PRIVATE KEY-----", "A" * 64 + "\n-----END PRIVATE KEY-----\n",
    "postgres://user:pass", "//:", "password=", 'password="',
    "token='token=\"", "authorization: ", "bearer a-", "-eyJ", "curl -u a ", "cookie: a=b; ",
    "a@b.", "+1 2", "\\", "\\u001b[0", "\x1b[0m", "\u200b", '"', "[redacted:",
    "[redacted:key:0123]", "machine a login b ", "name: PASSWORD value", "\0", "\ud800",
    "4012888888881881,", "a\u200b", "AKIA", "ghp_", "xoxb-", "password is ", "<password>",
    "_gitlab_session=", "token-xxxxx:" + "a1b2c3" * 8 + "abc", "EAAA\n", "Q~\n",
    "Cookie: theme=dark; laravel_session=", "Server=h;Uid=a;Pwd=Reach!task",
    "token=Ab3dEf6hIj9lMn2pQr5t\n", "?sig=mZ3kYf0qv1Q8sT4uW7xY9zA2bC4dE6fG8hJ0kL2mN4 ",
    "mytool \\\n  --client-secret \\\n  ", "password=a&", "password=a,b", "password=))", "pass:((",
    "redirect=%3Faccess_token%3DsA9ST7s28eQ%26a%", "+14155550123,", "export DB_PASSWORD=",
    "jane.roe@mailhost.org ", "ghp_a8Bd3Fg7Hj2Kl5Mn9Pq4Rs6Tv1Wx3Yz8Cb2D ", "name='a\",", "set -x ",
    'password" {', "password('", "token 1234567", "echo a|", "</key><string>", "password: |\n ",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_no_input_makes_the_work_grow_faster_than_its_length(
    piece: str, assert_proportion: Callable[..., None]
) -> None:
    """Four times as much of anything takes no more than about four times as long."""
    text = piece * (20_000 // len(piece))
    assert_proportion(partial(KEYED, text), partial(KEYED, text * 4), times=12, plus=0.05)


DENSE = (
    "+14155550123,", "4012888888881881,", "jane.roe@mailhost.org ", "token=Ab3dEf6hIj9lMn2pQr5t\n",
    "Server=h;Uid=a;Pwd=Reach!task", "token='token=\"", "export DB_PASSWORD=",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("chars", [60_000, pytest.param(300_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("piece", DENSE)
def test_a_text_of_nothing_but_secrets_costs_in_proportion_to_its_length(
    piece: str, chars: int, assert_proportion: Callable[..., None]
) -> None:
    """Twice as much of it takes no more than about twice as long: secrets are costly, so
    a text may have many of them but not any number."""

    def redacted(text: str) -> None:
        assert len(KEYED(text)) <= len(text) * 3

    text = piece * (chars // len(piece))
    short, long = partial(redacted, text), partial(redacted, text * 2)
    assert_proportion(short, long, times=3, plus=0.1 * chars / 300_000)


def test_keys_of_one_long_line_cost_in_proportion_to_their_length(
    assert_proportion: Callable[..., None],
) -> None:
    """A private key costs what its length says, also where its body is one long line."""
    key = "PuTTY-User-Key-File-3: ssh-rsa\\n" + "dareboost" * 60 + "? a. "
    assert KEYED(key * 800).count("[redacted:private-key]") == 800
    short, long = partial(KEYED, key * 200), partial(KEYED, key * 800)
    assert_proportion(short, long, times=8, plus=0.02)


@pytest.mark.soak
def test_many_secrets_on_one_line_of_json_leave_json() -> None:
    """Where a line of JSON is hidden as a whole its structure stays, with nothing in it."""
    cards = ["4012888888881881"] * 16_000
    phones = ["+1415555" + str(n) for n in range(1000, 9999)] * 2
    for value in (
        [int(card) for card in cards],
        phones,
        {"a": [{"password": "password=" * 2_000, "n": -1.5e7, "b": [True, None]}]},
    ):
        for text in (json.dumps(value), json.dumps(value, indent=1), json.dumps(json.dumps(value))):
            out = KEYED(text)
            json.loads(out)
            assert KEYED(out) == out
    assert KEYED(json.dumps({"a": ["password=" * 2_000, 7, True]})) == (
        '{"[redacted:line]": ["", 0, true]}'
    )


@each_row("number", ["-5678e900", "1.5678e900", "5678e900"])
def test_a_secret_that_stands_again_parts_no_number(number: str) -> None:
    """A secret is hidden where it stands once more, but not within a number of JSON."""
    out = KEYED(f'{{"password": "5678e900", "again": ["5678e900"], "n": {number}}}')
    assert out.count("[redacted:password:") == (3 if number == "5678e900" else 2)
    json.loads(out)


def test_a_quote_that_is_open_at_the_end_of_a_string_does_not_close_in_the_next() -> None:
    """A value in single quotes never reaches from one string of JSON into another."""
    value: list[Any] = [
        "run with token='",
        {"xx": True},
        "it's s3cr3tpw27",
        {"password": True},
        [],
        17864759,
    ]
    for text in (json.dumps(value), json.dumps(value, separators=(",", ":"))):
        assert len(json.loads(KEYED(text))) == len(value)


def test_a_line_that_costs_too_much_is_hidden_as_a_whole() -> None:
    """The budget fails closed: the line goes, the lines around it stay."""
    text = "before\n" + "password=" * 2_000 + "hunter2hunter2\nafter"
    assert KEYED(text) == "before\n[redacted:line]\nafter"


def test_short_lines_that_all_cost_a_try_are_hidden_in_blocks() -> None:
    """Many lines may cost a little more than they are long, but not all lines of a long text."""
    few = "EAAA\n" * 3_000
    assert KEYED(few) == few
    many = KEYED("before\n" + "EAAA\n" * 50_000)
    assert many.startswith("before\nEAAA\n")
    assert many.count("EAAA") < 12_000
    assert "[redacted:line]" in many


COSTLY = ("glptt-", "ipgeolocation", "smartsheet", "password=", "the password is wrong ", "EAAA")
"""Pieces that cost a try and hide nothing."""


@pytest.mark.soak
@given(
    st.lists(st.sampled_from(COSTLY), min_size=1, max_size=3),
    st.lists(examples, min_size=1, max_size=2),
    st.sampled_from(["", " ", "\n"]),
    st.integers(1, 40),
)
@settings(max_examples=12)
def test_a_text_at_the_edge_of_its_budget_is_stable_too(
    costly: list[str], secrets: list[tuple[str, ...]], joint: str, times: int
) -> None:
    """Secrets that are hidden make a line shorter; what it may cost stays the same."""
    unit = joint.join([*("".join(parts) for parts in secrets), *costly * times])
    text = (unit + joint) * (60_000 // len(unit) + 1)
    once = KEYED(text)
    assert KEYED(once) == once


def test_what_a_redactor_read_before_changes_nothing() -> None:
    """The same text gives the same bytes, whatever came before it."""
    text = "EAAA\n" * 3_000
    redactor = Redactor(RedactionPolicy(key="test"))
    redactor("EAAA" + "x" * 4_000)
    assert redactor(text) == text


def test_what_is_hidden_already_costs_nothing() -> None:
    """A long list of secrets becomes a list of placeholders, and stays one."""
    text = "".join(f"token=Ab3dEf6hIj9lMn2pQr{n:05}\n" for n in range(6_000))
    once = KEYED(text)
    assert once.count("[redacted:token:") == 6_000
    assert "[redacted:line]" not in once
    assert KEYED(once) == once


def test_a_token_within_a_longer_value_does_not_save_the_rest() -> None:
    """A field is hidden to its end, also where a part of it is a secret by itself."""
    for text in (f'password="{TOKEN} Reach!task99"', f"password={TOKEN}:Reach!task99"):
        out = KEYED(text)
        assert TOKEN not in out
        assert "task99" not in out


def test_the_public_names_are_there() -> None:
    """`foldaway.redact` and `foldaway.Redactor` are the ones of this package."""
    assert foldaway.redact is redact
    assert foldaway.Redactor is Redactor


def test_the_end_of_a_key_costs_no_more_after_a_long_word() -> None:
    """What stands before END is read once, also where a long word ends before its line does."""
    seconds: list[float] = []
    for size in (500, 4_000):
        text = ("q" * size + ".\n-----END RSA PRIVATE KEY-----\n\n") * (400_000 // size)
        start = time.process_time()
        assert KEYED(text) == text
        seconds.append(time.process_time() - start)
    assert seconds[1] < 2 * seconds[0] + 0.1


@each_row("line", ["Encryption: none", "Comment: me", "Proc-Type: 4,ENCRYPTED"])
def test_heads_of_keys_without_a_body_cost_in_proportion_to_their_length(line: str) -> None:
    """Where one head follows another, none reads the rest of the text."""
    seconds: list[float] = []
    for size in (100_000, 400_000):
        text = f"PuTTY-User-Key-File-3: ssh-ed25519\n{line}\n" * (size // 50)
        start = time.process_time()
        once = KEYED(text)
        seconds.append(time.process_time() - start)
        assert KEYED(once) == once
    assert seconds[1] < 6 * seconds[0] + 0.1


def test_a_longer_way_to_a_name_costs_no_more_tries() -> None:
    """What a rule finds around a name, and is no secret, is not looked for from every place."""
    seconds: list[float] = []
    for path in ("a", "a" * 40):
        text = f'{path}.password.should == "t' * 6_000
        tries: list[float] = []
        for _ in range(3):
            start = time.process_time()
            KEYED(text)
            tries.append(time.process_time() - start)
        seconds.append(min(tries))
    assert seconds[1] < 4 * seconds[0] + 0.1


@each_row("value", ['password: \\"{}"x\n', '<password>a1{}" </password>\n', 'SecretStr(\\"{}"x\n'])
def test_a_row_of_backslashes_is_read_once(value: str) -> None:
    """Where a string ends is found in proportion to its length, however often it is escaped."""
    seconds: list[float] = []
    for size in (250, 4_000):
        text = value.format("\\" * size) * (60_000 // size)
        start = time.process_time()
        KEYED(text)
        seconds.append(time.process_time() - start)
    assert seconds[1] < 4 * seconds[0] + 0.1
