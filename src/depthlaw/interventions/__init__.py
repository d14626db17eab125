"""Interventions on a residual stack: causal tracing, and blocks run in another order than their own."""

from depthlaw.interventions.execution import run_plan
from depthlaw.interventions.generators import expand_plans
from depthlaw.interventions.plan import Plan, parse_plan

__all__ = ["Plan", "expand_plans", "parse_plan", "run_plan"]
