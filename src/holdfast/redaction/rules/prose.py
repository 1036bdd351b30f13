"""Passwords beside the word for it in other languages than English and German."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_WORDS = (
    "contrase\u00f1a", "Contrase\u00f1a", "mot de passe", "Mot de passe", "senha", "Senha",
    "has\u0142o", "Has\u0142o", "wachtwoord", "Wachtwoord", "l\u00f6senord", "L\u00f6senord",
    "parola", "Parola",
    "adgangskode", "Adgangskode", "salasana", "Salasana", "kennwort", "Kennwort", "\u015fifre",
    "\u015eifre", "m\u1eadt kh\u1ea9u", "M\u1eadt kh\u1ea9u",
    "\u043f\u0430\u0440\u043e\u043b\u044c",
    "\u041f\u0430\u0440\u043e\u043b\u044c", "\u5bc6\u7801", "\u5bc6\u78bc", "\u53e3\u4ee4",
    "\u30d1\u30b9\u30ef\u30fc\u30c9", "\ube44\ubc00\ubc88\ud638",
    "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631",
    "\u05e1\u05d9\u05e1\u05de\u05d4",
)  # fmt: skip
"""Spanish, French, Portuguese, Polish, Dutch, Swedish, Italian and Turkish, Danish, Finnish,
German, Vietnamese, Russian, Chinese, Japanese, Korean, Arabic, Hebrew."""


def _bytes_of(word: str) -> str:
    return "".join(chr(b) if b < 128 else f"\\x{b:02x}" for b in word.encode())


RULES: tuple[Rule, ...] = (
    Rule(
        kind="password",
        family="prose",
        anchors=_WORDS,
        inside_word=True,
        open_end=True,
        pattern=rf"(?:{'|'.join(map(_bytes_of, _WORDS))})"
        # the colon of full width, and "is" where a language writes it so
        r"\\{0,6}[\"'`]?[ \t]{0,4}(?::|=|\xef\xbc\x9a|\xe3\x81\xaf|\xe6\x98\xaf)[ \t]{0,8}"
        r"\\{0,6}[\"'`]?(?P<value>[^\s\"'`\\\x00,;]{6,128})",
        gate="bare",
        true=(
            ("contrase\u00f1a: ", "s3cr3tpw27", "\n"),
            ("\u5bc6\u7801\uff1a", "Reach!task99", "\n"),
            ("\u041f\u0430\u0440\u043e\u043b\u044c: ", "s3cr3tpw27", "\n"),
            ("Mot de passe : ", "s3cr3tpw27", "\n"),
        ),
        false=(
            "mot de passe : obligatoire", "\u5bc6\u7801: <password>", "parola: una",
            "senha: ${SENHA}",
        ),
    ),
)  # fmt: skip
