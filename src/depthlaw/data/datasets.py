"""Public tables that experiments need: where to look for them, and how to fetch what may be fetched."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from depthlaw.data.files import write_file
from depthlaw.errors import InputError, cannot_read, unknown_name
from depthlaw.places import folders

TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Dataset:
    """A published file.

    Attributes
    ----------
    path
        Where it lies below ``$DEPTHLAW_DATA`` and below the cache.
    url, sha256
        Where it is published, at a fixed commit, and what its content must hash to.
    source
        Where it comes from, for people.
    redistribute
        Whether its rows may be passed on; fits and figures always may.
    """

    path: str
    url: str
    sha256: str
    source: str
    redistribute: bool


DATASETS = {
    "chinchilla": Dataset(
        path="runs/chinchilla.csv",
        url=(
            "https://raw.githubusercontent.com/liuyz0/DepthScaling/"
            "07360e3/Scaling/get_fitting_data_chinchilla.csv"
        ),
        sha256="cb474e8f5fc87be4132190a0c782d1521c4f06b9c041395b3a78ff2ffc34f83e",
        source="liuyz0/DepthScaling at 07360e3, after Epoch AI's reconstruction; no licence stated",
        redistribute=False,
    ),
}


def find_dataset(name: str, *, download: bool = True) -> Path:
    """Return the path of a dataset: ``$DEPTHLAW_DATA``, else the cache, else a download into the cache.

    Parameters
    ----------
    download
        Whether to fetch it when it is nowhere on this machine (never with ``HF_HUB_OFFLINE=1``).

    Raises
    ------
    InputError
        If it is nowhere to be had, or its content is not the published one.
    UsageError
        If there is no dataset of that name.
    """
    if name not in DATASETS:
        raise unknown_name("dataset", name, DATASETS)
    dataset = DATASETS[name]
    places = folders()
    for variable in ("DEPTHLAW_DATA", "DEPTHLAW_CACHE"):
        root = places[variable]
        if root is not None and (root / dataset.path).is_file():
            return _verified(root / dataset.path, dataset)
    cache = places["DEPTHLAW_CACHE"]
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
    if not download or offline or cache is None:
        raise InputError(
            f"dataset {name} is not on this machine, and fetching it is switched off.",
            f"Set DEPTHLAW_DATA to a folder that holds {dataset.path}.",
        )
    try:
        with urllib.request.urlopen(dataset.url, timeout=TIMEOUT_S) as answer:
            content = answer.read()
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        raise InputError(
            f"dataset {name} is not on this machine and could not be fetched ({_reason(error)}).",
            f"Set DEPTHLAW_DATA to a folder that holds {dataset.path}, or try again with a connection.",
        ) from error
    if hashlib.sha256(content).hexdigest() != dataset.sha256:
        raise InputError(
            f"dataset {name}: {dataset.url} is not the file that was published (sha256 differs)."
        )
    write_file(cache / dataset.path, content)
    return cache / dataset.path


def _verified(path: Path, dataset: Dataset) -> Path:
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise cannot_read(path, error) from error
    if found != dataset.sha256:
        raise InputError(
            f"{path} is not the published table (sha256 {found[:12]}…, expected {dataset.sha256[:12]}…).",
            "Delete it to fetch it anew, or fit it as a table of your own: depthlaw fit FILE.",
        )
    return path


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", error)) or type(error).__name__
