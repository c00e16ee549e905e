"""Bugs that are put into the library on purpose, for the time of a run, to see that the scenarios find them."""
