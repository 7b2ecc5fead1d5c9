"""What was compiled for some cards runs on some others."""

from __future__ import annotations

import pytest

from plugins.catalogue.architectures import held_against
from plugins.catalogue.architectures import Verdict

RUNS, OLD, NEW = Verdict(True, False), Verdict(False, True), Verdict(False, False)
CU130 = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]


@pytest.mark.parametrize(
    ("compiled", "card", "wanted"),
    [
        (CU130, "9.0", RUNS),
        (CU130, "8.9", RUNS),  # as 8.6
        (CU130, "10.3", RUNS),  # as 10.0
        (CU130, "12.1", RUNS),
        (CU130, "7.0", OLD),  # V100
        (CU130, "6.0", OLD),
        (CU130, "11.0", NEW),
        (["sm_70", "sm_80", "sm_86", "sm_90"], "12.0", NEW),
        (["sm_86"], "8.0", OLD),  # the minor number is higher
        (["sm_90a"], "9.0", RUNS),
        (["sm_90a"], "12.0", NEW),
        (["sm_100a"], "10.3", NEW),  # exactly its card
        (["sm_100f"], "10.3", RUNS),  # its family
        (["sm_120f"], "10.0", OLD),
        (["sm_80", "compute_80"], "12.0", RUNS),  # compiled on the spot
        (["compute_90"], "8.9", OLD),
        (["compute_90a"], "12.0", NEW),
        (["gfx90a", "gfx942"], "gfx942:sramecc+:xnack-", RUNS),
        (["gfx942:xnack-"], "gfx942", RUNS),
        (["gfx90a", "gfx942"], "gfx950", NEW),
        (["gfx90a"], "gfx90", NEW),
        (["gfx9-4-generic"], "gfx942", None),
        ([], "9.0", None),
        (["gfx942"], "9.0", None),
        (CU130, "Hopper", None),
        (CU130, "", None),
    ],
)
def test_a_card_runs_what_was_compiled_for_it(compiled: list[str], card: str, wanted: Verdict | None) -> None:
    assert held_against(compiled, card) == wanted
