"""Checks of recorded rollouts: whether the prompt of each turn extends the tokens of the turn before."""

from inspector.rollout.causes import CAUSES, Cause
from inspector.rollout.checking import Break, RolloutReport, check
from inspector.rollout.drift import Drift, drifts
from inspector.rollout.turns import Turn

__all__ = [
    "CAUSES",
    "Break",
    "Cause",
    "Drift",
    "RolloutReport",
    "Turn",
    "check",
    "drifts",
]
