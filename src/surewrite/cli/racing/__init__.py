"""Belongs here: what `surewrite race` runs: scenarios as people write them and with Surewrite. Must not be here: arguments, tables of text."""
