"""Values: a capture and its lines, tokens, delivered text, errors, limits. They import no other folder."""
