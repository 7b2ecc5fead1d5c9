"""Wires plugins and fixtures, nothing else."""

pytest_plugins = [
    "plugins.options",
    "plugins.criteria",
    "plugins.session",
    "fixtures.instrument",
    "fixtures.inventory",
    "fixtures.launch",
    "fixtures.documents",
    "fixtures.application",
    "fixtures.account",
    "fixtures.copy",
]
