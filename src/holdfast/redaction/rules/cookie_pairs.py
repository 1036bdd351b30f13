"""Cookies that code sets or compares, as a name and its value."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_Q = r"\\{0,6}[\"'`]"
_NAME = (
    rf"{_Q}?[\w.-]{{0,32}}(?:sess(?:ion)?(?:_?id)?|sid|token|auth|jwt|csrf|xsrf|remember(?:_me)?)"
    rf"[\w.-]{{0,12}}{_Q}?"
)
_VALUE = rf"{_Q}(?P<value>[^\s\"'`\\\x00;]{{4,1000}}){_Q}"
_PAIR = rf"{_Q}?[\w.-]{{1,40}}{_Q}?\s?[:=]\s?{_Q}[^\"'`\r\n\\\x00]{{0,200}}{_Q},\s{{1,24}}"

RULES: tuple[Rule, ...] = (
    Rule(
        kind="cookie",
        family="header",
        anchors=("cookies=", "cookies =", "cookies:", 'cookies":', "cookies':"),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"cookies[\"']?\s?[:=]\s?(?:dict\(|\{)\s{0,24}"
        rf"(?:{_PAIR}){{0,4}}?{_NAME}\s?[:=]\s?{_VALUE}",
        gate="chosen",
        true=(
            ('client.get(url, cookies={"session": "', "test123", '"})'),
            ("cookies = {'theme': 'dark', 'sessionid': '", "k3jh4k5", "'}"),
            ('cookies=dict(auth_token="', "k3jh4k5", '")'),
        ),
        false=(
            'cookies={"theme": "dark"}', 'cookies={"session": session}',
            'cookies={"session": "session"}', "cookies: {session: 'lax'}x",
        ),
    ),
    Rule(
        kind="cookie",
        family="header",
        anchors=(
            "cookie(", "cookies.set(", "cookies.get(", "cookiejar.set(", "cookies[",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"cookie(?:s|jar)?(?:\.set\(|\.get\(|\(|\[)\s{0,16}"
        rf"{_NAME}(?:,\s{{0,16}}|\)? ?[!=]?={{1,2}} ?|[\])] ?[!=]?={{1,2}} ?){_VALUE}",
        gate="chosen",
        true=(
            ('client.set_cookie("session", "', "abc4567", '")'),
            ('client.cookies.set("sessionid", "', "k3jh4k5", '")'),
            ("req.cookies['sid'] = '", "k3jh4k5", "'"),
            ('assert r.cookies.get("session") == "', "test123", '"'),
            ('new Cookie("JSESSIONID", "', "k3jh4k5", '")'),
        ),
        false=(
            'set_cookie("lang", "en-US")', 'set_cookie("session", session)',
            'cookies.get("session", "default")', 'cookie("session_path", "/")',
        ),
    ),
)  # fmt: skip
