"""Tools for the tests of users: fault plans, the simulator, histories and their checkers, fixtures for pytest."""
