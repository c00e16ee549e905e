"""Patterns over the core, written once and run by either client. They are pure, as the core is, and do not know each other."""
