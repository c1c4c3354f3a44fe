"""Generators and other tools for who changes the program; nothing here is installed with it."""
