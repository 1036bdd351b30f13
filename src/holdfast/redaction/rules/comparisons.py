"""Secrets that code compares with a field: `if ("…" == password)`."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        kind="password",
        family="field",
        anchors=('" ==', "' ==", '" !=', "' !="),
        before=130,
        inside_word=True,
        open_end=True,
        ignore_case=True,
        pattern=r"[\"'](?P<value>[^\"'\r\n\x00]{3,128})[\"'] [!=]={1,2} "
        r"(?:[a-z_.$]{0,32}[._])?(?:password|passwd|passphrase|pwd|secret|token|api_?key)(?:[^a-z]|$)",
        gate="given",
        true=(
            ('if ("', "Reach!task99", '" == password) {'),
            ('assert "', "tiger", '" == u.password'),
            ("if '", "s3cr3tpw27", "' != user.secret:"),
        ),
        false=(
            'if "password" == token_type:',
            "if 'none' == password:",
            'if x["algorithm"] == password',
            'if "sha256-v2" == self.kind:',
        ),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=('".equals(', "'.equals("),
        before=130,
        inside_word=True,
        open_end=True,
        ignore_case=True,
        pattern=r"(?:[\"'](?P<value>[^\"'\r\n\x00]{6,128})[\"']\.equals\("
        r"(?:[a-z_.$]{0,32}[._])?(?:password|passwd|passphrase|pwd|secret|token|api_?key)\))",
        gate="password",
        true=(('if ("', "Reach!task99", '".equals(password)) {'),),
        false=('"password".equals(token)', '"none".equals(kind)', "strcmp(password, input)"),
    ),
)
