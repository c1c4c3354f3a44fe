"""Scans of the dashboard, each in a thread of its own: pages come and go while one runs.

They read every member of an archive: each file that somebody dropped is in the result, or named there.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Event, Lock, Thread

from inspector.capture.errors import InspectorError
from inspector.capture.replay_only import reject_path
from inspector.data.scan.scanning import Progress, ScanStopped, scan
from inspector.files.store import FIXTURES


class ScanJob:
    """A scan that runs, or has ended."""

    def __init__(self, places: Sequence[str], folder: Path) -> None:
        self.folder = folder
        self.progress: Progress | None = None
        """None until its places are listed."""
        self.trouble = ""
        """Why it failed; empty otherwise."""
        self._places = places
        self._stopping = Event()
        self._ended = Event()

    @property
    def ended(self) -> bool:
        """True once it has ended."""
        return self._ended.is_set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Block until it has ended; False on a timeout."""
        return self._ended.wait(timeout_s)

    def stop(self) -> None:
        """End it after what it reads now; what was read stays."""
        self._stopping.set()

    def run(self) -> None:
        """Scan."""
        try:
            scan(self._places, self.folder, every=True, tell=self._tell)
        except ScanStopped:
            pass
        except InspectorError as error:
            self.trouble = str(error)
        finally:
            self._ended.set()

    def _tell(self, progress: Progress) -> None:
        self.progress = progress
        if self._stopping.is_set():
            raise ScanStopped


class ScanJobs:
    """The scans of this process; every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._jobs: dict[Path, ScanJob] = {}

    def start(self, places: Sequence[str], folder: Path) -> ScanJob:
        """Scan places into a folder; a scan that runs there goes on instead.

        Without places, those of the scan that is there. Raises StoreError where only uploads, which are in
        the folder, and the built-in captures may be read.
        """
        for place in places:
            reject_path(place, within=(folder, FIXTURES))
        with self._lock:
            running = self._jobs.get(folder)
            if running is not None and not running.ended:
                return running
            self._jobs = {path: job for path, job in self._jobs.items() if not job.ended or job.trouble}
            job = self._jobs[folder] = ScanJob(places, folder)
        Thread(target=job.run, name=f"scan of {folder.name}", daemon=True).start()
        return job

    def below(self, folder: Path) -> ScanJob | None:
        """The scan into a folder directly below one, which runs or failed; the latest."""
        with self._lock:
            jobs = [job for job in self._jobs.values() if job.folder.parent == folder]
        return next((job for job in reversed(jobs) if not job.ended or job.trouble), None)

    def forget(self, job: ScanJob) -> None:
        """Drop one that has failed."""
        with self._lock:
            self._jobs.pop(job.folder, None)


@cache
def scan_jobs() -> ScanJobs:
    """The scans of this process."""
    return ScanJobs()
