"""The figures of the shipped model, and what they were measured on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fixtures.classifier import __main__ as program
from fixtures.classifier import corpus
from fixtures.classifier import evaluate
from fixtures.classifier import model
from fixtures.classifier.text import normal_form

TRAIN, HELD_OUT = program.TRAIN, program.HELD_OUT
REPORT = evaluate.evaluate(model.DEFAULT, HELD_OUT)


def test_the_figures_in_the_model_card_are_what_evaluate_gives_now() -> None:
    card = (model.DEFAULT / "README.md").read_text()
    right, number = REPORT["all"]
    assert f"**{right} of {number}**" in card
    assert evaluate.as_text(REPORT) in card


def test_the_model_is_good_enough_in_every_language() -> None:
    right, number = REPORT["all"]
    assert right / number >= 80 / 90
    low = {
        language: figure
        for language, figure in REPORT["languages"].items()
        if figure[0] / figure[1] < 11 / 15
    }
    assert not low
    assert set(REPORT["languages"]) >= {"en", "zh", "it", "vi", "es", "fr"}


def test_the_shipped_model_was_trained_on_the_corpus_beside_it() -> None:
    card = json.loads((model.DEFAULT / model.CARD).read_text())
    assert card["corpus_sha256"] == corpus.digest(TRAIN)


def test_no_held_out_text_shares_a_line_with_the_training_corpus() -> None:
    trained = {
        normal_form(line)
        for bank in corpus.read_banks(TRAIN)
        for lines in bank.lines.values()
        for line in lines
    }
    cases = evaluate.read_cases(HELD_OUT, corpus.CATEGORIES)
    shared = [
        (case.id, line)
        for case in cases
        for line in re.split(r"\n", case.text)
        if normal_form(line) in trained
    ]
    assert not shared


def test_every_held_out_document_has_an_id_of_its_own() -> None:
    ids = [case.id for case in evaluate.read_cases(HELD_OUT, corpus.CATEGORIES)]
    assert len(set(ids)) == len(ids)


def test_json_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["evaluate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == REPORT


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not JSON"),
        ("[]", "a list of documents"),
        ("[1]", "document 1: should have the texts"),
        ('[{"id": "a", "category": "poem", "kind": "plain", "text": "t"}]', "unknown category 'poem'"),
        ('[{"id": "a", "category": "invoice", "kind": "odd", "text": "t"}]', "unknown kind 'odd'"),
    ],
    ids=["json", "list", "keys", "category", "kind"],
)
def test_a_broken_held_out_file_is_one_line(
    tmp_path: Path, text: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "en.json").write_text(text)
    assert program.main(["evaluate", "--held-out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert what in said
    assert said.count("\n") == 1
