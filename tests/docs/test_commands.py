"""Every command and all Python on the pages runs, those of a page in their order and in one folder.

What is too large or too far away for a test is replaced by the table below, and by nothing else.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import MODEL, PAGES, ROOT, Block, blocks, failure, workplace

from depthlaw.cli.app import VERBS, build_app
from depthlaw.plots import style

STAND_INS = {
    # models of the hub: one of 260 thousand parameters and 5 blocks, whole or its first blocks
    "EleutherAI/pythia-70m": "./three-blocks",
    "EleutherAI/pythia-160m": "./four-blocks",
    "EleutherAI/pythia-410m": MODEL,
    "HuggingFaceTB/SmolLM2-135M-Instruct": MODEL,
    # text of the hub: four documents
    "hf:HuggingFaceFW/fineweb": "notes.jsonl",
    # more text, prompts and draws than a test needs
    '"50k tokens"': '"400 tokens"',
    '"20k tokens"': '"400 tokens"',
    '"8k tokens"': '"400 tokens"',
    "--limit 50 --samples 3": "--limit 2 --samples 1",
    # block numbers of larger models
    "0-7,12,12,8-11,13-": "0-1,3,3,2,4-",
    "0-4,6-": "0-2,4-",
    "--drop 4": "--drop 1",
    # longer and larger training
    "--steps 2000 --batch 512": "--steps 2 --batch 64 --teacher.depth 8",
    "--steps 4000": "--steps 4 --batch 64 --teacher.depth 8",
    "--steps 6000 --replicates 3 --engine fused": "--steps 2 --batch 64 --teacher.depth 8",
    "steps=4000": "steps=2, batch=64",
    "reproduce --scale small\n": "reproduce fig2f --scale smoke\n",
    "depthlaw-reproduce/small": "depthlaw-reproduce/smoke",
    "--scale small": "--scale smoke",
}
MARKED = 3
"""How many blocks may be marked as not run, each with its reason in the page."""

DATA = ("runs/", "my-model", "notes.jsonl", "known_facts.json", MODEL, "-blocks")
"""What comes from $DEPTHLAW_DATA and $DEPTHLAW_MODELS."""

BLOCKS = {page: blocks(page) for page in PAGES}
EVERY = [block for its in BLOCKS.values() for block in its]


def needs_data(page: Path) -> bool:
    return any(word in block.standing_in(STAND_INS).text for block in BLOCKS[page] for word in DATA)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with what the pages name, without a network; figures in one format, for speed."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(style, "FORMATS", ("svg",))
    data, models = (os.environ.get(f"DEPTHLAW_{name}") for name in ("DATA", "MODELS"))
    real = Path(models).resolve() if models else None
    with workplace(Path(data).resolve() if data else None, real) as folder:
        if real is not None:
            first_blocks(real / MODEL, Path("three-blocks"), 3)
            first_blocks(real / MODEL, Path("four-blocks"), 4)
        yield folder


def first_blocks(model: Path, to: Path, count: int) -> None:
    """Write a Llama model of the first blocks of another."""
    from safetensors.numpy import load_file, save_file

    to.mkdir()
    for file in model.glob("token*.json"):
        (to / file.name).symlink_to(file)
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    (to / "config.json").write_text(json.dumps(config | {"num_hidden_layers": count}), encoding="utf-8")
    weights = load_file(model / "model.safetensors")
    numbers = {name: re.search(r"layers\.(\d+)\.", name) for name in weights}
    kept = {name: weights[name] for name, number in numbers.items() if not number or int(number[1]) < count}
    save_file(kept, to / "model.safetensors", metadata={"format": "pt"})


def run_page(page: Path) -> None:
    names: dict[str, object] = {}
    for block in BLOCKS[page]:
        if not block.not_run:
            wrong = failure(block.standing_in(STAND_INS), names)
            assert not wrong, f"{block.name}\n{wrong}"


@pytest.mark.parametrize("page", [p for p in PAGES if BLOCKS[p] and not needs_data(p)], ids=lambda p: p.name)
def test_what_a_page_shows_is_so(page: Path, place: Path) -> None:
    run_page(page)


@pytest.mark.data
@pytest.mark.parametrize("page", [p for p in PAGES if needs_data(p)], ids=lambda p: p.name)
def test_what_a_page_shows_of_models_and_real_tables_is_so(
    data_dir: Path, models_dir: Path, place: Path, page: Path
) -> None:
    run_page(page)


def test_outputs_are_of_the_very_commands() -> None:
    shown = [block for block in EVERY if block.kind in ("console", "pycon")]
    assert not [block.name for block in shown if block.standing_in(STAND_INS) != block]


@pytest.mark.parametrize("stand_in", STAND_INS)
def test_every_stand_in_is_needed(stand_in: str) -> None:
    assert [block for block in EVERY if stand_in in block.text]


def test_few_blocks_are_not_run() -> None:
    assert len([block for block in EVERY if block.not_run]) == MARKED


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_block_of_commands_is_found(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^[ ]*```+(.*)$", text, flags=re.MULTILINE)
    kinds = {kind for kind in fences[::2] if not kind.startswith("{")}
    assert kinds <= {"console", "sh", "python", "pycon", "text"}
    assert len(re.findall(r"^```(console|sh|python|pycon)$", text, re.MULTILINE)) == len(BLOCKS[page])
    marked = [block for block in BLOCKS[page] if block.not_run]
    assert len(re.findall(r"^<!-- not run", text, re.MULTILINE)) == len(marked)
    assert not re.findall(r"^ {4}(\$ )?depthlaw ", text, re.MULTILINE), "an indented command is not run"


@pytest.mark.parametrize("block", [b for b in EVERY if b.kind == "sh"], ids=lambda b: b.name)
def test_commands_are_real_as_they_stand(block: Block) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE))
    for words in block.commands():
        if words[0] == "depthlaw":
            build_app().parse_args(words[1:])
        elif words[0] == "make":
            assert set(words[1:]) <= targets
        elif words[0] == "python":
            assert (ROOT / words[1]).is_file()
        else:
            assert shlex.join(words) == "pip install ."


def test_every_verb_has_a_page_of_its_own_that_runs_it() -> None:
    for verb in set(VERBS) - {"show"}:
        page = ROOT / "docs" / f"{verb}.md"
        assert page.is_file(), verb
        assert [b for b in BLOCKS[page] if f"depthlaw {verb} " in b.text], verb
