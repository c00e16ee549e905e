"""A DynamoDB of our own. It shares the values and limits of the core, and nothing else, so that one mistake cannot hide on both sides."""
