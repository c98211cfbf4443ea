"""Settings of a run: files, overrides, refusals."""

import dataclasses
import math
from pathlib import Path

import pytest

import jaxbar as jb
from jaxbar import settings
from jaxbar.settings import DataSettings, ModelSettings, RunSettings, TrainingSettings

CONFIGS = Path(__file__).parent.parent / "configs"


@pytest.fixture
def load(tmp_path):
    """Settings from the text of a file and overrides."""

    def load(text, *overrides):
        path = tmp_path / "run.toml"
        path.write_text(text, encoding="utf-8")
        return settings.load(path, overrides)

    return load


def test_empty_file_is_all_defaults(load):
    assert load("") == RunSettings()


def test_file_fills_nested_sections(load):
    made = load(
        """
        seed = 7
        [model]
        hidden = [16, 8]
        [crossbar]
        tile_shape = [32, 16]
        r_off = inf
        adc = {bits = 8}
        [crossbar.wires]
        word = 2
        """
    )
    assert made.seed == 7
    assert made.model.hidden == (16, 8)
    assert made.crossbar.tile_shape == (32, 16)
    assert made.crossbar.r_off == math.inf
    assert made.crossbar.adc == jb.ADC(bits=8)
    assert made.crossbar.wires == jb.Wires(word=2.0)
    assert made.crossbar.r_on == jb.CrossbarConfig().r_on


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RunSettings().seed = 1


def test_overrides_come_last_and_in_order(load):
    made = load(
        "[crossbar]\nr_on = 1e3\n[crossbar.wires]\nword = 1.0",
        "crossbar.wires.word=2.5",
        "seed = 1",
        "seed=2",
        "data.name=mnist5k",
        'output="runs/a b"',
        "model.hidden=[8, 8]",
        "data.limit=none",
    )
    assert made.crossbar.wires == jb.Wires(word=2.5)
    assert made.crossbar.r_on == 1e3
    assert made.seed == 2
    assert made.data.name == "mnist5k"
    assert made.output == "runs/a b"
    assert made.model.hidden == (8, 8)
    assert made.data.limit is None


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed", "must read KEY=VALUE"),
        ("=3", "must read KEY=VALUE"),
        ("a..b=3", "must read KEY=VALUE"),
        ("seed.x=3", "seed is a value, not a section"),
        ("crossbar.wires.wrod=2", r"did you mean crossbar\.wires\.word\?"),
        ("crosbar.r_on=2", r"unknown key crosbar: did you mean crossbar\?"),
        ("r_on=2", r"unknown key r_on: did you mean crossbar\.r_on\?"),
        ("epochs=2", r"did you mean training\.epochs or retraining\.epochs\?"),
        ("crossbar=2", r"crossbar = 2: is a section with keys of its own: tile_shape"),
        ("crossbar.r_on=low", r"crossbar\.r_on = 'low': must be a number \(lowest cell.* ohm"),
        ("crossbar.wires.word=-2", r"crossbar\.wires\.word = -2\.0 ohm: a line resistance"),
        ("crossbar.r_on=1e9", r"^crossbar\.r_off = .* ohm: must be > r_on"),
        ("crossbar.adc.bits=0", r"^crossbar\.adc\.bits = 0: must be an int ≥ 1"),
        ("crossbar.mapping=diferential", r"^crossbar\.mapping = .* mean 'differential'"),
        ("crossbar.solver.method=cgg", r"^crossbar\.solver\.method = 'cgg': must be one of"),
        ("training.epochs=1.5", r"^training\.epochs = 1\.5: must be a whole number"),
        ("retraining.epochs=-1", r"^retraining\.epochs = -1: must be ≥ 0"),
        ("data.name=digit", r"^data\.name = 'digit': must be one of .* mean 'digits'"),
        ("data.name=mnist", r"^data\.path = None: must name the folder"),
        ("data.test_fraction=1.0", r"^data\.test_fraction = 1\.0: must lie in \(0, 1\)"),
        ("data.limit=0", r"^data\.limit = 0: must be ≥ 1"),
        ("model.hidden=[0]", r"^model\.hidden = 0: must be ≥ 1"),
        ("training.learning_rate=inf", r"^training\.learning_rate = inf: must be > 0 and finite"),
        ("training.learning_rate=nan", r"^training\.learning_rate = nan: must be > 0"),
        ("tune_images=0", r"^tune_images = 0: must be ≥ 1"),
        ("seed=4294967296", r"^seed = 4294967296: must lie in \[0, 2\*\*32\)"),
        ("output=''", r"^output = '': must name a folder"),
    ],
)
def test_override_is_refused(load, override, message):
    with pytest.raises(ValueError, match=message):
        load("seed = 1", override)


def test_file_is_refused(load, tmp_path):
    with pytest.raises(ValueError, match=r"run\.toml: not valid TOML: "):
        load("seed = = 1")
    with pytest.raises(FileNotFoundError, match=r"none\.toml: no such configuration file"):
        settings.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'output = "\xe9"')
    with pytest.raises(ValueError, match=r"latin\.toml: not valid TOML"):
        settings.load(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DataSettings(name="x"), r"DataSettings\.name = 'x'"),
        (lambda: ModelSettings(hidden=(3, 0)), r"ModelSettings\.hidden = 0"),
        (lambda: TrainingSettings(batch_size=0), r"TrainingSettings\.batch_size = 0"),
    ],
)
def test_made_in_python_the_class_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_shipped_configurations():
    quick = settings.load(CONFIGS / "quickstart.toml")
    assert quick.model.hidden == (32,)
    assert quick.crossbar.tile_shape == (64, 64)
    assert (quick.crossbar.r_on, quick.crossbar.r_off) == (1.8e3, 2.5e3)
    assert quick.crossbar.wires == jb.Wires(5.0, 5.0, 5.0, 5.0)
    mnist = settings.load(CONFIGS / "mnist_mlp.toml", ["data.name=mnist", "data.path=x"])
    assert mnist.data.path == "x"
    assert mnist.model.hidden == (128,)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_values_marked_default_are(path, load):
    """Leaving out the lines that are marked "(default)" changes nothing."""
    text = path.read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if "(default)" not in line or "=" not in line]
    assert len(kept) < len(text.splitlines())
    assert load("\n".join(kept)) == settings.load(path)
