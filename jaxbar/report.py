"""What a run has found so far, in a JSON file that is complete after every change."""

import json
import math
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import jax

from .parse import to_dict

_PACKAGES = ("jaxbar", "jax", "jaxlib", "flax", "optax", "numpy")


def package_version(name: str) -> str:
    """The version of an installed package, or "not installed"."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


class Report:
    """A report under way; its first version is written at once.

    Args:
        path: of the JSON file; its folder is made.
        settings: of the run, a dataclass.
        **more: further entries.

    Attributes:
        content: status ("running", "done", "interrupted" or "failed"), settings, versions,
            device, and stages by name.
    """

    def __init__(self, path: Path, settings: Any, **more: Any):
        self.path = path
        device = jax.devices()[0]
        self.content: dict[str, Any] = {
            "status": "running",
            "settings": to_dict(settings),
            "versions": {
                "python": platform.python_version(),
                **{name: package_version(name) for name in _PACKAGES},
            },
            "device": {"platform": device.platform, "kind": device.device_kind},
            **more,
            "stages": {},
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        self.write()

    def write(self) -> None:
        """Replaces the file as a whole: a reader never sees half of it."""
        text = json.dumps(_strict(self.content), indent=2, allow_nan=False, ensure_ascii=False)
        unfinished = self.path.with_name(self.path.name + ".tmp")
        unfinished.write_text(text + "\n", encoding="utf-8")
        os.replace(unfinished, self.path)

    def update(self, **entries: Any) -> None:
        """Adds or replaces entries."""
        self.content.update(entries)
        self.write()

    def add(self, stage: str, **found: Any) -> None:
        """Adds a finished stage."""
        self.content["stages"][stage] = found
        self.write()


def _strict(value: Any) -> Any:
    """As JSON allows it: numbers that are not finite, such as r_off = inf, become texts."""
    if isinstance(value, dict):
        return {key: _strict(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(x) for x in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
