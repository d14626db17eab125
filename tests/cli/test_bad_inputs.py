"""Every verb given what it cannot use: the right exit code, and at most three lines that say what to do.

`command` checks of every line that it stays without traceback and within three lines of error. Exit codes:
2 the command cannot be meant, 3 something that was named cannot be used, 4 the data cannot answer.
"""

from __future__ import annotations

import pytest

from depthlaw.cli.app import VERBS

PLACES = {
    "fit RUNS": "fit {}",
    "fit --against": "fit runs.csv --starts 64 --against {}",
    "fit --config": "fit runs.csv --config {}",
    "compare RUNS": "compare {}",
    "sensitivity RUNS": "sensitivity {}",
    "predict LAW": "predict {} --width 512",
    "predict --points": "predict fit.json --points {}",
    "plan LAW": "plan {} --params 1e9",
    "plan --against": "plan fit.json --params 1e9 --resamples 50 --against {}",
    "plan --config": "plan fit.json --config {}",
    "design LAW": "design {} --budget 1e20",
    "lab --config": "lab --dry-run --config {}",
    "probe MODEL": "probe {} --text text.txt",
    "probe --text": "probe model --text {}",
    "family RUNS": "family probes/4 probes/6 {}",
    "trace MODEL": "trace {} --prompts prompts.jsonl",
    "trace --prompts": "trace model --prompts {}",
    "ablate MODEL": "ablate {} --text text.txt",
    "ablate --text": "ablate model --text {}",
    "report DIR": "report {}",
}
"""Where each verb takes a file or folder."""

TABLES = ("fit RUNS", "compare RUNS", "sensitivity RUNS", "predict LAW", "plan LAW", "design LAW")
POINTS = (*TABLES, "predict --points")
LAWS = ("fit --against", "plan --against")
CONFIGS = ("fit --config", "plan --config", "lab --config")
MODELS = ("probe MODEL", "trace MODEL", "ablate MODEL")
TEXTS = ("probe --text", "ablate --text")

FILES: dict[str, list[tuple[tuple[str, ...], str, int, str]]] = {
    "nothing there": [
        (POINTS, "run.csv", 3, "run.csv: there is no such file or folder.\nDid you mean runs.csv?"),
        (LAWS, "fti.json", 3, "fti.json: there is no such file or folder.\nDid you mean fit.json?"),
        (LAWS, "papr", 2, 'point "papr" not found (have: paper).\nDid you mean --against paper?'),
        (CONFIGS, "typs.toml", 2, "there is no such file or folder.\nDid you mean types.toml?"),
        (MODELS, "modle", 3, "modle: the model cannot be loaded"),
        (MODELS, "modle.gguf", 3, "modle.gguf: there is no such file or folder."),
        (TEXTS, "texts.txt", 3, "there is no such file or folder.\nDid you mean text.txt?"),
        (("trace --prompts",), "prompt.jsonl", 3, "Did you mean prompts.jsonl?"),
        (("family RUNS",), "probes/7", 3, "probes/7: there is no such file or folder."),
        (("report DIR",), "nowhere", 3, "nowhere"),
    ],
    "an empty file": [
        (POINTS, "empty.csv", 3, "empty.csv: is empty."),
        (POINTS, "empty.parquet", 3, "empty.parquet: is empty."),
        (LAWS, "empty.json", 3, "empty.json is not a saved fit (the file is empty)."),
        (MODELS, "empty.txt", 3, "empty.txt: is a file, and no model."),
        (MODELS, "empty.gguf", 3, "empty.gguf: the model cannot be loaded"),
        (TEXTS, "empty.txt", 3, "empty.txt: no document has two tokens"),
        (("trace --prompts",), "empty.jsonl", 3, "empty.jsonl: there are no prompts in it."),
        (("family RUNS",), "empty.txt", 3, "empty.txt: holds no run."),
        (("report DIR",), "empty.txt", 3, "empty.txt"),
    ],
    "a folder": [
        (POINTS, "void", 3, "void: this folder holds no table of runs."),
        (LAWS, "void", 3, "void/fit.json: there is no such file or folder."),
        (CONFIGS, "void", 2, "void: cannot be read (is a directory)."),
        (MODELS, "void", 3, "void: this folder holds no model (no config.json)."),
        (TEXTS, "void", 3, "void: this folder holds no text."),
        (("trace --prompts",), "void", 3, "void: cannot be read (is a directory)."),
        (("family RUNS",), "void", 3, "void: holds no run."),
        (("family RUNS",), "model", 3, "model: holds no run."),
        (("report DIR",), "void", 3, "void"),
    ],
    "a binary file": [
        (POINTS, "binary.csv", 3, "binary.csv: is a binary file, not text."),
        (POINTS, "binary.parquet", 3, "binary.parquet: is not a Parquet file"),
        (LAWS, "binary.json", 3, "binary.json: cannot be read (not UTF-8 text)."),
        (CONFIGS, "binary.toml", 2, "binary.toml: cannot be read (not UTF-8 text)."),
        (MODELS, "binary.txt", 3, "binary.txt: is a file, and no model."),
        (MODELS, "binary.gguf", 3, "binary.gguf: the model cannot be loaded"),
        (TEXTS, "binary.txt", 3, "is not UTF-8"),
        (TEXTS, "binary.parquet", 3, "binary.parquet: is not a readable Parquet file"),
        (("trace --prompts",), "binary.jsonl", 3, "binary.jsonl: is a binary file, not text."),
    ],
    "what may not be read": [  # below a file: also root is refused
        (POINTS, "runs.csv/x.csv", 3, "runs.csv/x.csv: cannot be read (not a directory)."),
        (LAWS, "fit.json/x.json", 3, "x.json: there is no such file or folder."),
        (CONFIGS, "types.toml/x.toml", 2, "types.toml/x.toml: cannot be read (not a directory)."),
        (("trace --prompts",), "prompts.jsonl/x", 3, "prompts.jsonl/x: cannot be read (not a directory)."),
        (("family RUNS",), "runs.csv/x", 3, "runs.csv/x: there is no such file or folder."),
    ],
    "another kind of file": [
        (("fit RUNS",), "fit.json", 3, "fit.json"),
        (LAWS, "cut.json", 3, "cut.json is not a saved fit (not JSON"),
        (LAWS, "list.json", 3, "list.json is not a saved fit (its schema is not depthlaw.fit/1)."),
        (("trace --prompts",), "text.txt", 3, "text.txt:1: is no JSON (expecting value"),
        (("trace --prompts",), "list.json", 3, "entry 1: is int, not an object"),
        (TEXTS, "runs.csv", 3, "runs.csv"),
        (TEXTS, "empty.gguf", 3, "empty.gguf: not a known ending for text."),
    ],
    "values that are no loss": [
        (
            TABLES,
            "nan.csv",
            3,
            "1 of 60 rows cannot be used:\nline 2 loss NaN.\nMend them, or leave them out",
        ),
        (TABLES, "inf.csv", 3, "line 2 loss infinite."),
        (TABLES, "zero.csv", 3, "line 2 loss zero."),
        (TABLES, "negative.csv", 3, "line 2 loss negative (-2)."),
        (TABLES, "words.csv", 3, 'line 2 loss not a number ("many").'),
    ],
    "columns that are not known": [
        (
            TABLES,
            "other_columns.csv",
            2,
            "no column was recognised as the loss (have: breadth, n_layer, seen, val).",
        ),
    ],
    "settings that are not known": [
        (CONFIGS, "unknown.toml", 2, "unknown.toml: levle: unknown key"),
        (CONFIGS, "types.toml", 2, 'types.toml: seed: expected a whole number, got "one".'),
        (CONFIGS, "not.toml", 2, "not.toml: not valid TOML"),
    ],
}
"""Kind of mistake → (which places, what is named there, exit code, what is said)."""

CASES = [
    pytest.param(PLACES[place].format(given), code, said, id=f"{kind} - {place} {given}")
    for kind, rows in FILES.items()
    for places, given, code, said in rows
    for place in places
    if place.split()[0] in VERBS
]


@pytest.mark.parametrize(("line", "code", "said"), CASES)
def test_files_that_cannot_be_used(line: str, code: int, said: str, command) -> None:
    answer = command(line)
    assert answer.code == code, answer.err
    assert answer.out == ""
    assert said in answer.error


NAMES = {
    "a verb": ("fitt runs.csv", 'unknown command "fitt"', "Did you mean fit?"),
    "a verb below a verb": ("show evn", 'unknown command "evn"', "Did you mean env?"),
    "a flag": ("fit runs.csv --startz 64", "unknown option --startz", "Did you mean --starts?"),
    "a column": ("fit runs.csv --width d_modle", 'column "d_modle" not found', "--width d_model?"),
    "a column of a law": (
        "plan runs.csv --params 1e9 --width-column d_modle",
        "d_modle",
        "--width-column d_model?",
    ),
    "a column in a condition": ("fit runs.csv --where 'los < 3'", 'column "los"', "Did you mean loss?"),
    "a scale of a form": ("fit runs.csv --form 'width + dept'", "dept", "depth"),
    "a parameter": ("fit runs.csv --fix alpha_depht=1", '"alpha_depht" not found', "alpha_depth?"),
    "a tied exponent": ("fit runs.csv --tie alpha_width=alpha_dept", '"alpha_dept"', "alpha_depth?"),
    "a choice": ("fit runs.csv --objective hubert", 'value "hubert"', 'Did you mean "huber"?'),
    "a curve": ("sensitivity runs.csv --vary offse", 'value "offse"', 'Did you mean "offset"?'),
    "a form to compare": ("compare runs.csv --forms 'width + depht'", "depht", ""),
    "a preset": ("lab kl-tide", 'preset "kl-tide" not found', "Did you mean kl-tied?"),
    "a nested flag": ("lab --teacher.dept 3", "unknown option --teacher.dept", "--teacher.depth?"),
    "a goal": ("design fit.json --budget 1e20 --goal alpha_dept", "alpha_dept", "--goal alpha_depth?"),
    "a family to build": ("plan fit.json --params 1e9 --arch lama", 'value "lama"', '"llama"?'),
    "a text column": ("probe model --text runs.csv --text-column los", "los", "loss"),
    "a dtype": ("probe model --text text.txt --dtype float23", 'dtype "float23"', "float32"),
    "a device": ("probe model --text text.txt --device cuda99x", "cuda99x", ""),
    "a plan of layers": ("ablate model --text text.txt --plan 'skip eahc'", "skip eahc", ""),
    "a block that is not there": ("ablate model --text text.txt --plan 0-9", "9", ""),
    "a subject": ("trace model --prompt 'the cat sat' --subject dog --target sat", "dog", ""),
    "an experiment": ("reproduce fig2x", 'experiment "fig2x" not found', "Did you mean fig2"),
}
"""Kind of name → a line with a slip, and what is said: what was not found, and what is near."""


@pytest.mark.parametrize(("line", "lost", "near"), NAMES.values(), ids=NAMES)
def test_names_with_a_slip(line: str, lost: str, near: str, command) -> None:
    answer = command(line)
    assert answer.code in (2, 3), answer.err
    assert answer.out == ""
    assert lost in answer.error
    assert near in answer.error


NUMBERS = {
    "fit runs.csv": """
        --depth-offset=nan --depth-offset=6 --delta=inf --delta=0 --level=1 --level=nan --starts=3
        --starts=many --starts=9999999999 --resamples=0 --seed=-1 --exclude-highest=-1
        --exclude-highest=60""",
    "compare runs.csv": "--splits=0 --depth-offset=inf",
    "sensitivity runs.csv": "--depth-offset=nan --starts=1.5",
    "predict fit.json --depth 12 --tokens 1e9": "--width=0 --width=-3 --width=nan --width=inf --width=wide",
    "predict fit.json --width 64 --depth 12 --tokens 1e9": "--params=1 --level=2 --resamples=0 --seed=-1",
    "predict fit.json": "--loss=0 --loss=nan --loss=-1 --loss=low",
    "plan fit.json": "--params=nan --params=0 --params=-1 --flops=inf --tokens=1e9",
    "plan fit.json --params 1e9": """
        --level=0.3 --resamples=0 --resamples=9999999999 --seed=-1 --show=-1 --width-multiple=0
        --mlp-ratio=nan --mlp-ratio=0 --head-dim=0 --vocab=-1 --shape=4096 --depth-range=3""",
    "design fit.json": "--budget=0 --budget=nan --budget=-1",
    "design fit.json --budget 1e20": """
        --params=0 --widths=0 --depths=-1 --tokens-grid=nan --most=0 --repeats=-1 --resamples=1 --seed=-1
        --level=nan""",
    "lab --dry-run": """
        --rho=nan --rho=2 --steps=0 --steps=-5 --width=0 --rate.base=nan --rate.base=inf --threads=0 --seed=-1
        --student.depths=0 --student.tableau=nan --first-replicate=9999999999 --checkpoint-every=soon""",
    "probe model --text text.txt": """
        --limit=0 --limit=many --max-length=1 --max-length=nan --batch-size=0 --batch-size=9999999999""",
    "family probes/4 probes/6 probes/8": "--level=nan --level=0.2",
    "trace model --prompts prompts.jsonl": """
        --samples=0 --samples=nan --window=0 --span=0 --limit=-1 --seed=-1 --batch-size=-2 --noise=snan
        --noise=loud --samples=9999999999""",
    "ablate model --text text.txt": """
        --samples=0 --drop=0 --limit=-3 --max-length=0 --seed=-1 --batch-size=none --depth-law=1
        --max-length=9999999999""",
    "reproduce fig2f": "--jobs=0 --jobs=-1 --jobs=all",
}
"""Line → numbers that cannot be meant there."""


@pytest.mark.parametrize(
    "line",
    [f"{line} {flag.replace('=', ' ', 1)}" for line, flags in NUMBERS.items() for flag in flags.split()],
)
def test_numbers_that_cannot_be_meant(line: str, command) -> None:
    answer = command(line)
    assert answer.code == 2, answer.err
    assert answer.out == ""
    assert len(answer.error) > len("depthlaw: ")


def test_every_verb_is_in_the_tables() -> None:
    lines = [*PLACES.values(), *(line for line, _, _ in NAMES.values()), *NUMBERS]
    assert {line.split()[0] for line in lines} >= set(VERBS)
