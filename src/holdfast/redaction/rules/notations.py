"""Secrets that stand apart from their name: in forms, CDATA, pairs, what a command prints."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_NAMES = r"(?:password|passwd|passphrase|pwd|secret|token|api_?key)"
_LINE = r"(?:\r?\n|\\{1,3}r\\{1,3}n|\\{1,3}n)"
_HEADER = rf"(?:{_LINE}content-[a-z-]{{4,20}}: [^\r\n\\\x00]{{1,80}})?"

RULES: tuple[Rule, ...] = (
    Rule(
        kind="password",
        family="field",
        anchors=('form-data; name="', 'form-data; name=\\"'),
        ignore_case=True,
        open_end=True,
        pattern=rf"form-data; name=\\{{0,6}}\"[\w.\[-]{{0,40}}{_NAMES}[\w.\]-]{{0,16}}\\{{0,6}}\""
        rf"{_HEADER}{_LINE}{_LINE}(?P<value>[^\s\\\x00\"]{{4,256}})",
        gate="real",
        true=(
            ('form-data; name="password"\r\n\r\n', "s3cr3tpw27", "\r\n--x"),
            ('form-data; name=\\"api_key\\"\\r\\n\\r\\n', "s3cr3tpw27", "\\r\\n--x"),
        ),
        false=('form-data; name="file"\r\n\r\ns3cr3tpw27\r\n', 'form-data; name="token"\r\n\r\n'),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=("<![cdata[",),
        before=96,
        inside_word=True,
        open_end=True,
        ignore_case=True,
        pattern=rf"<[\w:.-]{{0,40}}{_NAMES}(?: [^<>]{{0,40}})?>\s{{0,8}}"
        r"<!\[cdata\[\s{0,8}(?P<value>[^\]\s<>\x00]{4,256})\s{0,8}\]\]>",
        gate="password",
        true=(("<Password><![CDATA[", "s3cr3tpw27", "]]></Password>"),),
        false=("<title><![CDATA[s3cr3tpw27]]></title>", "<token><![CDATA[x]]></token>"),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=("echo $", 'echo "$', "echo ${", "printenv ", "cat "),
        open_end=True,
        # what is printed is all of the next line
        pattern=r"(?:(?:echo \"?\$\{?|printenv )(?:[A-Z][A-Z0-9_]{0,40}_)?"
        r"(?:PASSWORD|PASSWD|PASSPHRASE|PASS|SECRET|TOKEN|KEY)\}?\"?"
        r"|cat [\w./~-]{0,120}(?:password|passwd|secret|token|api_?key)[\w-]{0,16}(?:\.txt)?)"
        r"[ \t]{0,4}(?:\r?\n|\\{1,3}n)(?P<value>[A-Za-z0-9!-~]{8,200}?)(?:\r?\n|\\{1,3}n|$|\")",
        gate="bare",
        true=(
            ("$ echo $DB_PASSWORD\n", "hunter2024x", "\n$ ls"),
            ("$ cat /run/secrets/db_password\n", "Reach!task99", "\n"),
            ("% printenv API_KEY\n", "mF9B5f41JqM8Zq2T", "\n"),
        ),
        false=(
            "echo $API_TOKEN\nexport PATH=/usr/bin\n", "cat token\ncat: token: no such file\n",
            "cat secrets\nREADME.md\n", "cat tokens.txt\nhello\n",
        ),
    ),
    Rule(
        kind="password",
        family="prose",
        anchors=("login: ", "credentials", "creds", "log in with ", "login with ", "sign in with "),
        ignore_case=True,
        open_end=True,
        # user / password, or that of a user whose name one knows
        pattern=r"(?:login:|(?:credentials|creds)(?: are| is)?:?|(?:log ?in|sign in) with)"
        r"\s{1,2}[\"'`]?(?:[\w.@-]{2,64}[\"'`]? / "
        r"|(?:admin|root|administrator|test|guest|user|demo)/)[\"'`]?(?P<value>[^\s\"'`\\/\x00]{6,64})",
        gate="bare",
        true=(
            ("login: bob / ", "Reach!task99", "\n"),
            ("credentials are admin/", "Reach2024", " for now"),
        ),
        false=(
            "login: success / 200 OK", "credentials are read from config/prod2024",
            "sign in with google / github2", "login with admin/operator",
        ),
    ),
    Rule(
        kind="salt",
        family="field",
        anchors=("define(",),
        open_end=True,
        # keys of WordPress: any characters, blanks too
        pattern=r"define\(\s{0,4}[\"'][A-Z_]{0,24}(?:_KEY|_SALT)[\"'],\s{0,16}"
        r"(?:'(?P<value>[^'\r\n\x00]{40,128})')",
        gate="real",
        true=(("define('AUTH_KEY', '", "mF9 B5f41|JqM8Zq2T xWab;" * 2, "');"),),
        false=("define('AUTH_KEY', 'put your unique phrase here, and make it a long one');",),
    ),
)  # fmt: skip
