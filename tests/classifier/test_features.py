"""The featuriser on the device equals plain Python."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import settings  # noqa: E402
from hypothesis import strategies  # noqa: E402

from fixtures.classifier import model  # noqa: E402
from fixtures.classifier import oracle  # noqa: E402
from fixtures.classifier.features import featurise  # noqa: E402
from fixtures.classifier.hashing import BUCKETS  # noqa: E402
from fixtures.classifier.hashing import LONGEST  # noqa: E402
from fixtures.classifier.scoring import Scorer  # noqa: E402
from fixtures.classifier.scoring import WINDOWS_AT_ONCE  # noqa: E402
from fixtures.classifier.text import normal_form  # noqa: E402
from fixtures.classifier.text import WINDOW  # noqa: E402
from fixtures.classifier.text import windows  # noqa: E402

CPU = torch.device("cpu")
MODEL = model.load(model.DEFAULT)
SCORER = Scorer(MODEL, CPU)
# No database of examples: the tests leave no folder behind.
quick = settings(max_examples=150, deadline=None, database=None)


@quick
@given(strategies.lists(strategies.binary(min_size=1, max_size=60), min_size=1, max_size=6))
def test_any_bytes_fall_into_the_same_buckets(pieces: list[bytes]) -> None:
    indices, starts = featurise(pieces, CPU)
    found = [bag.tolist() for bag in indices.tensor_split(starts[1:])]
    assert found == [sorted(oracle.buckets(piece)) for piece in pieces]


@quick
@given(strategies.lists(strategies.text(max_size=80), min_size=1, max_size=5))
def test_any_texts_have_the_same_scores(texts: list[str]) -> None:
    texts = [text.encode(errors="replace").decode() for text in texts]
    assert SCORER.scores(texts).tolist() == [oracle.scores(text, MODEL) for text in texts]


def test_a_document_of_more_windows_than_are_scored_at_once_has_the_same_scores() -> None:
    text = " ".join(f"word{number}" for number in range(WINDOW * (WINDOWS_AT_ONCE + 2) // 8))
    assert len(windows(text)) > WINDOWS_AT_ONCE
    assert SCORER.scores(["short text", text]).tolist()[1] == oracle.scores(text, MODEL)


def test_threads_change_no_score() -> None:
    text = "Total due within thirty days. " * 3000
    threads = torch.get_num_threads()
    found = []
    for count in (1, 2, 4):
        torch.set_num_threads(count)
        found.append(SCORER.scores([text, "another one"]).tolist())
    torch.set_num_threads(threads)
    assert found[0] == found[1] == found[2]


def test_the_largest_score_of_a_window_is_exact_in_fp32() -> None:
    assert WINDOW * LONGEST * 127 < 2**24
    assert SCORER.scores(["any text"]).dtype == torch.int64


def test_indices_stay_inside_the_table() -> None:
    indices, _ = featurise([bytes(range(256)) * 8], CPU)
    assert int(indices.min()) >= 0
    assert int(indices.max()) < BUCKETS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Total\tDUE\u00a0 \n ﬁfty ", b"total due fifty"),
        ("ＡＢＣ　１２", b"abc 12"),
        ("Straße", b"strasse"),
        ("e\u0301", "é".encode()),
        ("", b""),
    ],
)
def test_the_normal_form_folds_width_case_and_white_space(text: str, expected: bytes) -> None:
    assert normal_form(text) == expected
