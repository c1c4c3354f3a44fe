"""Many files: archives of captures, training data, rollouts."""
