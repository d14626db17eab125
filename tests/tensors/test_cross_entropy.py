import pytest
import torch

from depthlaw.tensors.cross_entropy import cross_entropy, predict, read_layers


def draw(*shape, seed=0, scale=1.0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def reference(logits, final, targets):
    """Float64: cross-entropy, entropy, KL(final ‖ layer)."""
    log_p, log_f = logits.double().log_softmax(-1), final.double().log_softmax(-1)
    ce = -log_p.gather(-1, targets[:, None])[:, 0]
    return ce, -(log_p.exp() * log_p).sum(-1), (log_f.exp() * (log_f - log_p)).sum(-1)


@pytest.mark.parametrize("chunk", [1, 7, 64])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_readings_against_float64(chunk, scale):
    head = draw(16, 301, seed=9, scale=scale)
    states = [draw(40, 16, seed=seed) for seed in range(4)]
    targets = torch.randint(0, 301, (40,), generator=torch.Generator().manual_seed(1))
    got = read_layers([s.float() for s in states], targets, lambda h: h @ head.float(), chunk=chunk)
    for layer, state in enumerate(states):
        expected = reference(state @ head, states[-1] @ head, targets)
        for value, true in zip((got.cross_entropy, got.entropy, got.divergence), expected, strict=True):
            torch.testing.assert_close(value[layer].double(), true, rtol=1e-4, atol=1e-4)
    assert bool((got.divergence[-1] == 0).all())
    own = cross_entropy(states[-1].float(), targets, lambda h: h @ head.float(), chunk=chunk)
    torch.testing.assert_close(own, got.cross_entropy[-1])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_logits_are_summed_in_float32(dtype):
    logits = draw(5, 60_000, scale=3.0).to(dtype)
    targets = torch.arange(5)
    got = predict(logits)
    ce, entropy, _ = reference(logits, logits, targets)
    assert got.entropy().dtype == torch.float32
    torch.testing.assert_close(got.cross_entropy(targets).double(), ce, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(got.entropy().double(), entropy, rtol=1e-4, atol=1e-4)


def test_huge_logits_do_not_overflow():
    logits = torch.tensor([[1e30, -1e30, 0.0], [-1e4, -1e4, -1e4]])
    got = predict(logits)
    assert got.cross_entropy(torch.tensor([0, 1])).tolist() == pytest.approx([0, 1.0986123])
    assert got.entropy().tolist() == pytest.approx([0, 1.0986123])


def test_no_tokens_is_no_reading():
    targets = torch.empty(0, dtype=torch.int64)
    assert cross_entropy(torch.empty(0, 4), targets, lambda h: h).shape == (0,)
    assert read_layers([torch.empty(0, 4)] * 3, targets, lambda h: h).entropy.shape == (3, 0)


@pytest.mark.parametrize("offset", [0.0, -300.0])
def test_divergence_over_a_large_vocabulary_with_an_offset(offset):
    """Logits of trained models are around −30 or −300, and a sum over a vocabulary has many terms."""
    rng = torch.Generator().manual_seed(3)
    # Numbers that float32 holds with the offset, too.
    a, b = ((3 * torch.randn(16, 50_257, generator=rng) * 1024).round() / 1024 for _ in range(2))
    p, q = a.double().log_softmax(-1), b.double().log_softmax(-1)
    found = predict(a + offset).divergence_of(predict(b + offset)).double()
    # KL is 9 here; one sum over the vocabulary is off by 7e-4.
    torch.testing.assert_close(found, (p.exp() * (p - q)).sum(-1), rtol=0, atol=5e-5)
