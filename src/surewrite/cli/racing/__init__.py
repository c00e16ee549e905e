"""Belongs here: what `surewrite race` runs: scenarios, each as people write it and with Surewrite, and the writers that run them. Must not be here: arguments, tables of text."""
