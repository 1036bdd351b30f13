"""Keep the pictures of the documentation small: a palette, and fewer pixels if that is not enough.

python docs/small_pictures.py PICTURE.png ...
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

from PIL import Image

MOST_BYTES = 100_000
"""Of a picture; tests/test_project.py checks every file of docs/."""
COLORS = 32
"""So many of the most frequent are kept as they are, and so many stand for all others."""
NEAR = 16
"""A color as near as this to a more frequent one is dropped: Pillow confuses the two."""
STEP = 0.9


def shrink(picture: bytes) -> bytes:
    """Return a PNG with a palette and at most `MOST_BYTES`, with fewer pixels if need be."""
    image = Image.open(BytesIO(picture)).convert("RGB")
    small = _encode(image)
    scale = 1.0
    while len(small) > MOST_BYTES:
        scale *= STEP
        size = round(image.width * scale), round(image.height * scale)
        small = _encode(image.resize(size, Image.Resampling.LANCZOS))
    return small


def _encode(image: Image.Image) -> bytes:
    """Return a PNG whose areas of one color keep it: paper and bars get no tint."""
    found = sorted(image.getcolors(image.width * image.height) or [], reverse=True)
    flat = image.quantize(COLORS, Image.Quantize.MAXCOVERAGE).getpalette() or []
    colors: list[tuple[int, ...]] = []
    for one in [color for _, color in found[:COLORS]] + list(zip(*[iter(flat)] * 3, strict=True)):
        if all(_distance(one, other) > NEAR for other in colors):
            colors.append(one)
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for color in colors for part in color])
    out = BytesIO()
    image.quantize(palette=palette, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_bytes(shrink(Path(name).read_bytes()))
