"""``depthlaw show env``: what results on this machine depend on."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from depthlaw.cli.output import TEXT, Format
from depthlaw.data.environment import THREAD_VARIABLES, machine, package_versions
from depthlaw.places import folders
from depthlaw.report.text import table


def show_env_command(*, output: Format = TEXT) -> None:
    """Versions, machine, threads, and where data is looked for."""
    facts = environment()
    output.emit(facts, _as_text(facts))


def environment() -> dict[str, Any]:
    """Collect the facts, as they go into ``--json``."""
    return {
        "versions": package_versions(),
        "commit": _commit(),
        "machine": asdict(machine()),
        "blas": _blas(),
        "kernel": _kernel(),
        "threads": {name: os.environ.get(name) for name in THREAD_VARIABLES},
        "folders": {
            name: {"path": path, "exists": path is not None and path.is_dir()}
            for name, path in folders().items()
        },
    }


def _as_text(facts: Mapping[str, Any]) -> str:
    rows = [[name, version or "not installed"] for name, version in facts["versions"].items()]
    if facts["commit"]:
        rows.append(["commit", facts["commit"]])
    rows.append(["", ""])
    rows += [
        [name.removesuffix("_bytes").replace("_", " "), _fact(name, value)]
        for name, value in facts["machine"].items()
    ]
    blas = facts["blas"]
    rows.append(["blas", f"{blas['name']} {blas['version']}"])
    rows.append(["blas threads", _fact("threads", blas["threads"])])
    rows += [[name, value or "not set"] for name, value in facts["threads"].items()]
    rows.append(["compiled kernel", facts["kernel"]])
    rows.append(["", ""])
    for name, folder in facts["folders"].items():
        path = folder["path"]
        rows.append(
            [name, "not set" if path is None else f"{path}{'' if folder['exists'] else ' (no such folder)'}"]
        )
    return table(rows)


def _fact(name: str, value: Any) -> str:
    if name == "memory_bytes" and value is not None:
        return f"{value / 2**30:.1f} GiB"
    return " ".join(value) if isinstance(value, tuple) else "unknown" if value is None else str(value)


def _blas() -> dict[str, Any]:
    """Return the name and version NumPy was built with, and its threads where threadpoolctl can tell."""
    import numpy as np

    built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    found = {"name": built.get("name"), "version": built.get("version"), "threads": None}
    if importlib.util.find_spec("threadpoolctl"):
        pools = importlib.import_module("threadpoolctl").threadpool_info()
        found["threads"] = next((pool["num_threads"] for pool in pools if pool["user_api"] == "blas"), None)
    return found


def _kernel() -> str:
    """Return the instruction set that the laboratory's compiled kernel would use, or why there is none."""
    from depthlaw.tensors import fused

    found = fused.available()
    return f"none: {found.reason}" if isinstance(found, fused.Unavailable) else str(found)


def _commit() -> str | None:
    """Return the git commit of a source checkout, with ``+`` when it has changes; else ``None``."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
