"""Captures without their text: stand-ins of equal length for all tokens and texts, the same findings."""

from inspector.masking.capture import MaskingFailed, masked
from inspector.masking.standins import Standins

__all__ = ["MaskingFailed", "Standins", "masked"]
