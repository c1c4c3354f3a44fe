"""Tests of `inspector.probe`."""
