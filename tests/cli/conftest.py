"""A folder with everything that commands are given, good and bad; and how to give it."""

from __future__ import annotations

import csv
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from depthlaw.cli import main


@dataclass(frozen=True)
class Answer:
    """What a command returned and said."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The part of stderr that is the error; how a table was read, and progress, may stand before it."""
        return self.err[self.err.rindex("depthlaw: ") :] if "depthlaw: " in self.err else ""


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], workspace: Path):
    """Run a command line given as one text; its errors have three lines at most and no traceback."""

    def run(line: str) -> Answer:
        code = main(shlex.split(line))
        out, err = capsys.readouterr()
        answer = Answer(code, out, err)
        assert "Traceback" not in err
        assert "internal error" not in err
        assert len(answer.error.splitlines()) <= 3, answer.error
        return answer

    return run


@pytest.fixture
def workspace(made_workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, on a machine without data, models and network."""
    for name in ("DEPTHLAW_DATA", "DEPTHLAW_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DEPTHLAW_CACHE", str(made_workspace / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    # The libraries read that variable once, at import.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(made_workspace)
    return made_workspace


@pytest.fixture(scope="session")
def made_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its path holds spaces and letters beyond ASCII, so that every test here is one of those too."""
    root = tmp_path_factory.mktemp("work") / "mein Ordner – 層"
    root.mkdir()
    _tables(root)
    _models(root)
    _bad_files(root)
    return root


def _tables(root: Path) -> None:
    from depthlaw.laws.fit import fit
    from depthlaw.reproduce.made import made_runs

    columns = made_runs()
    with (root / "runs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    fit(columns, starts=64).save(root / "fit.json")
    header, first, *rest = (root / "runs.csv").read_text().splitlines()
    cells = first.split(",")
    for name, value in (("nan", "nan"), ("inf", "inf"), ("zero", "0"), ("negative", "-2"), ("words", "many")):
        bad = ",".join([*cells[:-1], value])
        (root / f"{name}.csv").write_text("\n".join([header, bad, *rest]) + "\n")
    (root / "other_columns.csv").write_text("breadth,n_layer,seen,val\n1,2,3,4\n5,6,7,8\n")


def _models(root: Path) -> None:
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from depthlaw.models import adopt
    from depthlaw.probe.run import probe

    texts = [f"the cat sat on the mat number {number}" for number in range(6)]
    (root / "text.txt").write_text("\n<|endoftext|>\n".join(texts))
    lines = [
        f'{{"prompt": "{t}", "subject": "cat", "target": "mat", "id": "{n}"}}' for n, t in enumerate(texts)
    ]
    (root / "prompts.jsonl").write_text("\n".join(lines) + "\n")
    letters = {letter: place for place, letter in enumerate("\0 abcdefghijklmnopqrstuvwxyz0123456789")}
    tokenizer = Tokenizer(models.WordLevel(letters, unk_token="\0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="\0")
    for depth in (4, 6, 8):
        torch.manual_seed(depth)
        sizes = {"vocab_size": len(letters), "hidden_size": 16, "intermediate_size": 32}
        config = LlamaConfig(**sizes, num_hidden_layers=depth, num_attention_heads=2, eos_token_id=0)
        model = LlamaForCausalLM(config).float()
        probe(
            adopt(model, fast, name=f"tiny-{depth}"), texts, max_length=16, out=root / "probes" / str(depth)
        )
        if depth == 4:
            model.save_pretrained(root / "model")
            fast.save_pretrained(root / "model")


def _bad_files(root: Path) -> None:
    for ending in ("csv", "json", "jsonl", "parquet", "toml", "txt", "gguf"):
        (root / f"empty.{ending}").touch()
        (root / f"binary.{ending}").write_bytes(bytes(range(256)) * 20)
    (root / "void").mkdir()
    (root / "foreign").mkdir()
    (root / "foreign" / "thesis.tex").write_text("years of work")
    (root / "cut.json").write_text((root / "fit.json").read_text()[:500])
    (root / "list.json").write_text("[1, 2, 3]")
    (root / "unknown.toml").write_text("levle = 0.9\nseeed = 1\n")
    (root / "types.toml").write_text('seed = "one"\n')
    (root / "not.toml").write_text("seed: 1\n")
