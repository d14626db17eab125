"""The torch engine on an accelerator says what it says on the CPU."""

from __future__ import annotations

import pytest
import torch

from depthlaw.lab.training import Task, Trainer

PROTOCOLS = {
    "mse": {},
    "kl-learned": {"loss": "kl", "head": "learned", "temperatures": (0.1, 1.0)},
    "kl-fixed": {"loss": "kl", "head": "fixed", "temperatures": (0.1, 1.0), "temperature_of": "both"},
}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_device_makes_no_difference_beyond_rounding(small, protocol: str) -> None:
    found = {}
    for device in ("cpu", "cuda"):
        trainer = Trainer(small(device=device, **PROTOCOLS[protocol]), Task(0, 0.0))
        while not trainer.done:
            trainer.advance()
        found[device] = trainer.curves.test[-1].mean(-1)
    assert found["cuda"] == pytest.approx(found["cpu"], rel=5e-3)
