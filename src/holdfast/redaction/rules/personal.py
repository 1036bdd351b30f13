"""Personal data: telephone, social security, card and account numbers, e-mail addresses."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        kind="card-number",
        family="personal",
        anchors=(),
        pattern=r"[2-6]\d{3}[ -]?\d{4}[ -]?\d{4}[ -]?\d{1,7}|3[47]\d{2}[ -]?\d{6}[ -]?\d{5}",
        gate="luhn",
        not_after=r"(?:order|invoice|ref|ticket|tracking|serial|bl(?:oc)?k|request|trace|span|session"
        r"|build|job|ts|time(?:stamp)?|[^a-z]id)[ #:=\"'_-]{0,4}",
        true=(
            ("card ", "5195 3610 0662 8556", " exp 12/28"),
            ('"pan":"', "6011271646697905", '"'),
            ("amex ", "3782 822463 10005", ""),
        ),
        false=("order 5195361006628557", "order 4440629569417351", "blk_4440629569417351",
               '"id": 4440629569417351', "ts=4703933619123456", "id 1234567890123456"),
    ),
    Rule(
        kind="card-number",
        family="personal",
        anchors=(),
        ignore_case=True,
        pattern=r"(?:card|pan|credit|paid|visa|amex"
        r"|diners)[^0-9\r\n\x00]{0,23}[^0-9\r\n\x00.+-](?P<value>\d{13,19})",
        gate="card",
        true=(("Paid with ", "3400553698465877", " ok"),),
        false=("card 3400553698465876", '{"pan": -3400553698465877}', "pan 3400553698465877.5"),
    ),
    Rule(
        kind="phone",
        family="personal",
        anchors=(),
        pattern=r"\(\d{3}\)[ .-]?\d{3}[ .-]\d{4}|\d{3}[.-]\d{3}[.-]\d{4}"
        r"|\+\d{1,3}[ .-]?(?:\(0?\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,9}){1,4}",
        gate="phone",
        true=(
            ("Phone: ", "957-974-2084", ", ask for Bob"),
            ("Phone: ", "+49 30 942844", ", ask for Bob"),
            ("call ", "+1 503 757 9372", " now"),
            ("call ", "(503) 757-9372", " now"),
            ("tel ", "+14155550123", ""),
        ),
        false=("10.0.0.1 port 22", "2024-01-02 03:04:05", "ts=1703933619", "@@ -12,7 +12345,8 @@",
               "1.2.3-456-7890.x", "offset +0200"),
    ),
    Rule(
        kind="social-security-number",
        family="personal",
        anchors=(),
        pattern=r"\d{3}-\d{2}-\d{4}",
        gate="ssn",
        true=(("SSN ", "536-22-8726", "."),),
        false=("000-12-3456", "2024-01-2000", "1536-22-8726"),
    ),
    Rule(
        kind="iban",
        family="personal",
        anchors=(),
        pattern=r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?",
        gate="iban",
        true=(("IBAN ", "DE89 3704 0044 0532 0130 00", ""), ("to ", "GB29NWBK60161331926819", "")),
        false=("DE00 3704 0044 0532 0130 00", "AB12CD34EF56AB12"),
    ),
    Rule(
        kind="email",
        family="personal",
        anchors=(),
        needs="@",
        pattern=r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,255}"
        r"@(?:[A-Za-z0-9][A-Za-z0-9-]{0,99}\.){1,5}[A-Za-z]{2,18}",
        pivot="@",
        gate="email",
        # who wrote something and says so is known; only a name stands between
        not_after=r"(?:authors?|maintainers?|copyright|\(c\)|\xc2\xa9|contributors?|written by"
        r"|[a-z]-by|modified by|licen[cs]or|__e?mail__)[^\r\n]{0,72}",
        true=(("From: Jane <", "jane.roe@mailhost.org", ">"),
              ("the author of the letter\n", "jane.roe@mailhost.org", " asked"),
              # domains that look like samples and are not reserved
              ("to ", "boss@company.com", ""), ("", "alice@foo.com", ","), ("", "jane@163.com", ""),
              ("cc ", "jane@your-domain.co.uk", " "), ("", "jane@example.io", ""),
              ("", "jane@test.de", ""), ("", "me@acme.org", "")),
        false=(
            "# Author: Jane Roe <jane.roe@mailhost.org>", '__author_email__ = "jane@mailhost.org"',
            "Signed-off-by: Jane Roe <jane.roe@mailhost.org>",
            "Copyright (c) 2020 Jane Roe, jane.roe@mailhost.org",
            "git@github.com:a/b.git", "a@example.com", "x@2x.png", "a@mail.example.org", "a@b.test",
            "user@localhost",
            "49699333+dependabot[bot]@users.noreply.github.com",
            "ssh ubuntu@ec2-3-4.compute.amazonaws.com", "--mail-from src@mailhost.org",
            "a@b.example", "a@host.invalid", "a@b.localhost", "chacha20-poly1305@openssh.com",
            "lodash@4.17.beta",
        ),
    ),
)  # fmt: skip
