"""Known defects of the published probe, each with the number it gives and the corrected one.

Both come from the same tokens of the same pass: the published numerics are measured beside the corrected.
"""

from __future__ import annotations

import numpy as np

from depthlaw.probe.shares import share_of
from depthlaw.reproduce.outcome import Correction
from depthlaw.reproduce.probe_runs import Probed


def normed_state(probe: Probed) -> Correction:
    """Defect 1: the last state that the library hands out is one after the final norm."""
    result = probe.result
    normed = "theta_state_normed" in result.quantities
    what = "last θ" if normed else "last θ; this model has no final norm"
    return Correction(
        f"{probe.name}: the reference takes the last state after the final norm ({what}).",
        float(result.layers("theta_state_normed")[0]) if normed else None,
        float(result.layers("theta_state")[-1]),
        "rad",
    )


def normed_update(probe: Probed) -> Correction:
    """Defects 1 and 2 at the last angle between updates."""
    return Correction(
        f"{probe.name}: the reference takes the last state after the final norm, in bfloat16 (last θ(Δh)).",
        float(probe.result.layers("paper_theta_update")[-1]),
        float(probe.result.layers("theta_update")[-1]),
        "rad",
    )


def coarse_angles(probe: Probed) -> tuple[Correction, ...]:
    """Defect 2: cosines in bfloat16, whose acos gives no angle between 0 and 0.088 rad."""
    return tuple(
        Correction(
            f"{probe.name}: the reference takes acos of bfloat16 cosines, which gives no angle between 0 and "
            f"0.088 rad; we take 2·atan2 in float32 (mean middle θ of {of}).",
            probe.result.middle("paper_theta_state", tokens),
            probe.result.middle("theta_state", tokens),
            "rad",
        )
        for tokens, of in (("all", "all tokens"), ("first", "first tokens"))
    )


def first_tokens(probe: Probed, quantity: str = "theta_state") -> Correction:
    """Defect 4: first tokens of documents, attention sinks, enter every mean."""
    symbol = "θ" if quantity == "theta_state" else "θ(Δh)"
    return Correction(
        f"{probe.name}: in the reference, first tokens of documents enter every mean (mean middle {symbol}).",
        probe.result.middle(quantity),
        probe.result.middle(quantity, "rest"),
        "rad",
    )


def first_tokens_among_early(probe: Probed) -> Correction:
    """Defect 4 in the share of early stoppers."""
    found, sample = probe.trajectories
    what = "share of early stoppers"
    shares: tuple[float | None, float | None] = (None, None)
    if found.early is None:
        what += "; the data do not support a second cluster"
    else:
        later = np.isfinite(found.probability) & ~sample.is_first
        without = share_of(found.probability[later] > 0.5, sample.document[later])
        shares = (found.early.share.value, without.value)
    return Correction(f"{probe.name}: the reference counts first tokens of documents too ({what}).", *shares)


def padding_mask(probe: Probed) -> Correction:
    """Defect 3: the mask that the script for Pythia builds by hand leaves the last block the future."""
    theirs, ours = (probe.result.layers(name)[:-1] for name in ("paper_lens_ce", "lens_ce"))
    defect = "the reference's script for Pythia reads states through a mask that only hides padding"
    if np.array_equal(theirs, ours):
        # For other families the published scripts are causal, and the two are one.
        said = f"{probe.name}: {defect}; this is no GPT-NeoX model and cannot show it."
        return Correction(said, None, None, "nats")
    return Correction(
        f"{probe.name}: {defect}, so that the last block sees later tokens, as the installed transformers "
        "runs it (mean cross-entropy of all readings but the last).",
        float(theirs.mean()),
        float(ours.mean()),
        "nats",
    )
