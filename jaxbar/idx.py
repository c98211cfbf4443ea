"""IDX files: arrays of bytes with a short header, the format MNIST is published in.

The format: http://yann.lecun.com/exdb/mnist. Two zero bytes, the type (8: unsigned byte), the
number of dimensions, each dimension as a big-endian 32-bit integer, then the values.
"""

import gzip
import math
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def read_idx(path: str | Path) -> np.ndarray:
    """The array (uint8) in an IDX file, gzipped if its name ends in .gz.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not an IDX file of bytes, or is cut short or too long.
    """
    path = Path(path)
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            content = file.read()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: damaged gzip file: {error}") from None
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise ValueError(
            f"{path}: not an IDX file of bytes: it starts with {content[:4].hex(' ')}, "
            "which must be 00 00 08 and the number of dimensions"
        )
    dimensions = content[3]
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise ValueError(f"{path}: cut short inside its header")
    shape = struct.unpack(f">{dimensions}I", content[4:header])
    if len(content) - header != math.prod(shape):
        raise ValueError(
            f"{path}: its header says {shape}, {math.prod(shape)} bytes, but "
            f"{len(content) - header} follow"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def find_idx(folder: Path, parts: Sequence[str]) -> list[tuple[Path, Path]]:
    """The files of images and of labels of each part, such as "train".

    Raises:
        FileNotFoundError: some are not there; the message names each.
    """
    found: list[tuple[Path, Path]] = []
    missing: list[str] = []
    for part in parts:
        pair = []
        for name in (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"):
            # Some copies have a dot before "idx", as unpacking on Windows left it.
            stems = (name, name.replace("-idx", ".idx"))
            candidates = [folder / f"{stem}{end}" for stem in stems for end in ("", ".gz")]
            pair += [path for path in candidates if path.is_file()][:1]
            missing += [] if any(path.is_file() for path in candidates) else [name]
        found.append(tuple(pair))  # type: ignore[arg-type] # complete, or an error below
    if missing:
        raise FileNotFoundError(f"{folder}: {', '.join(missing)} not there, with or without .gz")
    return found
