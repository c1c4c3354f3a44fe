"""Checks of recorded rollouts: whether the prompt of each turn extends the tokens of the turn before."""

from inspector.data.rollout.causes import CAUSES, DriftCause
from inspector.data.rollout.checking import Break, RolloutReport, check
from inspector.data.rollout.drift import Drift, drifts
from inspector.data.rollout.turns import Turn

__all__ = [
    "CAUSES",
    "Break",
    "Drift",
    "DriftCause",
    "RolloutReport",
    "Turn",
    "check",
    "drifts",
]
