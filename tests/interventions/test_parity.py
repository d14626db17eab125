"""The fast tracer against the plainest one: a full forward pass of the model for every cell."""

from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
import torch

from depthlaw.errors import InputError
from depthlaw.interventions.cells import Cone, cells_of
from depthlaw.interventions.corruption import embeddings
from depthlaw.interventions.invariants import assert_invariants, tokens_needed
from depthlaw.interventions.passes import run_passes
from depthlaw.interventions.positions import Placed
from depthlaw.interventions.prompts import Prompt
from depthlaw.interventions.tracing import restore
from depthlaw.models.sublayers import find_sublayers

KINDS = ("block", "attention", "mlp")
SAMPLES = 2
# Known names, as the tracer knows none: module list, attention, MLP.
PLACES = {
    "gpt2": ("transformer.h", "attn", "mlp"),
    "gpt_neox": ("gpt_neox.layers", "attention", "mlp"),
    "llama": ("model.layers", "self_attn", "mlp"),
    "qwen2": ("model.layers", "self_attn", "mlp"),
    "gemma2": ("model.layers", "self_attn", "mlp"),
    "opt": ("model.decoder.layers", "self_attn", "fc2"),
}


def placed(ids, subject, predict):
    prompt = Prompt("made", "made", "made")
    return Placed(prompt, tuple(ids), tuple(map(str, ids)), subject, predict)


PROMPTS = [
    placed([40, 3, 22, 90, 11, 54, 7, 29, 66], (2, 4), 7),
    # Shorter, and the subject at the start; two target tokens.
    placed([8, 61, 33, 17, 5, 2], (0, 2), 3),
]


def noisy(lm, prompts):
    rng = torch.Generator().manual_seed(3)
    clean = [embeddings(lm, p.ids)[slice(*p.subject)] for p in prompts]
    return [c + 0.6 * torch.randn((SAMPLES, *c.shape), generator=rng) for c in clean]


def set_up(lm, prompts, kinds=KINDS, rows=7, read="first"):
    sublayers = find_sublayers(lm) if set(kinds) - {"block"} else None
    last = [p.predict + (0 if read == "first" else len(p.target) - 1) for p in prompts]
    length = max(tokens_needed(p, at) for p, at in zip(prompts, last, strict=True))
    corrupted = noisy(lm, prompts)
    return run_passes(lm, prompts, corrupted, (rows, length), read, kinds, sublayers), sublayers, corrupted


class Naive:
    """One prompt alone, one cell and one draw at a time, with hooks on the whole model."""

    def __init__(self, lm, family, p, corrupted, read="first"):
        self.lm, self.p, self.corrupted = lm, p, corrupted
        blocks, attention, mlp = PLACES[family]
        self.modules = {"block": list(lm.model.get_submodule(blocks))}
        self.modules["attention"] = [block.get_submodule(attention) for block in self.modules["block"]]
        self.modules["mlp"] = [block.get_submodule(mlp) for block in self.modules["block"]]
        count = 1 if read == "first" else len(p.target)
        self.wanted, self.at = p.target[:count], range(p.predict, p.predict + count)
        self.clean = {}
        with ExitStack() as hooks:
            for kind, modules in self.modules.items():
                for number, module in enumerate(modules):
                    key = (kind, number)
                    keep = lambda _m, _a, out, key=key: self.clean.__setitem__(key, flat(out))  # noqa: E731
                    hooks.callback(module.register_forward_hook(keep).remove)
            self.clean_value = self.read()

    def read(self):
        with torch.no_grad():
            logits = self.lm.model(input_ids=torch.tensor([self.p.ids]), use_cache=False).logits[0]
        chances = logits.double().log_softmax(-1)
        return sum(float(chances[at, token]) for at, token in zip(self.at, self.wanted, strict=True))

    def value(self, sample, cell=None):
        def corrupt(_module, _args, out):
            changed = out.clone()
            changed[0, slice(*self.p.subject)] = self.corrupted[sample]
            return changed

        with ExitStack() as hooks:
            hooks.callback(self.lm.model.get_input_embeddings().register_forward_hook(corrupt).remove)
            for number in range(cell.first, cell.last + 1) if cell else ():
                clean = self.clean[cell.kind, number]

                def patch(_module, _args, out, clean=clean):
                    changed = flat(out)
                    changed[list(cell.positions)] = clean[list(cell.positions)]
                    changed = changed.reshape(first_of(out).shape)
                    return changed if torch.is_tensor(out) else (changed, *out[1:])

                module = self.modules[cell.kind][number]
                hooks.callback(module.register_forward_hook(patch).remove)
            return self.read()


def first_of(out):
    return out if torch.is_tensor(out) else out[0]


def flat(out):
    """(tokens, width), a copy; OPT's MLP returns it without the batch."""
    return first_of(out).clone().reshape(-1, first_of(out).shape[-1])


@pytest.mark.parametrize("family", list(PLACES))
def test_every_cell_equals_a_full_forward_pass(lm_of, family, hooks):
    lm = lm_of(family)
    before = hooks(lm.model)
    passes, sublayers, corrupted = set_up(lm, PROMPTS)
    assert assert_invariants(lm, passes, PROMPTS, KINDS, sublayers) <= 1e-5
    cells = [c for n, p in enumerate(PROMPTS) for c in cells_of(n, p, lm.depth, KINDS, 1, 1, "first")]
    restored = restore(lm, passes, cells, sublayers)
    assert hooks(lm.model) == before
    for number, p in enumerate(PROMPTS):
        naive = Naive(lm, family, p, corrupted[number])
        np.testing.assert_allclose(passes.readings[number, 0, 0], naive.clean_value, atol=1e-5)
        for sample in range(SAMPLES):
            expected = [naive.value(sample, cell) for cell in cells if cell.prompt == number]
            mine = [place for place, cell in enumerate(cells) if cell.prompt == number]
            np.testing.assert_allclose(restored.values[mine, sample, 0], expected, rtol=0, atol=1e-5)
    # The noise matters, or equality would show nothing.
    assert float((passes.readings[:, 1:, 0] - passes.readings[:, :1, 0]).abs().max()) > 0.01
    filled = [cell for cell in cells if cell.cone is not Cone.COMPUTE]
    assert 0 < len(filled) == len(cells) - restored.rows // SAMPLES


@pytest.mark.parametrize(
    ("family", "window", "span"), [("gemma2", 3, 1), ("gpt2", 2, 2), ("opt", 1, "subject")]
)
def test_windows_spans_and_whole_targets(lm_of, family, window, span):
    lm = lm_of(family)
    passes, sublayers, corrupted = set_up(lm, PROMPTS, rows=5, read="all")
    assert_invariants(lm, passes, PROMPTS, KINDS, sublayers)
    cells = [c for n, p in enumerate(PROMPTS) for c in cells_of(n, p, lm.depth, KINDS, window, span, "all")]
    restored = restore(lm, passes, cells, sublayers)
    for number, p in enumerate(PROMPTS):
        naive = Naive(lm, family, p, corrupted[number], "all")
        for place, cell in enumerate(cells):
            if cell.prompt == number:
                expected = naive.value(1, cell)
                assert restored.values[place, 1, 0] == pytest.approx(expected, abs=1e-5), cell


def test_logit_and_rank(lm_of):
    lm = lm_of("llama")
    p = PROMPTS[0]
    passes, _, _ = set_up(lm, [p], kinds=("block",))
    with torch.no_grad():
        logits = lm.model(input_ids=torch.tensor([p.ids])).logits[0, p.predict]
    assert float(passes.readings[0, 0, 1]) == pytest.approx(float(logits[p.target[0]]), abs=1e-5)
    order = logits.argsort(descending=True).tolist()
    assert int(passes.readings[0, 0, 2]) == order.index(p.target[0]) + 1


@pytest.mark.parametrize(
    ("change", "words"),
    [((0, 1), "before the subject"), ((1, 1), "behind the prediction"), ((0, 0), "that is read")],
)
def test_a_broken_invariant_names_the_model(lm_of, change, words):
    lm = lm_of("llama")
    passes, sublayers, _ = set_up(lm, PROMPTS, kinds=("block",))
    wrong = passes.readings.clone()
    wrong[*change, 0] += 3e-5
    with pytest.raises(InputError, match="llama: tracing is not valid on this model") as caught:
        assert_invariants(lm, replace(passes, readings=wrong), PROMPTS, ("block",), sublayers)
    assert words in str(caught.value)


def test_a_model_that_mixes_rows_is_refused(lm_of):
    """An invariant catches what no flag says: rows of a batch that influence each other."""
    lm = lm_of("gpt2")
    passes, sublayers, _ = set_up(lm, PROMPTS, kinds=("block",))
    handle = lm.blocks[2].register_forward_hook(
        lambda _m, _a, out: out + 1e-3 * out.mean(0) if torch.is_tensor(out) else (out[0] + 1e-3, *out[1:])
    )
    try:
        with pytest.raises(InputError, match="gpt2: tracing is not valid"):
            assert_invariants(lm, passes, PROMPTS, ("block",), sublayers)
    finally:
        handle.remove()
