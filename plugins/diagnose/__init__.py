"""A machine judged by what its provider or its user can paste: no torch, no card, no machine needed."""
