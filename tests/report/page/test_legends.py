"""Every figure that a command draws has a caption, and the tables that it names are there."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from depthlaw.cli import main
from depthlaw.laws.sensitivity import KNOBS
from depthlaw.report.page.gather import gather
from depthlaw.report.page.legends import legend, legends

ROOT = Path(__file__).resolve().parents[3]
RUNS = str(ROOT / "examples" / "made_runs.csv")
TEXT = "text/tinystories.txt"


def test_captions_are_whole_sentences() -> None:
    document = tomllib.loads(
        files("depthlaw.report.page").joinpath("figures.toml").read_text(encoding="utf-8")
    )
    for verb, figures in document.items():
        for name in figures:
            found = legend(verb, name)
            assert len(found.caption) > 60, (verb, name)
            assert found.caption.endswith("."), (verb, name)
            assert "\n" not in found.caption
            assert set(found.input) <= set(found.data)


def test_every_choice_that_can_be_varied_has_a_caption() -> None:
    assert set(legends("sensitivity")) == set(KNOBS)
    assert all(legend("sensitivity", knob).data == (f"{knob}.parquet",) for knob in KNOBS)


def check(folder: Path, verb: str) -> None:
    (section,) = gather(folder).sections
    assert section.manifest.verb == verb
    assert section.text
    assert section.pictures
    known = legends(verb).values()
    for picture in section.pictures:
        found = legend(verb, picture.name)
        assert found in known, f"{verb} draws {picture.name}, figures.toml has no caption of it"
        assert len(picture.data) >= len(found.data), f"{verb}: {picture.name} has not the data {found.data}"
    assert gather(folder).warnings == ()


@pytest.mark.parametrize(
    "argv",
    [
        ["fit", RUNS, "--starts", "64"],
        ["plan", RUNS, "--params", "7e9", "--tokens", "1.4e11"],
        ["design", RUNS, "--budget", "1e20", "--most", "3", "--resamples", "8"],
        ["sensitivity", RUNS, "--vary", "delta", "--starts", "64"],
        ["lab", "mse", "--steps", "20", "--student.depths", "2", "4", "--teacher.depth", "4", "--batch", "16",
         "--rho", "0", "0.5", "1", "--log-every", "10", "--test-every", "10"],
    ],
    ids=lambda argv: argv[0],
)  # fmt: skip
def test_commands(argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*argv, "--out", str(tmp_path / "out")]) == 0, capsys.readouterr().err
    check(tmp_path / "out", argv[0])


@pytest.mark.data
@pytest.mark.parametrize(
    "argv",
    [
        ["probe", "stories260K", "--text", TEXT, "--limit", "300 tokens", "--max-length", "64", "--lens"],
        ["ablate", "stories260K", "--text", TEXT, "--limit", "200 tokens", "--max-length", "64",
         "--plan", "skip each", "swap distance 1", "swap distance 2"],
        ["trace", "stories260K", "--prompt", "Once upon a time, a little girl named Lily", "--subject",
         "little girl", "--target", "Lily", "--samples", "2"],
    ],
    ids=lambda argv: argv[0],
)  # fmt: skip
def test_commands_on_models(
    argv: list[str], tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(data_dir / word) if word == TEXT else word for word in argv]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0, capsys.readouterr().err
    check(tmp_path / "out", argv[0])
