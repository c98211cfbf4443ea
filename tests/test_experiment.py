"""The main job on a tiny network: its report, its plots, its repeatability."""

import dataclasses
import json

import numpy as np
import pytest
from flax import nnx

import jaxbar as jb
from jaxbar import experiment, plots
from jaxbar.settings import DataSettings, ModelSettings, RunSettings, TrainingSettings
from jaxbar.training import MLP

WIRES = jb.Wires(source=5.0, word=5.0, bit=5.0, sense=5.0)


HARSH = jb.CrossbarConfig(
    tile_shape=(32, 16),
    r_on=1.8e3,
    r_off=2.5e3,
    wires=WIRES,
    solver=jb.Solver("cg"),  # compiles faster than the default
)


@pytest.fixture
def tiny(tmp_path):
    return RunSettings(
        data=DataSettings(limit=200, test_fraction=0.1),
        model=ModelSettings(hidden=(12,)),
        training=TrainingSettings(epochs=12, batch_size=20, learning_rate=1e-2),
        retraining=TrainingSettings(epochs=2, batch_size=20, learning_rate=1e-2),
        crossbar=HARSH,
        tune_images=50,
        output=str(tmp_path / "out"),
    )


def read(settings):
    with open(f"{settings.output}/report.json", encoding="utf-8") as file:
        return json.load(file)


def numbers(report):
    """What must be the same when a run is repeated: all but the seconds."""
    return {
        name: {key: x for key, x in stage.items() if key != "seconds"}
        for name, stage in report["stages"].items()
    }


def test_report_plots_and_repeatability(tiny, tmp_path):
    steps = []
    first = experiment.run(tiny, lambda *step: steps.append(step))
    assert first["status"] == "done"
    assert list(first["stages"]) == list(experiment.STAGES)
    assert first["data"] == {"train": 200, "test": 180, "features": 64}
    assert read(tiny) == json.loads(json.dumps(first))
    stages = first["stages"]
    assert stages["digital"]["accuracy"] > 0.8
    assert stages["mapped"]["uncalibrated"] < stages["digital"]["accuracy"]
    assert stages["retrained"]["losses"][-1] < stages["retrained"]["losses"][0]
    assert all(stage["converged"] for stage in stages.values())
    assert all(stage["seconds"] > 0 for stage in stages.values())
    assert [len(stages[name]["losses"]) for name in ("digital", "retrained")] == [12, 2]

    assert first["plots"] == ["accuracy.png", "voltages.png"]
    for name in first["plots"]:
        assert (tmp_path / "out" / name).read_bytes()[:4] == b"\x89PNG"

    assert steps[0] == ("train digitally", 0, 1)
    assert ("train digitally", 120, 120) in steps
    assert steps[-1] == ("train through the wires", 20, 20)

    again = dataclasses.replace(tiny, output=str(tmp_path / "again"))
    assert numbers(experiment.run(again, draw=False)) == numbers(first)
    assert not (tmp_path / "again" / "accuracy.png").exists()
    other = dataclasses.replace(again, seed=1)
    assert numbers(experiment.run(other, draw=False)) != numbers(first)


def test_ideal_tiles_change_nothing(tiny):
    ideal = dataclasses.replace(
        tiny,
        crossbar=jb.CrossbarConfig(tile_shape=(32, 16)),
        retraining=TrainingSettings(epochs=0),
    )
    stages = experiment.run(ideal, draw=False)["stages"]
    accuracies = {stages[name]["accuracy"] for name in stages} | {stages["mapped"]["uncalibrated"]}
    assert len(accuracies) == 1


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt, "interrupted"), (RuntimeError, "failed")]
)
def test_what_is_finished_stays_readable(tiny, error, status):
    def stop(what, done, total):
        if what == "train through the wires" and done == 1:
            raise error

    with pytest.raises(error):
        experiment.run(tiny, stop)
    report = read(tiny)
    assert report["status"] == status
    assert list(report["stages"]) == ["digital", "mapped"]
    assert report["stages"]["digital"]["accuracy"] > 0.8
    assert report["plots"] == []


def test_missing_images_are_reported(tiny, tmp_path):
    absent = DataSettings(name="mnist", path=str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte"):
        experiment.run(dataclasses.replace(tiny, data=absent))
    assert read(tiny)["status"] == "failed"


def test_without_matplotlib_nothing_is_drawn(tiny, monkeypatch):
    monkeypatch.setattr(plots, "available", lambda: False)
    short = dataclasses.replace(
        tiny, training=TrainingSettings(epochs=1), retraining=TrainingSettings(epochs=0)
    )
    report = experiment.run(short)
    assert report["status"] == "done"
    assert report["plots"] == []
    assert list(report["stages"]) == ["digital", "mapped"]  # nothing was trained again
    assert 0 < report["stages"]["mapped"]["output_error"] < 10


def test_unconverged_solves_are_said(tiny):
    solver = jb.Solver(method="cg", max_iterations=1)
    lame = dataclasses.replace(
        tiny,
        crossbar=tiny.crossbar.replace(solver=solver),
        training=TrainingSettings(epochs=1),
        retraining=TrainingSettings(epochs=1),
    )
    with pytest.warns(RuntimeWarning, match="was not solved to its tolerance") as caught:
        stages = experiment.run(lame, draw=False)["stages"]
    told = {str(w.message).split(": a tile")[0] for w in caught}
    assert told == {f"{name}: layers.{i}" for name in ("mapped", "retrained") for i in (0, 1)}
    assert stages["digital"]["converged"]
    assert not stages["mapped"]["converged"]
    assert not stages["retrained"]["converged"]


@pytest.mark.parametrize("wires", [None, WIRES])
def test_first_tile(wires):
    config = jb.CrossbarConfig(tile_shape=(3, 4), r_on=1e3, r_off=4e3, wires=wires, v_max=0.2)
    model = jb.patch_model(MLP(5, 6, 2, rngs=nnx.Rngs(0)), config)
    tile, drive = experiment.first_tile(model)
    assert drive == pytest.approx(0.2)
    assert tile.cell_voltages.shape == (3, 4)
    g = np.asarray(tile.device_currents) / np.asarray(tile.cell_voltages)
    kernel = np.asarray(model.layers[0].kernel[...])
    positive = np.maximum(kernel / np.abs(kernel).max(), 0)[:3, :4]
    np.testing.assert_allclose(g, 1 / 4e3 + (1 / 1e3 - 1 / 4e3) * positive, rtol=1e-5)
    if wires is None:
        np.testing.assert_allclose(tile.cell_voltages, 0.2, rtol=1e-6)
    else:
        assert (np.asarray(tile.cell_voltages) < 0.2).all()
