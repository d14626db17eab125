"""On real weights: what is known of them, real kills, memory that does not grow."""

import os
import random
import resource
import shutil
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from depthlaw.probe.run import probe
from depthlaw.probe.table import layers_of

pytestmark = pytest.mark.data


@pytest.fixture
def smollm2():
    from depthlaw.places import model_folders

    folder = model_folders()[-1] / "SmolLM2-135M-Instruct"
    if not folder.is_dir():
        pytest.skip("run tools/make_models.py first")
    return folder


def test_a_small_trained_model_predicts_its_own_kind_of_text(models_dir, data_dir):
    result = probe(
        models_dir / "stories260K",
        data_dir / "text" / "tinystories.txt",
        limit="10",
        batch_size=5,
        lens=True,
        mode="paper",
    )
    ce = result.layers("lens_ce")
    assert ce[-1] == pytest.approx(1.4, abs=0.2)
    # Every block adds to the prediction.
    assert (np.diff(ce) < 0).all()
    assert result.layers("lens_kl")[-1] == 0
    # With the normed state, the published last angle is another.
    normed = result.layers("theta_state_normed")[0]
    assert result.layers("paper_theta_state")[-1] == pytest.approx(normed, abs=0.02)
    assert abs(normed - result.layers("theta_state")[-1]) > 0.02
    # Everywhere else the two agree, as its angles are not small.
    np.testing.assert_allclose(
        result.layers("paper_theta_state")[:-1], result.layers("theta_state")[:-1], atol=0.01
    )


def start(words):
    return subprocess.Popen(
        [sys.executable, "-m", "depthlaw", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.slow
def test_killed_ten_times_at_random_and_finished_gives_the_same_rows(models_dir, data_dir, tmp_path):
    words = ["probe", models_dir / "stories260K", "--text", data_dir / "text" / "tinystories.txt"]
    words += ["--limit", "400", "--batch-size", "8", "--lens", "direct"]
    begin = time.monotonic()
    done = start([*words, "--out", tmp_path / "whole"])
    assert done.communicate()[1] is not None
    assert done.returncode == 0
    span = time.monotonic() - begin
    draw = random.Random(0)
    kills = finished = 0
    while kills < 10 or not finished:
        process = start([*words, "--out", tmp_path / "run"])
        try:
            # After the last kill it may take the time it needs.
            _, err = process.communicate(timeout=draw.uniform(0.1, 0.6) * span if kills < 10 else None)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        assert process.returncode == 0, err.decode()
        for name in ("tokens", "."):
            files = sorted((tmp_path / "whole" / name).glob("*.parquet"))
            assert files
            for file in files:
                again = tmp_path / "run" / name / file.name
                assert pq.read_table(again).equals(pq.read_table(file)), again
                assert again.read_bytes() == file.read_bytes()
        finished += 1
        span /= 1.5  # too late to kill it: the machine has become faster
        shutil.rmtree(tmp_path / "run")
    assert kills == 10


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(models_dir, data_dir, tmp_path):
    words = ["probe", models_dir / "stories260K", "--text", data_dir / "text" / "tinystories.txt"]
    words += ["--batch-size", "8"]
    peaks = []
    for documents in (200, 800):
        process = start([*words, "--limit", documents, "--out", tmp_path / f"run{documents}"])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, process.communicate()[1].decode()
        process.communicate()
        peaks.append(usage.ru_maxrss * 1024)
    assert peaks[1] - peaks[0] <= max(0.05 * peaks[0], 30e6)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0


@pytest.mark.slow
def test_smollm2_on_the_first_2365_tokens_of_the_web(smollm2, data_dir):
    result = probe(
        smollm2,
        data_dir / "text" / "web_c4.jsonl",
        limit="2365 tokens",
        batching="packed",
        max_length=2365,
        batch_size=1,
        tokens=True,
    )
    assert result.n_tokens == 2365
    assert result.layers("theta_state_normed")[0] == pytest.approx(1.58, abs=0.02)
    assert result.layers("theta_state")[-1] == pytest.approx(0.74, abs=0.05)
    assert result.middle() == pytest.approx(0.29, abs=0.01)
    assert result.layers("theta_update")[1:-1].mean() == pytest.approx(1.5, abs=0.05)


@pytest.mark.slow
def test_first_tokens_hardly_turn_in_the_middle_of_smollm2(smollm2, data_dir):
    result = probe(
        smollm2, data_dir / "text" / "web_c4.jsonl", limit="12", max_length=256, batch_size=4, tokens=True
    )
    table = result.tokens()
    middle = layers_of(table, "theta_state")[:, 1:-1].mean(1)
    first = np.array(table.column("is_first"))
    # Of 28 blocks between the ends, first tokens are still in all but a few.
    assert middle[first].mean() < 0.6 * middle[~first].mean()
    assert np.median(layers_of(table, "theta_state")[first][:, 12:24]) < 0.01
