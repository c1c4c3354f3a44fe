"""Batches of items to rows on a Ray cluster, by the function that one process runs; or on a local Ray.

By default Ray sends usage reports to its developers, and a local Ray listens on all addresses; both are
switched off here. Machines of a cluster need this program, the same version, and must reach the same places.
"""

import logging
import os
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Final

from inspector.capture.errors import ConnectionFailed, InspectorError
from inspector.data.scan.pooling import ENDED, Batch, Done, Runner, Work, cores
from inspector.data.scan.rows import rows_of_batch, unread

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


def spread(address: str, jobs: int | None = None, work: Work = rows_of_batch) -> Runner:
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
            yield from _rows(ray, list(batches), work)
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


def _rows(ray: Any, batches: Sequence[Batch], work: Work) -> Iterator[Done]:
    """The rows of batches; the files of one whose process ended are read alone, to find out which it was."""
    lost = yield from _read(ray, batches, work)
    ended = yield from _read(ray, [(item,) for batch in lost for item in batch], work)
    for batch in ended:
        for item in batch:
            yield batch, unread(item, ENDED)


def _read(ray: Any, batches: Sequence[Batch], work: Work) -> Generator[Done, None, list[Batch]]:
    """The rows of batches; returns those whose process ended."""
    waiting = dict(enumerate(batches))
    if not waiting:
        return []
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.max_errored_blocks = -1  # their processes ended: what a task raises is in its row
    items = [{"number": number, "batch": pickle.dumps(list(batch))} for number, batch in waiting.items()]
    task = _task(ray.cloudpickle.dumps(work))
    # A block is a task: of one batch each, so that rows come as early as here. Trying a task again that ended
    # its process would end another one.
    data = ray.data.from_items(items, override_num_blocks=len(items)).map(task, max_retries=0)
    try:
        for row in data.iter_rows():
            if row["error"]:
                raise ConnectionFailed(
                    f"the scan on Ray failed ({row['error']}); its machines need this program in the same "
                    "version, and must reach the same places"
                )
            rows = pickle.loads(row["rows"])  # noqa: S301 -- our own workers made it
            yield waiting.pop(row["number"]), rows
    except ray.exceptions.RayError as error:
        words = " ".join(str(error).split())[:300].rstrip(".")
        raise ConnectionFailed(
            f"the scan on Ray failed ({words}); run the same command again to resume"
        ) from error
    return list(waiting.values())


def _task(work: bytes) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What a worker does; it is sent as code, so that it can report that this program is missing there."""

    def run(row: dict[str, Any]) -> dict[str, Any]:
        try:
            import pickle  # noqa: PLC0415 -- sent without this module

            rows = pickle.loads(work)(pickle.loads(row["batch"]))  # noqa: S301 -- the scan made both
            return {"number": row["number"], "rows": pickle.dumps(rows), "error": ""}
        except Exception as error:
            words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            return {"number": row["number"], "rows": b"", "error": words}

    return run
