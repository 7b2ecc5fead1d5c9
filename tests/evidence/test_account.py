"""Documents counted over identifiers, checked against a plain count of another kind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from fixtures.evidence import account
from fixtures.evidence.models import Line
from fixtures.evidence.models import ManifestEntry

quick = settings(derandomize=True, max_examples=150, deadline=None)


def entry(id: str) -> ManifestEntry:
    return ManifestEntry(id=id, file=f"{id}.txt", sha256="0" * 64, bytes=1, valid=True)


def line(record: dict[str, Any] | None, number: int = 1, problem: str | None = None) -> Line:
    return Line(number=number, record=record, problem=problem, text="")


def lines(*records: tuple[str, str]) -> list[Line]:
    return [line({"id": id, "status": status}, number) for number, (id, status) in enumerate(records, 1)]


MANIFEST = [entry(id) for id in ("b", "a", "c")]


def test_every_identifier_stands_in_its_group_in_the_order_of_the_manifest() -> None:
    taken = account.take(MANIFEST, lines(("x", "accepted"), ("a", "rejected"), ("b", "accepted")))
    assert (taken.accepted, taken.rejected, taken.missing) == (("b",), ("a",), ("c",))
    assert (taken.invented, taken.duplicated, taken.unusable) == (("x",), (), ())


def test_one_that_was_accepted_and_rejected_is_in_both_groups_and_a_duplicate() -> None:
    taken = account.take(MANIFEST, lines(("a", "accepted"), ("a", "rejected")))
    assert (taken.accepted, taken.rejected, taken.duplicated) == (("a",), ("a",), ("a",))
    assert len(taken.of("a", "accepted")) == len(taken.of("a", "rejected")) == 1
    assert taken.of("b", "accepted") == []


def test_many_lines_of_one_document_count_once() -> None:
    taken = account.take(MANIFEST, lines(*[("a", "accepted")] * 12))
    assert (taken.accepted, taken.missing, taken.duplicated) == (("a",), ("b", "c"), ("a",))
    assert len(taken.of("a", "accepted")) == 12


def test_an_invented_identifier_can_be_duplicated_too_and_is_never_accepted() -> None:
    taken = account.take(MANIFEST, lines(("x", "accepted"), ("x", "accepted")))
    assert (taken.invented, taken.duplicated, taken.accepted) == (("x",), ("x",), ())


@pytest.mark.parametrize("other", ["A", "a ", " a", "a\n", "a\u200b", "ａ", "a\0", "\ufeffa"])
def test_identifiers_compare_as_exact_strings(other: str) -> None:
    taken = account.take(MANIFEST, lines((other, "accepted")))
    assert (taken.invented, taken.accepted, taken.missing) == ((other,), (), ("b", "a", "c"))


def test_two_forms_of_one_letter_are_two_identifiers() -> None:
    taken = account.take([entry("caf\u00e9")], lines(("cafe\u0301", "accepted")))
    assert (taken.missing, taken.invented) == (("caf\u00e9",), ("cafe\u0301",))


def test_an_identifier_that_the_manifest_names_twice_is_counted_once() -> None:
    taken = account.take([entry("a"), entry("a")], lines(("a", "accepted")))
    assert (taken.accepted, len(taken.expected)) == (("a",), 2)


UNUSABLE: list[tuple[dict[str, Any] | None, str]] = [
    (None, "torn"), ({}, "no id"), ({"status": "accepted"}, "no id"), ({"id": "a"}, "no status"),
    ({"id": 1, "status": "accepted"}, "the id is a number, not text"),
    ({"id": 7.0, "status": "accepted"}, "the id is a number, not text"),
    ({"id": None, "status": "accepted"}, "the id is null, not text"),
    ({"id": True, "status": "accepted"}, "the id is a truth value, not text"),
    ({"id": ["a"], "status": "accepted"}, "the id is a list, not text"),
    ({"id": {"a": 1}, "status": "accepted"}, "the id is an object, not text"),
    ({"id": "a", "status": "ACCEPTED"}, "the status is 'ACCEPTED'"),
    ({"id": "a", "status": "accepted "}, "the status is 'accepted '"),
    ({"id": "a", "status": None}, "the status is None"),
    ({"id": "a", "status": True}, "the status is True"),
    ({"id": "a", "status": ["accepted"]}, "the status is ['accepted']"),
    ({"id": "a", "status": {"accepted": 1}}, "the status is {'accepted': 1}"),
    ({"ID": "a", "Status": "accepted"}, "no id"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "words"), UNUSABLE)
def test_a_line_without_identifier_or_status_counts_for_nobody(
    record: dict[str, Any] | None, words: str
) -> None:
    taken = account.take(MANIFEST, [line(record, 3, "torn" if record is None else None)])
    assert taken.unusable[0][0] == 3
    assert words in taken.unusable[0][1]
    assert (taken.records, taken.missing, taken.invented) == ({}, ("b", "a", "c"), ())


def test_a_line_without_a_record_or_a_problem_is_unusable_all_the_same() -> None:
    assert account.take(MANIFEST, [line(None, 2)]).unusable == ((2, "no JSON object"),)


def test_nothing_expected_and_nothing_written_is_an_empty_account() -> None:
    taken = account.take([], [])
    assert (taken.accepted, taken.rejected, taken.missing, taken.records) == ((), (), (), {})


ids = st.sampled_from(["a", "b", "c", "d", "A", "a "])
records = st.lists(st.tuples(ids, st.sampled_from(["accepted", "rejected"])), max_size=12)


@quick
@given(st.lists(ids, max_size=6), records)
def test_it_counts_as_a_plain_count_does(manifest: list[str], written: list[tuple[str, str]]) -> None:
    taken = account.take([entry(id) for id in manifest], lines(*written))
    assert set(taken.accepted) == {id for id, status in written if status == "accepted" and id in manifest}
    assert set(taken.rejected) == {id for id, status in written if status == "rejected" and id in manifest}
    assert set(taken.missing) == set(manifest) - {id for id, _ in written}
    assert set(taken.invented) == {id for id, _ in written} - set(manifest)
    assert set(taken.duplicated) == {id for id, _ in written if [i for i, _ in written].count(id) > 1}
    assert sum(map(len, taken.records.values())) == len(written)
    for group in (taken.accepted, taken.rejected, taken.missing, taken.invented, taken.duplicated):
        assert len(set(group)) == len(group)


@quick
@given(st.lists(ids, max_size=6, unique=True), records)
def test_every_expected_document_is_accounted_for_exactly_once_or_named(
    manifest: list[str], written: list[tuple[str, str]]
) -> None:
    taken = account.take([entry(id) for id in manifest], lines(*written))
    both = set(taken.accepted) & set(taken.rejected)
    assert len(taken.accepted) + len(taken.rejected) - len(both) + len(taken.missing) == len(manifest)
    assert both <= set(taken.duplicated)


@quick
@given(records, st.randoms(use_true_random=False))
def test_the_order_of_the_lines_does_not_change_who_is_counted(
    written: list[tuple[str, str]], random: Any
) -> None:
    one = account.take(MANIFEST, lines(*written))
    shuffled = list(written)
    random.shuffle(shuffled)
    other = account.take(MANIFEST, lines(*shuffled))
    assert (one.accepted, one.rejected, one.missing) == (other.accepted, other.rejected, other.missing)
    assert (set(one.invented), set(one.duplicated)) == (set(other.invented), set(other.duplicated))


def test_repeated_values_are_named_once_in_order() -> None:
    assert account.repeated(["b", "a", "b", "c", "a", "b"]) == ["b", "a"]
    assert account.repeated(["a", "b"]) == account.repeated([]) == []
