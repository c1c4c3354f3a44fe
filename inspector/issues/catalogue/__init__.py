"""The catalogue of known issues: what an entry may say, the file, its steps, and routes to other servers."""
