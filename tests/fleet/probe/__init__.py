"""Tests of `inspector.fleet.probe`."""
