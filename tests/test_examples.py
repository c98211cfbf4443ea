"""The examples run as printed, and show what they promise."""

import pathlib
import re
import runpy

import pytest

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


def printed_percents(name, capsys):
    runpy.run_path(str(EXAMPLES / name))["main"]()
    return [float(x) for x in re.findall(r"([\d.]+)%", capsys.readouterr().out)]


@pytest.mark.slow
def test_training_through_the_wires_repairs_what_they_broke(capsys):
    digital, mapped, calibrated, trained = printed_percents("train_through_wires.py", capsys)
    assert mapped < calibrated < trained
    assert digital > 95
    assert trained > digital - 3
    assert mapped < digital - 20


@pytest.mark.slow
def test_accuracy_falls_with_the_wires(capsys):
    accuracies = printed_percents("evaluate.py", capsys)
    assert len(accuracies) == 16
    assert accuracies[0] > 95
    assert accuracies[-1] < 40


@pytest.mark.slow
def test_drift_and_its_compensation(capsys):
    digital, *pairs = printed_percents("drift.py", capsys)
    as_it_is, compensated = pairs[0::2], pairs[1::2]
    assert len(as_it_is) == len(compensated) == 5
    assert digital > 95
    assert as_it_is[-1] < compensated[-1]
    assert compensated[-1] > digital - 10
