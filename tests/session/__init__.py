"""The traps of pytest, xdist and pytest-html, and the command line: whole runs in a process of their own."""
