"""What a result was made with: versions and the machine, found without importing what is heavy."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("depthlaw", "numpy", "scipy", "pyarrow", "matplotlib", "torch", "transformers", "safetensors")

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True)
class Machine:
    """The computer, as far as it explains results and speed.

    Attributes
    ----------
    system
        Operating system and version.
    cpu
        Model name, as the processor reports it.
    cores
        Cores this process may run on (its affinity, not what the machine has).
    memory_bytes
        Main memory, or the limit of the container when that is lower; ``None`` when unknown.
    instruction_sets
        Which of the vector instruction sets that matter here the processor has; empty when unknown.
    """

    system: str
    cpu: str
    cores: int
    memory_bytes: int | None
    instruction_sets: tuple[str, ...]


def package_versions() -> dict[str, str | None]:
    """Return the installed version of Python and of each of `PACKAGES`, ``None`` where not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    if found["depthlaw"] is None:  # run from a source tree that is not installed
        from depthlaw import __version__

        found["depthlaw"] = __version__
    return found


def machine() -> Machine:
    """Describe this computer; what cannot be found out is left open, never guessed."""
    info = _cpuinfo()
    flags = info.get("flags", info.get("Features", "")).split()
    wanted = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve")
    return Machine(
        system=platform.platform(),
        cpu=info.get("model name") or platform.processor() or platform.machine(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=_memory(),
        instruction_sets=tuple(name for name in wanted if name in flags),
    )


def _cpuinfo() -> dict[str, str]:
    """Return the first processor's entry of ``/proc/cpuinfo``; empty where there is none."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n", 1)[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _memory() -> int | None:
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total
