"""Lab results of one release, as rows for the server check on the page and the command."""

from typing import Any

from inspector.lab.results import all_runs
from inspector.lab.score import Outcome

__all__ = ["release_rows", "release_words"]


def release_rows(version: str | None) -> list[dict[str, Any]]:
    """One row per endpoint and stream interval: number of scripts, and how many had each outcome.

    `version` as a server reports it, with or without a local part (`0.14.1+cpu`); no rows for a release
    that the lab has not tested.
    """
    rows: list[dict[str, Any]] = []
    for one in all_runs():
        if one.version != (version or "").split("+")[0]:
            continue
        for endpoint in sorted({endpoint for endpoint, _ in one.scores}):
            outcomes = [score.outcome for (at, _), score in one.scores.items() if at is endpoint]
            rows.append(
                {
                    "endpoint": str(endpoint),
                    "stream_interval": one.stream_interval,
                    "scripts": len(outcomes),
                    **{str(outcome): outcomes.count(outcome) for outcome in Outcome},
                }
            )
    return rows


def release_words(row: dict[str, Any]) -> str:
    """One row as a line."""
    return (
        f"{row['endpoint']}, {row['stream_interval']} tokens per step, {row['scripts']} scripts: "
        f"{row['whole']} complete, {row['told']} error reported, {row['silent']} silent loss"
    )
