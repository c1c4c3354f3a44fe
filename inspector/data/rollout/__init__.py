"""Checks of recorded rollouts: whether the prompt of each turn extends the tokens of the turn before."""

from inspector.data.rollout.causes import CAUSES, Cause
from inspector.data.rollout.checking import Break, RolloutReport, check
from inspector.data.rollout.drift import Drift, drifts
from inspector.data.rollout.turns import Turn

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
