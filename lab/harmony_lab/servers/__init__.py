"""Other servers of gpt-oss that the lab runs on scripted tokens: a row each, see `table`."""
