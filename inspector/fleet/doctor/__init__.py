"""Is a server set up right for gpt-oss: checks by asking it, each with what to change.

`basics` asks /health, /version and /v1/models; `streams` sends a few short requests and audits their streams.
Nothing is changed on the server. What a stream cannot show is "unknown", never "ok".
"""

from inspector.fleet.doctor.checks import Check, CheckState, Checkup, KnownFault
from inspector.fleet.doctor.server import check_server

__all__ = ["Check", "CheckState", "Checkup", "KnownFault", "check_server"]
