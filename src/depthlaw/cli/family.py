"""``depthlaw family``: how the angle in the middle falls with depth over models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.errors import ExitCode
from depthlaw.probe.family import FAMILY_UNITS, FamilyConfig, family
from depthlaw.probe.profile import read_profile
from depthlaw.report.family import family_payload, family_text, write_family

DEFAULTS = FamilyConfig()


def family_command(
    runs: list[Path],
    /,
    *,
    config: Annotated[FamilyConfig, SETTINGS] = DEFAULTS,
    file: ConfigFile = NO_FILE,
    output: Output = TO_TERMINAL,
) -> int:
    """Fit how the mean angle between neighbouring states in the middle of a model falls with its depth.

    Parameters
    ----------
    runs
        Folders that depthlaw probe --out wrote, one a model; three at least.
    """
    profiles = [read_profile(run) for run in runs]
    if output.dry_run:
        models = ", ".join(f"{profile.name} ({profile.depth} blocks)" for profile in profiles)
        output.emit_plan(config, [f"fit the middle angle against the depth of {models}"])
        return ExitCode.DONE
    identity = {"probes": [profile.run_id for profile in profiles]}
    with output.run("family", config=config, identity=identity, units=FAMILY_UNITS) as folder:
        found = family(profiles, config)
        if folder is not None and not folder.complete:
            write_family(folder, found)
            note(f"wrote {folder.folder}")
    output.emit(family_payload(found), family_text(found))
    return ExitCode.DONE if found.fit.identified else ExitCode.NOT_IDENTIFIED
