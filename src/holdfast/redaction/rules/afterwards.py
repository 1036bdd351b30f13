"""Secrets whose name stands after them, in a comment at the end of the line."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_NAMES = (
    r"(?:api[ _-]?key|(?:access|auth|secret|private|signing)[ _-]?key|token|secret|passw(?:or)?d)"
)
_COMMENTS = tuple(
    f"{sign}{word}"
    for sign in ("// ", "# ", "-- ", "/* ")
    for word in (
        "api",
        "token",
        "secret",
        "passw",
        "access",
        "auth",
        "private",
        "your",
        "my",
    )
)

RULES: tuple[Rule, ...] = (
    Rule(
        kind="secret",
        family="field",
        anchors=_COMMENTS,
        before=214,
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"[\"'`](?P<value>[A-Za-z0-9_.+/=~-]{20,200})\\{0,6}[\"'`][),;\] \t]{0,8}"
        rf"(?://|#|--|/\*) ?(?:[a-z]{{1,16}} ){{0,3}}?{_NAMES}",
        gate="unnamed",
        true=(
            ('client := zentrix.New("', "mF9B5f41JqM8Zq2TxWab", '") // API key\n'),
            ("    '", "4e1243bd22c66e76c2ba9eddc1f91394", "',  # my zentrix token\n"),
        ),
        false=(
            'name = "create_access_token_for_user_v2"  # token',
            '"4e1243bd22c66e76c2ba9eddc1f91394"  # the commit',
            'x = load("a/b/c.json")  # api keys',
        ),
    ),
)
