"""The command line: arguments, progress and tables. What a command does, it does with the library's public parts."""
