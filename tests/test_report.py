"""The report: complete after every change, and strict JSON."""

import dataclasses
import json
import math

import jax
import pytest

from jaxbar.report import Report, package_version


@dataclasses.dataclass(frozen=True)
class Settings:
    r_off: float = math.inf
    shape: tuple[int, int] = (2, 3)


def read(path):
    def refuse(text):
        raise ValueError(f"{text} is not JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def test_written_at_once_and_after_every_change(tmp_path):
    path = tmp_path / "deep" / "er" / "report.json"
    report = Report(path, Settings(), data={})
    first = read(path)
    assert first["status"] == "running"
    assert first["settings"] == {"r_off": "inf", "shape": [2, 3]}
    assert first["stages"] == first["data"] == {}
    assert set(first["versions"]) == {"python", "jaxbar", "jax", "jaxlib", "flax", "optax", "numpy"}
    assert first["device"]["platform"] == jax.default_backend()

    report.add("one", accuracy=0.5, losses=[1.0, math.nan])
    assert read(path)["stages"] == {"one": {"accuracy": 0.5, "losses": [1.0, "nan"]}}
    report.update(status="done")
    assert read(path)["status"] == "done"
    assert read(path)["stages"]["one"]["accuracy"] == 0.5
    assert [file.name for file in path.parent.iterdir()] == ["report.json"]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.json"
    report = Report(path, Settings())
    with pytest.raises(TypeError):
        report.add("two", accuracy=object())
    assert read(path)["stages"] == {}


def test_package_version():
    assert package_version("pytest") == pytest.__version__
    assert package_version("no-such-package-at-all") == "not installed"
