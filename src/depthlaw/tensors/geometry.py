"""Geometry of a residual stream: angles between states and between updates, norms, projections.

Arithmetic is float32, or float64 for float64 input, whatever the dtype of the states. Angles are
``2·atan2(‖u − v‖, ‖u + v‖)`` on unit vectors: acos of a cosine loses every angle below the square root of the
precision, which is where the middle of a deep network lives. The functions named ``paper_…`` reproduce the
published numerics instead, bfloat16 cosines and acos, for comparison only.

States ``h_l`` are the input of the first block (``l = 0``) and the outputs of the blocks
(``l = 1 … layers``); updates are ``Δh_l = h_{l+1} − h_l``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

# Between these norms, squares of float32 components neither overflow nor lose bits.
_SMALL, _LARGE = 1e-15, 1e15


@dataclass(frozen=True)
class Geometry:
    """What the states of one set of tokens look like, layer by layer.

    Shapes are ``(…, tokens)`` with the layer first; angles in radians, float32 or better.

    Attributes
    ----------
    theta_state
        (layers, tokens) θ(h_l, h_{l+1}).
    theta_update
        (layers − 1, tokens) θ(Δh_l, Δh_{l+1}).
    theta_final
        (layers, tokens) θ(h_l, h_layers) for l < layers.
    norm_state
        (layers + 1, tokens) ‖h_l‖.
    norm_update
        (layers, tokens) ‖Δh_l‖.
    relative_update
        (layers, tokens) ‖Δh_l‖ / ‖h_l‖; infinite where only h_l is zero.
    projection
        (layers + 1, tokens) ⟨h_l − h_0, h_layers − h_0⟩ / ‖h_layers − h_0‖²; 0 and 1 at the ends, and 0
        between them where h_layers = h_0.
    """

    theta_state: Tensor
    theta_update: Tensor
    theta_final: Tensor
    norm_state: Tensor
    norm_update: Tensor
    relative_update: Tensor
    projection: Tensor


def working(x: Tensor) -> Tensor:
    """Return ``x`` in the precision geometry is done in: float64 stays, everything else is float32."""
    return x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float32)


def norm(v: Tensor) -> Tensor:
    """Euclidean norm over the last axis, safe from under- and overflow of squares.

    Parameters
    ----------
    v
        (…, width), any floating dtype.

    Returns
    -------
    Tensor
        (…), float32 or float64; NaN or infinite only where ``v`` is.
    """
    v = working(v)
    plain: Tensor = torch.linalg.vector_norm(v, dim=-1)
    if bool((odd := _out_of_range(plain)).any()):
        scaled, scale = _scaled(v[odd])
        plain = plain.clone()
        plain[odd] = torch.linalg.vector_norm(scaled, dim=-1) * scale
    return plain


def unit(v: Tensor) -> tuple[Tensor, Tensor]:
    """Split vectors into direction and length.

    Parameters
    ----------
    v
        (…, width), any floating dtype.

    Returns
    -------
    direction
        (…, width) unit vectors; zero where ``v`` is zero.
    length
        (…) norms.
    """
    v = working(v)
    length = torch.linalg.vector_norm(v, dim=-1)
    odd = _out_of_range(length)
    direction = v / torch.where(odd, 1.0, length).unsqueeze(-1)
    if bool(odd.any()):
        scaled, scale = _scaled(v[odd])
        short = torch.linalg.vector_norm(scaled, dim=-1)
        direction[odd] = scaled / torch.where(short == 0, 1.0, short).unsqueeze(-1)
        length = length.clone()
        length[odd] = short * scale
    return direction, length


def angle(a: Tensor, b: Tensor) -> Tensor:
    """Angle between vectors over the last axis, accurate from 0 to π.

    Parameters
    ----------
    a, b
        (…, width), any floating dtype; the shapes broadcast.

    Returns
    -------
    Tensor
        (…) radians in [0, π]; exactly 0 for identical vectors. A zero vector counts as orthogonal to every
        other vector, and as identical to itself. NaN only where an input is not finite.
    """
    return angle_of_units(unit(a)[0], unit(b)[0])


def angle_of_units(u: Tensor, v: Tensor) -> Tensor:
    """Angle between unit vectors, (…, width) each, as `angle` gives it."""
    apart = torch.linalg.vector_norm(u - v, dim=-1)
    together = torch.linalg.vector_norm(u + v, dim=-1)
    return 2 * torch.atan2(apart, together)


def project(offset: Tensor, displacement: Tensor) -> Tensor:
    """Share of a displacement that an offset has covered: ⟨offset, d⟩ / ‖d‖².

    Parameters
    ----------
    offset, displacement
        (…, width), any floating dtype.

    Returns
    -------
    Tensor
        (…), 0 where the displacement is zero.
    """
    direction, length = unit(displacement)
    return _divide((working(offset) * direction).sum(-1), length)


def measure(states: Sequence[Tensor]) -> Geometry:
    """Measure a set of tokens on their way through the layers.

    Parameters
    ----------
    states
        ``layers + 1`` tensors of (tokens, width), any floating dtype: h_0 … h_layers.

    Raises
    ------
    ValueError
        When there are fewer than two states.
    """
    _check(states)
    first, last = working(states[0]), working(states[-1])
    end = unit(last)[0]
    way, distance = unit(last - first)
    theta_state, theta_update, theta_final = [], [], []
    norm_state, norm_update, projection = [], [], [torch.zeros_like(distance)]
    h, (u, length) = first, unit(first)
    du: Tensor | None = None
    norm_state.append(length)
    for state in states[1:]:
        theta_final.append(angle_of_units(u, end))
        following = working(state)
        next_u, length = unit(following)
        next_du, step = unit(following - h)
        theta_state.append(angle_of_units(u, next_u))
        if du is not None:
            theta_update.append(angle_of_units(du, next_du))
        norm_state.append(length)
        norm_update.append(step)
        projection.append(_divide(((following - first) * way).sum(-1), distance))
        h, u, du = following, next_u, next_du
    projection[-1] = torch.ones_like(distance)
    return _geometry(theta_state, theta_update, theta_final, norm_state, norm_update, projection)


def paper_angle(a: Tensor, b: Tensor) -> Tensor:
    """Angle as the reference scripts take it: a bfloat16 cosine, then acos in bfloat16.

    Non-zero angles below acos(1 − 2⁻⁸) = 0.088 rad cannot come out of it.

    Parameters
    ----------
    a, b
        (…, width), any floating dtype; rounded to bfloat16 first.

    Returns
    -------
    Tensor
        (…) radians, float32.
    """
    a, b = a.to(torch.bfloat16), b.to(torch.bfloat16)
    cosine = torch.nn.functional.cosine_similarity(a, b, dim=-1)
    return cosine.clamp(-1, 1).acos().to(torch.float32)


def paper_measure(states: Sequence[Tensor]) -> Geometry:
    """Measure as the reference scripts do: every difference, dot product and norm in bfloat16.

    Parameters
    ----------
    states
        ``layers + 1`` tensors of (tokens, width). To reproduce the published curves the last one is the state
        after the final norm.

    Raises
    ------
    ValueError
        When there are fewer than two states.
    """
    _check(states)
    h = [state.to(torch.bfloat16) for state in states]
    steps = [after - before for before, after in pairwise(h)]
    way = h[-1] - h[0]
    covered = [_divide(((state - h[0]) * way).sum(-1), (way * way).sum(-1)).float() for state in h[1:-1]]
    ends = torch.zeros_like(h[0][..., 0], dtype=torch.float32)
    return _geometry(
        [paper_angle(a, b) for a, b in pairwise(h)],
        [paper_angle(a, b) for a, b in pairwise(steps)],
        [paper_angle(state, h[-1]) for state in h[:-1]],
        [torch.linalg.vector_norm(state, dim=-1).float() for state in h],
        [torch.linalg.vector_norm(step, dim=-1).float() for step in steps],
        [ends, *covered, torch.ones_like(ends)],
    )


def _geometry(
    theta_state: list[Tensor],
    theta_update: list[Tensor],
    theta_final: list[Tensor],
    norm_state: list[Tensor],
    norm_update: list[Tensor],
    projection: list[Tensor],
) -> Geometry:
    norms, steps = torch.stack(norm_state), torch.stack(norm_update)
    relative = torch.where(steps == 0, steps, steps / norms[:-1])
    return Geometry(
        theta_state=torch.stack(theta_state),
        theta_update=torch.stack(theta_update) if theta_update else norms.new_empty((0, *norms.shape[1:])),
        theta_final=torch.stack(theta_final),
        norm_state=norms,
        norm_update=steps,
        relative_update=relative,
        projection=torch.stack(projection),
    )


def _out_of_range(length: Tensor) -> Tensor:
    # NaN compares false both ways and is left alone: there is nothing to rescue.
    return (length < _SMALL) | (length > _LARGE)


def _scaled(v: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``v`` divided by a power of two near its largest component, and that power (exact both ways)."""
    largest = v.abs().amax(-1)
    usable = torch.isfinite(largest) & (largest > 0)
    exponent = torch.where(usable, torch.frexp(largest.where(usable, 1.0)).exponent, 0).clamp(-126, 126)
    scale = torch.ldexp(torch.ones_like(largest), exponent)
    return v / scale.unsqueeze(-1), scale


def _divide(numerator: Tensor, denominator: Tensor) -> Tensor:
    zero = denominator == 0
    return torch.where(zero, 0.0, numerator / torch.where(zero, 1.0, denominator)).to(numerator.dtype)


def _check(states: Sequence[Tensor]) -> None:
    if len(states) < 2:
        raise ValueError(f"geometry needs the input and the output of at least one block, not {len(states)}")
