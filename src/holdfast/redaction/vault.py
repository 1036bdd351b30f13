"""A local memory of what was hidden, for callers who may see it again."""

from __future__ import annotations

from holdfast.redaction.view import PLACEHOLDER


class Vault:
    """Maps placeholders back to secrets, in this process only; nothing is ever written.

    A placeholder that stood for two different secrets restores to neither.
    """

    def __init__(self) -> None:
        self._secrets: dict[str, str | None] = {}
        self._longer: dict[str, list[str]] = {}

    def put(self, mask: str, secret: str, dressed: str = "") -> None:
        """Remember what `mask` stands for, or all of `dressed`, which has the mask in it."""
        if dressed and dressed not in self._secrets:
            self._longer.setdefault(mask, []).append(dressed)
        mask = dressed or mask
        if self._secrets.setdefault(mask, secret) != secret:
            self._secrets[mask] = None

    def restore(self, text: str) -> str:
        """Return `text` with the secrets back in place of the placeholders that are known."""
        data = text.encode("utf-8", "surrogatepass")
        pieces: list[bytes] = []
        last = 0
        for ((start, end),) in PLACEHOLDER.all(data):
            mask = data[start:end].decode()
            for dressed in self._longer.get(mask, ()):
                first = start - dressed.index(mask)
                if first >= last and data.startswith(dressed.encode(), first):
                    mask, start, end = dressed, first, first + len(dressed.encode())
                    break
            secret = self._secrets.get(mask)
            if secret is not None:
                pieces += (data[last:start], secret.encode("utf-8", "surrogatepass"))
                last = end
        return b"".join((*pieces, data[last:])).decode("utf-8", "surrogatepass")

    def __len__(self) -> int:
        """How many placeholders can be restored."""
        return sum(secret is not None for secret in self._secrets.values())

    def __repr__(self) -> str:
        """Show the size and no content."""
        return f"Vault({len(self)} secrets)"
