"""The pytest side: what is checked, how outcomes become one verdict, and how it is shown and kept."""
