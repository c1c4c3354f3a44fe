"""Captures without their text: stand-ins of equal length for every token and every text, the same findings."""

from inspector.masking.capture import MaskingFailed, masked
from inspector.masking.standins import Standins

__all__ = ["MaskingFailed", "Standins", "masked"]
