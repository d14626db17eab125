import json

import numpy as np
import pyarrow as pa
import pytest

from depthlaw.cli.app import main
from depthlaw.data.store import open_run
from depthlaw.errors import FitError, InputError, UsageError
from depthlaw.probe.family import FamilyConfig, family
from depthlaw.probe.profile import Profile, profile_from_means, read_profile
from depthlaw.report.family import family_payload, family_text

DEPTHS = (6, 12, 16, 24, 32, 36)


def angles(depth, c=5.0, beta=0.9, ends=1.5):
    theta = np.full(depth, c * depth**-beta)
    theta[[0, -1]] = ends
    return theta


def models(**law):
    return {f"made-{depth}": angles(depth, **law) for depth in DEPTHS}


def test_a_made_law_is_found_in_the_middle_and_the_ends_do_not_enter():
    found = family(models())
    assert found.beta.value == pytest.approx(0.9, abs=1e-9)
    assert found.fit["c_depth"].value == pytest.approx(5.0, rel=1e-8)
    assert found.depths.tolist() == list(DEPTHS)
    np.testing.assert_allclose(found.first, 1.5)
    np.testing.assert_allclose(found.last, 1.5)
    exponents = {other.definition.name: other.beta for other in found.sensitivity}
    assert exponents["inner"].value == pytest.approx(0.9, abs=1e-9)
    assert exponents["central-half"].value == pytest.approx(0.9, abs=1e-9)
    assert exponents["typical-block"].value == pytest.approx(0.9, abs=1e-9)
    # With the ends the mean falls otherwise, which is why they are kept apart.
    assert abs(exponents["all"].value - 0.9) > 0.02
    assert exponents["rest"] is None  # not known from means alone


def test_intervals_cover_the_truth_under_scatter():
    rng, hits = np.random.default_rng(0), 0
    for _ in range(12):
        made = {name: theta * np.exp(0.1 * rng.standard_normal()) for name, theta in models().items()}
        low, high = family(made).beta.interval
        hits += low <= 0.9 <= high
    assert hits >= 9


def test_order_of_the_models_does_not_matter():
    made = models()
    one, other = family(made), family(dict(reversed(made.items())))
    assert one.beta == other.beta
    assert [profile.name for profile in one.profiles] == [profile.name for profile in other.profiles]


def test_what_cannot_be_answered():
    with pytest.raises(FitError, match="2 models cannot determine"):
        family({"a": angles(6), "b": angles(12)})
    with pytest.raises(FitError, match="same depth"):
        family({name: angles(12) for name in "abc"})
    with pytest.raises(UsageError, match="b has 2 blocks, which leaves no middle"):
        family({"a": angles(6), "b": angles(2), "c": angles(9)})
    with pytest.raises(UsageError, match="one number a layer"):
        profile_from_means("a", np.zeros((2, 2)))
    with pytest.raises(UsageError, match="confidence"):
        FamilyConfig(level=95)


def test_differences_between_the_models_are_said():
    profiles = [
        Profile(f"m{d}", angles(d), angles(d), angles(d), width=64 * d, conditions=(("text", text),))
        for d, text in zip(DEPTHS[:3], ("a.txt", "a.txt", "b.txt"), strict=True)
    ]
    found = family(profiles)
    assert {notice.code for notice in found.notices} >= {"text-differs", "width-differs"}
    assert "text differs between the models: a.txt, b.txt." in family_text(found)


def test_text_and_payload_say_the_same():
    found = family(models())
    text, payload = family_text(found), json.loads(json.dumps(family_payload(found), default=str))
    assert payload["sentence"] in text
    assert "does not hold 1" in payload["sentence"]
    assert payload["params"]["beta"]["value"] == found.beta.value
    assert [row["depth"] for row in payload["models"]] == list(DEPTHS)
    assert payload["sensitivity"]["rest"]["beta"] is None


def write_probe(folder, depth, *, verb="probe", text=None):
    """A run folder with what `read_profile` looks at."""
    theta = angles(depth)
    rows = [
        {
            "quantity": "theta_state",
            "tokens": group,
            "layer": layer,
            "mean": mean,
            "q50": mean,
            "stderr": 0.01,
        }
        for group in ("rest", "all")
        for layer, mean in reversed(list(enumerate(theta)))
    ]
    middle = {
        "quantity": "theta_middle",
        "tokens": "all",
        "layer": 1,
        "mean": theta[1],
        "q50": 0.0,
        "stderr": 0.02,
    }
    identity = {"text": text and 16 * text}
    with open_run(folder, verb=verb, config={"depth": depth}, identity=identity) as run:
        run.write_table("summary.parquet", pa.Table.from_pylist([*rows, middle]), dict.fromkeys(middle, "1"))
        result = {"model": f"org/made-{depth}", "width": 64, "text": "/far/away/a.txt", "dtype": "float32"}
        run.write_json("result.json", {**result, "settings": {"limit": None, "max_length": 99}})
    return folder


def test_a_profile_from_a_run_folder(tmp_path):
    profile = read_profile(write_probe(tmp_path / "a", 6))
    assert (profile.name, profile.depth, profile.width, profile.stderr) == ("made-6", 6, 64, 0.02)
    np.testing.assert_array_equal(profile.theta, angles(6))
    assert {("text", "a.txt"), ("dtype", "float32")} <= set(profile.conditions)


def test_texts_of_one_name_are_told_apart_by_their_content(tmp_path):
    folders = [
        write_probe(tmp_path / f"{d}", d, text=text) for d, text in zip((6, 9, 12), "aab", strict=True)
    ]
    notices = {notice.code: notice.message for notice in family(folders).notices}
    assert notices["text-differs"] == "text differs between the models: a.txt (aaaaaaaa), a.txt (bbbbbbbb)."


def test_folders_that_hold_no_finished_probe(tmp_path):
    with pytest.raises(InputError, match="holds no run"):
        read_profile(tmp_path)
    with pytest.raises(InputError, match="not of depthlaw probe"):
        read_profile(write_probe(tmp_path / "fit", 6, verb="fit"))
    folder = write_probe(tmp_path / "half", 6)
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"done"', '"interrupted"'))
    with pytest.raises(InputError, match=r"not finished \(interrupted\)"):
        read_profile(folder)


def test_the_command(tmp_path, capsys):
    folders = [str(write_probe(tmp_path / str(depth), depth)) for depth in (6, 12, 24)]
    out = tmp_path / "out"
    assert main(["family", *folders, "--json", "--out", str(out)]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["params"]["beta"]["value"] == pytest.approx(0.9, abs=1e-6)
    assert (out / "family.parquet").exists()
    assert main(["family", *folders]) == 0
    text = capsys.readouterr().out
    assert "The mean angle in the middle falls as" in text
    assert (out / "family.txt").read_text(encoding="utf-8") == text
    assert main(["family", *folders[:2]]) == 4
    assert main(["family", *folders, "--dry-run"]) == 0
    assert "made-24 (24 blocks)" in capsys.readouterr().out
