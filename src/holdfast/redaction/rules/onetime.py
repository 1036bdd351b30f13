"""One-time passwords: the seeds they are made from, and the codes themselves."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_SEED = "JBSWY3DPEHPK3PXP"
_ARGUMENT = r"(?:[A-Za-z_]{1,16}[ ]?[=:][ ]?)?b?\\{0,6}[\"'`]"
_CODE = (
    r"\\{0,6}[\"'`]?(?P<value>[0-9]{6,8}|[0-9]{3}[ -][0-9]{3})"
    r"(?:\\{0,6}[\"'`]|[^\w.%-]|\.\s|\.?$)"
)

RULES: tuple[Rule, ...] = (
    Rule(
        kind="otp-seed",
        family="key",
        anchors=("totp", "hotp", "rotp", "onetimepassword", "authenticator."),
        ignore_case=True,
        inside_word=True,
        # a seed is what such a thing is made of: pyotp.TOTP("…"), ROTP::TOTP.new("…")
        pattern=r"(?:totp|hotp|rotp|onetimepassword|authenticator\.)(?:[A-Za-z_]{0,24}(?:\.|::|->)){0,3}[A-Za-z_]{0,24}"
        rf"\(\s{{0,16}}\{{?\s{{0,16}}{_ARGUMENT}(?P<value>[A-Z2-7a-z][A-Z2-7a-z =-]{{7,127}})"
        r"\\{0,6}[\"'`]",
        gate="seed",
        true=(
            ("pyotp.TOTP('", _SEED, "')"),
            ('pyotp.totp.TOTP("', _SEED.lower(), '", digits=8)'),
            ('ROTP::TOTP.new("', "base32secret3232", '")'),
            ('gotp.NewDefaultHOTP("', _SEED, '")'),
            ("TOTP::createFromSecret('", _SEED, "')"),
            ('totp.GenerateCode("', _SEED, '", time.Now())'),
            ('new Totp("', _SEED, '")'),
            ("authenticator.generate('", _SEED, "')"),
            ("speakeasy.totp({ secret: '", _SEED, "' })"),
        ),
        false=(
            "totp.verify('not a code')", "pyotp.TOTP(secret)", "TOTP('secret')",
            'hotp.Validate("password")',
        ),
    ),
    Rule(
        kind="otp-seed",
        family="command",
        anchors=("oathtool ",),
        pattern=r"oathtool [^\r\n\x00|]{0,80}?(?:^|[ ])(?P<value>[A-Z2-7a-z0-9]{16,128}={0,6})",
        gate="mixed",
        true=(("$ oathtool --totp -b ", _SEED, "\n"),),
        false=("oathtool --totp -b $SEED", "oathtool prints the code of a seed"),
    ),
    Rule(
        kind="otp",
        family="key",
        anchors=("otp", "2fa", "mfa", "two_factor", "twofactor", "two-factor"),
        ignore_case=True,
        inside_word=True,
        pattern=r"(?:otp|2fa|mfa|two[_-]?factor)(?:[_ -]?(?:auth|sms|email|user|login))?"
        r"(?:[_ -]?(?:code|token|pin|pass|passcode|password|value|attempt|response))?"
        r"(?:\\{0,6}[\"'`])?\]?\)?(?:[ \t]{0,4}(?::=|={1,3}>?|!=|:|,)[ \t]{0,4}"
        r"|[ \t]{1,2}(?:is|was):?[ \t]|[ \t])"
        + _CODE,
        gate="code",
        open_end=True,
        true=(
            ("'otp': '", "492039", "'"), ("--otp=", "492039", " "), ("--otp ", "492039", " "),
            ('"mfa_code": "', "492039", '"'), ("X-GitHub-OTP: ", "492039", "\n"),
            ("The OTP is ", "492039", ". Do not give it away"), ('{"otp": ', "492039", "}"),
            ("assert totp == '", "260182", "'"), ("twoFactorToken: '", "926 301", "'"),
            ("otp_code=", "492039", "&next=1"),
        ),
        false=(
            "otp_timeout = 300000", "mfa_id: 120394", "otp=000000", "notpresent 123456",
            "otp: 12.345678", "the hotplug 123456", "mfa 2024-01-02",
        ),
    ),
    Rule(
        kind="otp",
        family="key",
        anchors=("otp.", "verifycode", "verify_code", "check_otp", "verify_otp"),
        ignore_case=True,
        inside_word=True,
        # totp.verify("…"), hotp.at(0) # => "…"
        pattern=r"(?:otp\.[A-Za-z_]{1,24}|verify_?code|(?:check|verify)_otp)\("
        r"(?:[^\r\n\x00()]{0,60}?\\{0,6}[\"'`](?P<value>[0-9]{6,8})\\{0,6}[\"'`])",
        gate="code",
        true=(
            ("totp.verify('", "492039", "')"), ("hotp.verify(otp='", "316439", "', counter=0)"),
            ("$g->verifyCode($seed, '", "123987", "')"),
        ),
        false=("totp.now()", "totp.at(1234567890)", "otp.verify(code)"),
    ),
    Rule(
        kind="otp",
        family="key",
        anchors=("otp.",),
        ignore_case=True,
        inside_word=True,
        pattern=r"otp\.[A-Za-z_]{1,24}\([^\r\n\x00()]{0,60}\);?[ \t]{0,8}"
        r"(?:(?:#|//|--)[ \t]{0,2}(?:=>|->|prints|returns)?|==|,)[ \t]{0,2}[\"'`]?"
        r"(?P<value>[0-9]{6,8})\b",
        gate="code",
        true=(
            ("totp.now() # => '", "492039", "'"), ("hotp.at(0); // => ", "260182", "\n"),
            ('assert.equal(totp.at(1), "', "194287", '")'), ("totp.at(59) == '", "946872", "'"),
        ),
        false=("totp.at(now) # see 12", "otp.verify(x) == True"),
    ),
    Rule(
        kind="otp",
        family="prose",
        anchors=("verification", "passcode", "security code", "authentication code", "login code",
                 "one-time", "one time"),
        ignore_case=True,
        inside_word=True,
        pattern=r"(?:(?:verification|security|authentication|login)[_ -]?code|passcode"
        r"|one[- ]time[_ -](?:code|password|passcode|pin))(?:\\{0,6}[\"'`])?\]?"
        r"(?:[ \t]{0,4}(?:={1,3}>?|:|,)[ \t]{0,4}|[ \t](?:is|was):?[ \t])"
        + _CODE,
        gate="code",
        open_end=True,
        true=(
            ("Your verification code is ", "492039", "\n"), ("verification_code: '", "492039", "'"),
            ("one-time password: ", "926301", "\n"), ('"verificationCode": "', "918273", '"'),
        ),
        false=("verification code: 000000", "verification_code: 12", "a security code is 6 digits"),
    ),
)  # fmt: skip
