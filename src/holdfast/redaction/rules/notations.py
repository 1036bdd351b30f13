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
        family="field",
        anchors=('type="password"', "type='password'", 'type=\\"password\\"'),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # a form that is filled in already
        pattern=r"type=\\{0,2}[\"']password\\{0,2}[\"'][^<>\x00]{0,200}?\svalue=\\{0,2}[\"']"
        r"(?P<value>[^\"'<>\r\n\\\x00]{3,80})\\{0,2}[\"']",
        gate="chosen",
        true=(('<input type="password" name="p" value="', "tiger", '"/>'),),
        false=('<input type="password" name="p" value=""/>',
        '<input type="password" value="{{ pw }}">'),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=("<password ", ":password ", "<secret ", ":secret ", "<passwd ", "<passphrase "),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # a tag with attributes
        pattern=r"[<:](?:password|passwd|passphrase|secret) [A-Za-z][\w:.-]{0,30}=[^<>\x00]{1,200}>"
        r"\s{0,8}(?P<value>[^\s<>\x00]{3,128})\s{0,8}</",
        gate="given",
        true=(('<wsse:Password Type="x#PasswordText">', "tiger", "</wsse:Password>"),),
        false=('<Password Type="x">{{ pw }}</Password>', '<password id="a">password</password>'),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=("password:: ", "passwd:: ", "secret:: "),
        ignore_case=True,
        inside_word=True,
        # LDIF: what follows two colons is base64
        pattern=r"(?:password|passwd|secret):: (?P<value>[A-Za-z0-9+/]{6,400}={0,2})",
        gate="real",
        true=(("userPassword:: ", "e1NTSEF9RGtNVHdCbCthLzNEUVR4", "\n"),),
        false=("token::Password:: of", "password:: <base64>"),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=(
            "app password", "app_password", "apppassword", "app-password", "app pw", "gmail",
            "mail_pass", "mailpass", "smtp_pass", "smtppass", "email_pass", "mail password",
        ),
        ignore_case=True,
        inside_word=True,
        # what a mailbox gives an app: sixteen letters in groups of four
        pattern=r"(?:app[ _-]?(?:password|pw)|gmail[\w .-]{0,16}pass|(?:e?mail|smtp)[ _]?pass)[\w "
        r".()-]{0,24}[\"'`*]{0,2}"
        r"(?:\s{0,4}[:=]{1,2}>?\s{0,4}| is:? )\\{0,6}[\"'`*]{0,2}(?P<value>(?-i:[a-z]{4} [a-z]{4} "
        r"[a-z]{4} [a-z]{4}))"
        r"(?:[\"'`*.,;)\\\r\n]|$)",
        open_end=True,
        gate="any",
        true=(
            ("app password: ", "abqd efgh ijkz mnop", "\n"),
            ('GMAIL_APP_PASSWORD="', "abqd efgh ijkz mnop", '"'),
            ("my gmail app password is ", "abqd efgh ijkz mnop", "."),
        ),
        false=("app password: then open your mail again", "gmail is what they also have"),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=("--password ", "--passphrase ", "--passwd ", " -u "),
        inside_word=True,
        open_end=True,
        # a word between two flags is no prose
        pattern=r"(?:--(?:password|passphrase|passwd) |(?: )-u [\w.@-]{1,64} -p ?)"
        r"[\"']?(?P<value>[A-Za-z0-9!@#%^*_+.][A-Za-z0-9!@#%^*_+.-]{2,60}[A-Za-z!@#%^*_+-])[\"']? "
        r"-{1,2}[A-Za-z]",
        gate="chosen",
        true=(
            ("gpg --passphrase ", "tiger", " -d x"), ("tool -u bob -p ", "tiger", " --verbose"),
            ("tool --password ", "swordfish", " --user bob"),
        ),
        false=(
            "use --password or --token", "tool -u bob -p 8080 -x", "--password and --user",
            "tool -u bob -p 2222 -o x",
        ),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=("ENV ",),
        open_end=True,
        pattern=r"ENV [A-Z0-9_]{0,40}(?:PASSWORD|PASSWD|PASSPHRASE)[ \t]{1,4}"
        r"(?P<value>[A-Za-z0-9!@#%^*_+.-]{3,64})[ \t]{0,4}(?:\r?\n|$)",
        gate="chosen",
        true=(("ENV DB_PASSWORD ", "tiger", "\n"),),
        false=("ENV DB_PASSWORD password\n", "ENV DB_PASSWORD $X\n", "ENV PASSWORD is not set\n"),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=(".write_text(", ".write_bytes("),
        before=90,
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # a file that is called what it holds
        pattern=r"[\"'][\w./-]{0,40}(?:password|passwd|passphrase|token|secret|api_?key)(?:\.txt)?[\"']"
        r"\)?\.write_(?:text|bytes)\(b?[\"'](?P<value>[^\"'\r\n\\\x00]{3,80})(?:\\n)?[\"']",
        gate="chosen",
        true=(
            ("(tmp_path / 'password').write_text('", "tiger", "')"),
            ('Path("a/api_key.txt").write_text("', "tiger2", '\\n")'),
        ),
        false=("(tmp_path / 'token').write_text(token)", "(p / 'name').write_text('tiger')"),
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
