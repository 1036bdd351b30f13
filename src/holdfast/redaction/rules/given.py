"""Passwords that a call is given beside a user, or that fill in a form."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_Q = r"\\{0,6}[\"'`]"
_VALUE = rf"b?{_Q}(?P<value>[^\"'`\r\n\\\x00]{{3,80}}){_Q}"
_OTHER = rf"(?:{_Q}[^\"'`\r\n\\\x00]{{0,80}}{_Q}|[\w.]{{1,40}})"
"""An argument before it."""
_FORM = r"[#.\[]?[\w#.\[\]=\"'\\ *:-]{0,40}?(?:password|passwd|pwd|passphrase)[\w\"'\\\]-]{0,12}"

RULES: tuple[Rule, ...] = (
    Rule(
        kind="password",
        family="command",
        anchors=(
            "create_user(", "create_superuser(", "createuser(", "create_staff_user(", "add_user(",
            "adduser(", "register(", "register_user(", "plainauth(", "set_password(",
            "createcredential(",
            "clientsecretcredential(", "minio(",
            "setpassword(",
        ),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # user and address, service and user, identity and user: the password is the third
        pattern=r"(?:(?:create|add|register)_?(?:super|staff_)?(?:user)?|plainauth"
        rf"|set_?password|createcredential|clientsecretcredential|minio)\(\s{{0,24}}{_OTHER},\s{{0,24}}{_OTHER},\s{{0,24}}{_VALUE}"
        r"\s{0,24}[,)]",
        gate="chosen",
        true=(
            ('create_user("anakin", "a@localhost", "', "s1thrul3s", '")'),
            ("User.objects.create_superuser(\n    'root', 'a@localhost', '", "sesame", "'\n)"),
            ('keyring.set_password("system", "bob", "', "sesame", '")'),
            ('smtp.PlainAuth("", "bob", "', "sesame", '", host)'),
        ),
        false=(
            "keyring.get_password('system', 'bob')", 'register("a", "b", "default")',
            'set_password("system", "bob", password)', "register(app, 'name', '/path/x')",
        ),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=(".send_keys(", ".sendkeys(", ".fill(", ".type(", ".setvalue("),
        before=90,
        ignore_case=True,
        inside_word=True,
        open_end=True,
        # the field of a form is found by its name, then filled in
        pattern=rf"{_Q}{_FORM}{_Q}\)?\)?\s{{0,24}}\.(?:send_?keys|fill|type|setvalue)\({_VALUE}",
        gate="chosen",
        true=(
            ("cy.get('#password').type('", "sesame", "')"),
            ('driver.find_element(By.ID, "password").send_keys("', "sesame", '")'),
            ("await page.getByLabel('Password').fill('", "open sesame", "');"),
        ),
        false=(
            "cy.get('#password').type('password')", "cy.get('#email').type('sesame')",
            "page.get('#password').fill(pw)",
        ),
    ),
    Rule(
        kind="password",
        family="command",
        anchors=("fill_in", ".fill(", ".type(", "settext(", ".typetext(", "fillfield("),
        ignore_case=True,
        inside_word=True,
        open_end=True,
        pattern=r"(?:fill_in|\.fill|\.type|settext|\.typetext|fillfield)[( ]"
        rf"{_Q}{_FORM}{_Q},\s{{0,8}}(?:with: |:with => )?{_VALUE}",
        gate="chosen",
        true=(
            ('fill_in "Password", with: "', "sesame", '"'),
            ("fill_in 'user[password]', :with => '", "sesame", "'"),
            ("page.fill('#password', '", "sesame", "')"),
            ("page.type('input[name=\"password\"]', '", "sesame", "')"),
        ),
        false=(
            'fill_in "Password", with: "password"', 'fill_in "Email", with: "sesame"',
            'fill_in "Password", with: password',
        ),
    ),
)  # fmt: skip
