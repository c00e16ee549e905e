"""The only code that runs operations: it performs their effects, blocking, on asyncio, or one at a time for the simulator."""
