"""Where the engine keeps tables: in memory, or in an SQLite file. A store knows keys, order and atomic batches, and no expressions."""
