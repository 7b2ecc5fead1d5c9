"""Trials that ended, as a person looks at them afterwards: listed, compared, printed again."""
