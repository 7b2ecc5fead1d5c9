"""Whole pilots, run as a renter runs them: pytest in a process of its own, judged by what it leaves."""
