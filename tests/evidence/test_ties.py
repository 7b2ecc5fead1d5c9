"""Near ties: what an application writes beside a category says how sure it was."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.evidence import ties

#: what two records say, and whether either was as good as a tie; margins are usually about 10
SAID: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({"scores": {"a": 0.5, "b": 0.499}}, {"scores": {"a": 0.4, "b": 0.6}}, True),
    ({"scores": {"a": 0.4, "b": 0.6}}, {"scores": [0.5, 0.499, 0.1]}, True),
    ({"scores": {"a": 0.7, "b": 0.3}}, {"scores": {"a": 0.3, "b": 0.7}}, False),
    ({"scores": [-1.0, -1.002]}, {}, True),
    ({"scores": [0.9]}, {"scores": []}, False),
    ({"score_margin": 0.05}, {"score_margin": 12}, True),
    ({"score_margin": -0.05}, {"score_margin": 12}, True),
    ({"score_margin": 7}, {"score_margin": 12}, False),
    ({"score": 0.51}, {"score": 0.511}, True),
    ({"score": 0.51}, {"score": 0.9}, False),
    (
        {"score": 0.51, "scores": {"a": 0.51, "b": 0.1}},
        {"score": 0.511, "scores": {"a": 0.511, "b": 0.1}},
        False,
    ),
    ({"score": "0.51"}, {"score": True}, False),
    ({"score": 10**400}, {"score": 10**400, "scores": [10**400, 1], "score_margin": 10**400}, False),
    ({}, {}, False),
]


@pytest.mark.parametrize(("first", "second", "near"), SAID)
def test_a_near_tie_is_known_by_what_the_application_wrote(
    first: dict[str, Any], second: dict[str, Any], near: bool
) -> None:
    assert ties.is_near(first, second, 10.0) is near


def test_without_usual_margins_a_margin_says_nothing() -> None:
    assert not ties.is_near({"score_margin": 0.0}, {}, None)


def test_the_usual_margin_is_the_median_of_those_given() -> None:
    assert ties.usual_margin([{"score_margin": 1}, {"score_margin": -3}, {}, {"score_margin": 8.0}]) == 3
    assert ties.usual_margin([{}, {"score_margin": "1"}]) is None
