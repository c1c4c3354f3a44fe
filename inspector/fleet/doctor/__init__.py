"""Checks of a server's gpt-oss configuration, each with what to change.

`basics` requests /health, /version and /v1/models; `streams` sends a few short requests and audits the
responses. Nothing is changed on the server. What the responses do not show is "unknown", never "ok".
"""

from inspector.fleet.doctor.checks import Check, CheckState, Checkup, KnownFault
from inspector.fleet.doctor.server import check_server

__all__ = ["Check", "CheckState", "Checkup", "KnownFault", "check_server"]
