"""What is defined outside of this program: the Harmony format, the endpoints and the servers."""
