"""Many requests to a server: probes, the server check, continuous audits, and the processes for them."""
