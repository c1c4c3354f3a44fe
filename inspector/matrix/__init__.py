"""The matrix: how each release delivers each script, as recorded by the lab (`lab/` in the repository)."""
