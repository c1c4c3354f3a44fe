"""Everything that uses HTTP: clients, live runs, the player, the tap."""
