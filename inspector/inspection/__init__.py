"""One capture with everything that is derived from it, captures without their text, and two compared."""
