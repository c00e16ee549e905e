"""The logic of writes and reads, pure: no input or output, no clock, no chance, no logging. Operations are generators that yield effects."""
