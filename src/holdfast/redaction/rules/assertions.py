"""Passwords that a test expects: `assertEqual(c.password, "…")`, `expect(u.password).toBe("…")`."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_WORDS = ("password", "passwd", "passphrase", "pwd", "secret", "secret_key", "secretkey")
_WORD = r"(?:password|passwd|passphrase|pwd|secret(?:_?key)?)"
_PATH = rf"[\w.$@&*!:>\[\]\"'()-]{{0,60}}?{_WORD}"
"""What leads to a field, and its name."""
_END = r"(?:\(\)|\\{0,6}[\"']\]|\(\)\.unwrap\(\)|\.(?:value|get\(\)|to_s|clone\(\)))?"
_ASSERT = (
    r"(?:assert(?:[._]?(?:strict|deep|are|is|not|almost)?_?equals?|_?eq!?|[._]same|same|that|[._]is)"
    r"|require\.equal(?:values)?|expect_eq|assert_eq!?|expect\w{0,8}|t\.(?:is|equal|deepequal)"
    r"|check[._]?equals?|(?:must|should)[._]equal|(?:cl_|ck_|g_)?assert_(?:str(?:ing)?_?)?(?:equals?|eq|cmpstr)"
    r"(?:_[a-z]{1,3})?|(?:expect|assert)_str(?:case)?eq|xctassertequal|is(?:_deeply)?)[( ]\s{0,24}"
)
_TEST = r"(?:\w{1,8},\s{0,24})?"
"""The test itself, which Go gives first."""
_WRAP = r"(?:some\(|is\(|equalto\(|eq\(|b|u)?"
_VALUE = r"\\{0,6}[\"'`](?P<value>[^\"'`\r\n\\\x00]{3,80})\\{0,6}[\"'`]"

RULES: tuple[Rule, ...] = (
    Rule(
        kind="password",
        family="field",
        anchors=tuple(
            f"{word}{end}" for word in _WORDS
            for end in (", ", ",\n", "(), ", '"], ', "'], ", ".unwrap(), ", "().unwrap(), ")
        ),
        before=110,
        inside_word=True,
        open_end=True,
        ignore_case=True,
        pattern=rf"{_ASSERT}{_TEST}{_PATH}{_END},\s{{1,24}}{_WRAP}{_VALUE}",
        gate="chosen",
        true=(
            ("self.assertEqual(c.connection.password, '", "se/cure", "')"),
            ('assert.Equal(t, cfg.Password, "', "swordfish", '")'),
            ("$this->assertEquals($dsn->getPassword(), '", "tiger", "');"),
            ('assert_eq!(url.password(), Some("', "tiger", '"));'),
            ('assertThat(conf.getPassword(), is("', "tiger", '"));'),
            ("assert.strictEqual(u.password, '", "keyboard cat", "');"),
            ('self.assertEqual(creds["secret_key"], "', "JKL456", '")'),
            ('cl_assert_equal_s(data.password, "', "tiger", '");'),
            ("is($url->password, '", "tiger", "', 'right')"),
        ),
        false=(
            "self.assertEqual(form.errors.password, 'Required')",
            "assertEqual(x.password, 'password')", 'encrypt(password, "aes-256-cbc")',
            "self.assertEqual(password_type, 'weak')", 'assertIn("password", "some text2")',
            'assert.Equal(t, field.Password, "Password must be at least 8 characters")',
        ),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=tuple(
            f"{call}{quote}"
            for call in ("equal(", "equals(", "equal(t, ", "same(", "_eq(", "_eq!(", "equal ")
            for quote in ('"', "'", 'b"', "b'")
        ),
        inside_word=True,
        open_end=True,
        ignore_case=True,
        pattern=r"(?:equals?(?:\(t, |\(| )|same\(|_eq!?\()b?"
        rf"{_VALUE},\s{{1,24}}{_PATH}{_END}[),\r\n]",
        gate="chosen",
        true=(
            ('assert.Equal(t, "', "swordfish", '", cfg.Password)'),
            ('Assert.AreEqual("', "tiger", '", conf.Password);'),
            ('assertEquals("', "tiger", '", conf.getPassword());'),
            ('assert_equal "', "tiger", '", uri.password\n'),
            ("$this->assertSame('", "tiger", "', $user->getPassword());"),
            ("self.assertEqual(b'", "tiger", "', args['password'])"),
        ),
        false=(
            'assert.Equal(t, "password", tokenSecret)', 'foo("tiger", password)',
            'assertEquals("Password is required", errors.password)',
            "assertEqual('required', form.password)", "assertEqual(a, b.password)",
        ),
    ),
    Rule(
        kind="password",
        family="field",
        anchors=tuple(
            f"{word}{end}" for word in _WORDS
            for end in (").", "()).", '"]).', "']).", ".should", ").must")
        ),
        before=80,
        inside_word=True,
        open_end=True,
        ignore_case=True,
        # what is expected of it follows in a chain
        pattern=rf"(?:(?:expect|assertthat|_|value|that)\({_PATH}{_END}\)\s{{0,24}}"
        rf"|{_PATH}\.(?:should|must_equal))(?:[.\s](?:to|be|equal|eq|eql|must_equal|should|tobe"
        r"|toequal|tostrictequal|isequalto|issameas|is|tomatch|==)){0,3}[( ]"
        rf"(?:equal\(|eq\(|== )?{_WRAP}{_VALUE}",
        gate="chosen",
        true=(
            ("expect(user.password).toBe('", "swordfish", "');"),
            ("expect(user.password).to eq('", "swordfish", "')"),
            ("expect(user.password).to eq '", "swordfish", "'\n"),
            ('expect(config.password).to.equal("', "tiger", '");'),
            ('assertThat(conf.getPassword()).isEqualTo("', "tiger", '");'),
            ('uri.password.should == "', "tiger", '"'),
            ('_(uri.password).must_equal "', "tiger", '"'),
        ),
        false=(
            "expect(errors.password).toBe('Required');", "expect(input.password).toBe('text')",
            "expect(errors.password).toBe('Password must be at least 8 characters');",
            "expect(form.password).to be_valid", "password.should be_nil",
        ),
    ),
)  # fmt: skip
