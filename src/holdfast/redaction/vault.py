"""A local memory of what was hidden, for callers who may see it again."""

from __future__ import annotations

from typing import AnyStr

from holdfast.redaction.text import PLACEHOLDER


class Vault:
    """Maps placeholders back to secrets, in this process only; nothing is ever written.

    A placeholder that stood for two different secrets restores to neither. A number that JSON
    forced into quotes loses them again, unless the same secret stood in quotes elsewhere.
    """

    def __init__(self) -> None:
        self._secrets: dict[str, bytes | None] = {}
        self._longer: dict[str, list[str]] = {}
        self._quoted: set[str] = set()

    def put(
        self, mask: str, secret: str | bytes, dressed: str = "", *, quoted: bool = False
    ) -> None:
        """Remember what `mask` stands for, or all of `dressed`, which has the mask in it.

        `quoted` says that the secret stood in quotes of its own.
        """
        secret = secret.encode("utf-8", "surrogatepass") if isinstance(secret, str) else secret
        if dressed and dressed not in self._secrets:
            self._longer.setdefault(mask, []).append(dressed)
        if quoted:
            self._quoted.add(mask)
        for key in (dressed, mask) if _is_in_quotes(dressed, mask) else (dressed or mask,):
            if self._secrets.setdefault(key, secret) != secret:
                self._secrets[key] = None

    def restore(self, text: AnyStr) -> AnyStr:
        """Return `text` with the secrets back in place of the placeholders that are known.

        Of bytes, as a stream gives them, it makes bytes. In a text a secret that is no UTF-8 has
        its odd bytes as `surrogateescape` writes them.
        """
        if isinstance(text, bytes):
            return self._restored(text)
        data = self._restored(text.encode("utf-8", "surrogatepass"))
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return data.decode("utf-8", "surrogateescape")

    def _restored(self, data: bytes) -> bytes:
        pieces: list[bytes] = []
        last = 0
        for ((start, end),) in PLACEHOLDER.all(data):
            mask = data[start:end].decode()
            for dressed in self._longer.get(mask, ()):
                if mask in self._quoted and _is_in_quotes(dressed, mask):
                    continue
                first = start - len(dressed[: dressed.index(mask)].encode())
                if first >= last and data.startswith(dressed.encode(), first):
                    mask, start, end = dressed, first, first + len(dressed.encode())
                    break
            secret = self._secrets.get(mask)
            if secret is not None:
                pieces += (data[last:start], secret)
                last = end
        return b"".join((*pieces, data[last:]))

    def __len__(self) -> int:
        """How many placeholders can be restored."""
        return len({
            key.strip("\\\"'") for key, secret in self._secrets.items() if secret is not None
        })  # fmt: skip

    def __repr__(self) -> str:
        """Show the size and no content."""
        return f"Vault({len(self)} secrets)"


def _is_in_quotes(dressed: str, mask: str) -> bool:
    """Whether a placeholder stands alone in quotes: that of a number, which had none."""
    return bool(dressed) and dressed.strip("\\\"'") == mask
