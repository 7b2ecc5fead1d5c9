"""Wires plugins and fixtures, nothing else. Each stands before whoever imports it: pytest rewrites on import."""

pytest_plugins = [
    "fixtures.instrument",
    "fixtures.inventory",
    "fixtures.launch",
    "fixtures.documents",
    "fixtures.application",
    "fixtures.repetition",
    "fixtures.interruption",
    "fixtures.hangup",
    "fixtures.burn_in",
    "fixtures.health",
    "fixtures.account",
    "fixtures.copy",
    "plugins.options",
    "plugins.criteria",
    "plugins.catalogue.diagnosis",
    "plugins.workers",
    "plugins.session",
]
