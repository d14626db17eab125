from __future__ import annotations

from depthlaw.reproduce.captions import caption
from depthlaw.reproduce.registry import EXPERIMENTS


def test_every_experiment_has_a_caption_of_whole_sentences() -> None:
    for experiment in EXPERIMENTS:
        words = caption(experiment.id)
        assert len(words) > 80, experiment.id
        assert words.endswith("."), experiment.id
        assert "\n" not in words
