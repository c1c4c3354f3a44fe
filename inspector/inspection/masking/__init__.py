"""Captures without their text: stand-ins of equal length for all tokens and texts, the same findings."""

from inspector.inspection.masking.capture import MaskingFailed, masked
from inspector.inspection.masking.standins import Standins

__all__ = ["MaskingFailed", "Standins", "masked"]
