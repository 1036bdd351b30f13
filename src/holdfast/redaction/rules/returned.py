"""Passwords that code gives back, takes where nothing is given, types into a form or sends."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_Q = r"\\{0,6}[\"'`]"
_VALUE = rf"b?{_Q}(?P<value>[^\"'`\r\n\\\x00]{{3,80}}){_Q}"
_NAMES = ("password", "passwd", "passphrase", "secret")
_NAME = r"(?:password|passwd|passphrase|secret)"

RULES: tuple[Rule, ...] = (
    Rule(
        kind="password",
        family="field",
        anchors=tuple(f"{name}{end}" for name in _NAMES for end in ("()", "(self)", "(this)")),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=rf"{_NAME}\((?:self|this)?\)[^\r\n\"'`;=()\x00]{{0,40}}?(?::|\{{|=>)\s{{0,40}}return\s{{1,4}}"
        rf"{_VALUE}",
        gate="chosen",
        true=(
            ('def get_password(self):\n        return "', "tiger", '"'),
            ('public String getPassword() { return "', "tiger", '"; }'),
            ('func (c C) Password() string { return "', "tiger", '" }'),
        ),
        false=(
            "def password(self): return self._password", 'getPassword() { return "password"; }',
            'def check_password(self):\n    return "Invalid password"',
        ),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=(
            ".thenreturn(", ".and_return(", ".returns(", "return_value=", "return_value =",
            ".mockreturnvalue(", ".mockresolvedvalue(", ".willreturn(",
        ),
        before=60,
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # what a test lets a call give back
        pattern=rf"{_NAME}[\w()\[\]\"' .:=]{{0,40}}?(?:\.thenreturn\(|\.and_return\(|\.returns\("
        r"|return_value ?= ?|\.mock(?:return|resolved)value\(|\.willreturn\()\s{0,8}"
        rf"{_VALUE}",
        gate="chosen",
        true=(
            ('when(x.getPassword()).thenReturn("', "tiger", '");'),
            ('allow(x).to receive(:password).and_return("', "tiger", '")'),
            ('mock.password = PropertyMock(return_value="', "tiger", '")'),
        ),
        false=('when(x.getName()).thenReturn("tiger")', "get_password.return_value = pw"),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=tuple(f"{name}{end}" for name in _NAMES for end in (") {", " {", ") do")),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # what Ruby evaluates later
        pattern=rf"{_NAME}\)? ?(?:\{{|do)\s{{0,8}}{_VALUE}\s{{0,8}}(?:\}}|end)",
        gate="chosen",
        true=(('let(:password) { "', "tiger", '" }'), ("password { '", "tiger", "' }")),
        false=("let(:password) { build(:x) }", 'password { "password" }',
        "if (password) { 'x1'; }"),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=tuple(f"{name}{quote}," for name in _NAMES for quote in ('"', "'")),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # add_argument("--password", default="…")
        pattern=rf"{_NAME}[\"'],[^()\[\]{{}}\x00]{{0,120}}?\bdefault ?= ?{_VALUE}",
        gate="chosen",
        true=(
            ('parser.add_argument("--password", default="', "tiger", '")'),
            ("parser.add_option('-p', '--password', dest='x', default='", "tiger", "')"),
        ),
        false=('add_argument("--password", default=None)', 'option("--password", default="")'),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=(
            "users = {", "users={", "users: {", "users = (", "users = [", "users: [", "users={{",
            "credentials = {", "credentials: {", "accounts = {",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # a user and his password, the first of a map or of a list of pairs
        pattern=r"(?:users|credentials|accounts) ?[=:] ?[{\[(]\s{0,24}[({\[]?\s{0,8}"
        rf"{_Q}?[A-Za-z][\w.@-]{{0,39}}{_Q}?\s?(?::|,|=>)\s?{_VALUE}",
        gate="mixed",
        true=(
            ('users = {"bob": "', "tiger22", '"}'), ("VALID_USERS = (('bob', '", "tiger22", "'),)"),
            ("basicAuth({users: {'bob': '", "tiger22", "'}})"),
        ),
        false=('users = {"bob": "admin"}', "users = {}", 'users = [("bob", 22)]'),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=(
            ".sendkeys(", ".send_keys(", ".fill(", ".type(", ".setvalue(", ".settext(",
            "').val(", '").val(', "').set(", '").set(', "').value =", '").value =', "target: {",
        ),
        before=70,
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # a field of a form by its variable, or by its selector in other words for filling it in
        pattern=r"(?:[A-Za-z_$][\w$.]{0,24}?)?(?:password|passwd|pwd)\w{0,12}"
        rf"(?:\.(?:send_?keys|fill|type|setvalue|settext)\(|{_Q}\)\.(?:val|set)\(|{_Q}\)\.value ?="
        rf" ?"
        rf"|{_Q}?\)?, ?\{{ ?target: ?\{{ ?value: ?){_VALUE}",
        gate="chosen",
        true=(
            ('passwordField.sendKeys("', "tiger", '");'), ('$("#password").val("', "tiger", '")'),
            ('document.getElementById("password").value = "', "tiger", '"'),
            ("fireEvent.change(passwordInput, {target: {value: '", "tiger", "'}})"),
        ),
        false=('nameField.sendKeys("tiger")', '$("#password").val("")', "passwordField.fill(pw)"),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=(".type(", ".fill("),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"\.(?:type|fill)\((?:[A-Za-z_$][\w$.]{0,24}?)?(?:password|passwd|pwd)\w{0,12},\s{0,8}"
        rf"{_VALUE}",
        gate="chosen",
        true=(("userEvent.type(passwordInput, '", "tiger", "')"),),
        false=("userEvent.type(nameInput, 'tiger')", "userEvent.type(passwordInput, pw)"),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=("PASS ", "AUTH "),
        inside_word=True,
        open_end=True,
        # lines of protocols, with their end as strings have it
        pattern=r"(?:PASS|AUTH) (?P<value>[^\s\"'\\\x00<>%{}$]{3,64})\\{1,2}r",
        gate="chosen",
        true=(('s.sendall(b"PASS ', "tiger", '\\r\\n")'), ('"AUTH ', "tiger", '\\r\\n"')),
        false=("PASS tests/test_a.py", 'b"PASS %s\\r\\n"', '"AUTH PLAIN\\r\\n"'),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=(" LOGIN ",),
        inside_word=True,
        open_end=True,
        pattern=r" LOGIN \\{0,2}\"?[\w.@+-]{1,64}\\{0,2}\"? \\{0,2}\"?(?P<value>[^\s\"'\\\x00<>%{}"
        r"$]{3,64})"
        r"(?:\\{1,2}r|\\{0,2}\"|\r?\n|$)",
        gate="mixed",
        true=(("a001 LOGIN bob ", "tiger22", "\n"), ('a1 LOGIN "bob" "', "tiger22", '"')),
        false=("CREATE ROLE bob LOGIN PASSWORD $1\n", "WITH LOGIN NOSUPERUSER INHERIT\n"),
    ),
    Rule(
        kind="password",
        family="prose",
        anchors=(
            "password**", "**password:**", "passwd**", "| password |", "|password|",
            "password</td>", "password</th>", "password <-", "secret <-", "password in (",
            "password in [",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # documents and tables; R; loops over some
        pattern=r"(?:\*{0,2}passw(?:or)?d(?:\*\*:|:\*\*|\*\*) ?[`\"*]{1,3}|\| ?password ?\| ?`?"
        r"|password</t[dh]>\s{0,16}<td[^<>\x00]{0,40}>\s{0,8}(?:<code>)?|(?:password|secret) <- ?["
        r"\"']"
        r"|password in [\[(]\s?b?[\"'])(?P<value>[^\s\"'`*|<>()\\\x00]{3,64})[\"'`*|< ]",
        gate="mixed",
        true=(
            ("* **Password**: `", "tiger22", "`"), ("| password | ", "tiger22", " |"),
            ("<td>Password</td><td>", "tiger22", "</td>"), ('password <- "', "tiger22", '"'),
            ('for password in ("', "tiger22", '", x):'),
        ),
        false=(
            "| password | string |", "* **Password**: `string`", "| password | varchar(255) |",
            "<td>Password</td><td>required</td>", "if password in ('a', 'b'):",
        ),
    ),
)  # fmt: skip
