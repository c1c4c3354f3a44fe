"""Batches of items to rows on a Ray cluster, by the function that one process runs; or on a local Ray.

By default Ray sends usage reports to its developers, and a local Ray listens on all addresses; both are
switched off here. Machines of a cluster need this program, the same version, and must reach the same places.
"""

import logging
import os
import pickle
from collections.abc import Iterable, Iterator
from typing import Any, Final

from inspector.archive.pooling import Batch, Done, Runner, cores
from inspector.archive.rows import rows_of_batch
from inspector.errors import ConnectionFailed, InspectorError

__all__ = ["LOCAL", "spread"]

LOCAL: Final = "local"
"""The address that starts a Ray on this machine, for this scan only."""

_PRIVATE: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_USAGE_STATS_PROMPT_ENABLED": "0",
}
_LOOPBACK: Final = {
    # The only switch that keeps the address of this node at 127.0.0.1.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def spread(address: str, jobs: int | None = None) -> Runner:
    """A runner on the cluster at `address`; raises InspectorError where Ray is missing or does not answer."""
    os.environ.update({**_PRIVATE, **(_LOOPBACK if address == LOCAL else {})})  # read when Ray is imported
    try:
        import ray  # noqa: PLC0415 -- an extra
        import ray.data  # noqa: PLC0415 -- an extra
    except ImportError as error:
        raise InspectorError(
            f'--ray needs the extra `ray` ({error.name} is missing): pip install "harmony-inspector[ray]"'
            ", in a checkout pip install -r requirements-ray.txt"
        ) from error

    logging.getLogger("ray.data").setLevel(logging.ERROR)

    def run(batches: Iterable[Batch]) -> Iterator[Done]:
        _start(ray, address, jobs)
        try:
            yield from _rows(ray, list(batches))
        finally:
            ray.shutdown()

    return run


def _start(ray: Any, address: str, jobs: int | None) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        options |= {
            "address": LOCAL,
            "num_cpus": jobs or cores(),
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
        }
    else:
        options["address"] = address
    try:
        ray.init(**options)
    except Exception as error:  # Ray has errors of its own, and gRPC's
        words = " ".join(str(error).split())[:300].rstrip(".")
        raise ConnectionFailed(
            f"Ray at {address} does not answer ({words}); check the address, or use --ray {LOCAL}"
        ) from error


def _rows(ray: Any, batches: list[Batch]) -> Iterator[Done]:
    if not batches:
        return
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    told = [{"number": number, "batch": pickle.dumps(list(batch))} for number, batch in enumerate(batches)]
    # A block is a task: of one batch each, so that rows come as early as here.
    data = ray.data.from_items(told, override_num_blocks=len(told)).map(_of_row)
    try:
        for row in data.iter_rows():
            yield batches[row["number"]], pickle.loads(row["rows"])  # noqa: S301 -- our own workers made it
    except ray.exceptions.RayError as error:
        words = " ".join(str(error).split())[:300].rstrip(".")
        raise ConnectionFailed(
            f"the scan on Ray failed ({words}); run the same command again to resume"
        ) from error


def _of_row(row: dict[str, Any]) -> dict[str, Any]:
    """The rows of one batch, on a worker."""
    return {
        "number": row["number"],
        "rows": pickle.dumps(rows_of_batch(pickle.loads(row["batch"]))),  # noqa: S301 -- the scan made it
    }
