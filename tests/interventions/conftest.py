"""The tiny models of tests/models, four blocks deep."""

import functools
import importlib.util
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "models" / "conftest.py"
spec = importlib.util.spec_from_file_location("tiny_models", SOURCE)
tiny = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)

DEPTH = 4
FAMILIES = tuple(tiny.FAMILIES)


@functools.cache
def adopted(family):
    """A checked model of the family; shared between tests, which leave it as it was."""
    import torch
    import transformers

    from depthlaw.models import adopt

    kind, settings = tiny.FAMILIES[family]
    deep = {name: DEPTH for name in ("num_hidden_layers", "n_layer", "n_layers") if name in settings}
    config_name, model_name = tiny.CLASSES.get(kind, (f"{kind}Config", f"{kind}ForCausalLM"))
    torch.manual_seed(1)
    model = getattr(transformers, model_name)(getattr(transformers, config_name)(**{**settings, **deep}))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 0.15)
            else:
                parameter.add_(0.1 * torch.randn_like(parameter))
    # Dropout would make the plain forward passes of the tests random.
    return adopt(model.float().eval(), name=family)


@pytest.fixture
def lm_of():
    return adopted


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture
def lm(family):
    return adopted(family)


def hooks_of(model):
    tables = ("_forward_hooks", "_forward_pre_hooks")
    return [(name, [list(getattr(m, t)) for t in tables], m.training) for name, m in model.named_modules()]


@pytest.fixture
def hooks():
    return hooks_of


@pytest.fixture(scope="session")
def stories(models_dir):
    """A small trained model."""
    from depthlaw.models import load_model

    return load_model("stories260K", device="cpu")
