"""What a person reads on the page: everything, without a script, whatever was observed."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest

from fixtures.evidence import models as m
from plugins.report import render
from plugins.verdict import Claim
from plugins.verdict_file import CRITERIA
from tests.report import samples
from tests.report.conftest import Sample
from tests.report.parsed import Element
from tests.report.parsed import flat
from tests.report.parsed import parse

ROOT = Path(__file__).parents[2]
ALL = pytest.mark.parametrize("name", list(samples.SAMPLES))


def rows(page: Element, table: str) -> list[Element]:
    body = page.one(table).all("tbody")
    return [row for part in body for row in part.all("tr")]


@ALL
def test_the_decision_its_reason_and_the_trial_are_static_text(name: str, sample: Sample) -> None:
    verdict, trial, page = sample(name)
    head = flat(page.one("decision").text)
    assert flat(page.all("h1")[0].text) == verdict.decision.upper()
    assert flat(verdict.reason) in head
    assert trial.name in head
    assert "2026-12-01 10:30:00 UTC" in head
    assert (verdict.continues or "no earlier trial") in head
    assert page.all("script") == []


@ALL
def test_the_decision_is_told_by_a_word_and_a_symbol_of_its_own(name: str, sample: Sample) -> None:
    verdict, _, page = sample(name)
    banner = page.one("decision")
    assert verdict.decision in (banner.attrs["class"] or "").split()
    assert banner.one("icon").all() != []


def test_each_decision_has_another_symbol(sample: Sample) -> None:
    icons = {str(sample(name)[2].one("icon").all()) for name in samples.SAMPLES}
    assert len(icons) == len(samples.SAMPLES)


def test_a_rehearsal_says_that_nothing_was_established_about_a_rented_card(sample: Sample) -> None:
    head = flat(sample("rehearsal")[2].one("decision").text)
    assert "Rehearsal on the CPU: nothing was established about a rented card" in head
    assert "The whole of what was asked of this rehearsal passed" in head


@pytest.mark.parametrize("name", ["go", "fix", "reconfigure"])
def test_a_rental_does_not_speak_of_a_rehearsal(name: str, sample: Sample) -> None:
    assert "nothing was established" not in sample(name)[2].one("decision").text


@ALL
def test_every_check_is_listed_with_all_that_is_known_of_it(name: str, sample: Sample) -> None:
    verdict, _, page = sample(name)
    shown = [row for row in rows(page, "checks") if row.attrs.get("id")]
    assert len(shown) == len(verdict.checks()) > 0
    for row, check in zip(shown, verdict.checks(), strict=True):
        line = flat(row.text)
        assert check.id in line
        assert check.title in line
        assert check.status.replace("_", " ") in line
        for value in (
            check.required,
            check.found,
            check.message,
            check.carried_from,
            *check.documents,
            *check.evidence,
        ):
            assert value is None or flat(value) in line


@ALL
def test_every_criterion_is_counted_also_one_without_a_check(name: str, sample: Sample) -> None:
    verdict, _, page = sample(name)
    table = page.having("stack")[0]
    shown = {flat(row.all("th")[0].text): flat(row.text) for row in table.all("tr")[1:]}
    assert list(shown) == list(CRITERIA)
    for result in verdict.criteria:
        passed = sum(check.status == "passed" for check in result.checks)
        assert f"{passed} / {len(result.checks)}" in shown[result.criterion]
        for check in result.checks:
            assert (check.id in shown[result.criterion]) == (check.status != "passed")
    assert "nothing planned" in shown["training"]
    assert "passed" not in shown["training"]


@ALL
def test_every_document_stands_beside_its_outcome(name: str, sample: Sample) -> None:
    _, _, page = sample(name)
    shown = {flat(row.all("bdi")[0].text): flat(row.text) for row in rows(page, "documents")}
    for id, (language, category, beginning) in samples.TEXTS.items():
        assert f"bytes, {language}, {id}.txt" in shown[id]
        assert f"accepted: {category}" in shown[id]
        assert flat(beginning)[:40] in shown[id]
    assert "rejected: not valid UTF-8" in shown["doc-12"]


def test_missing_invented_and_different_documents_are_named(sample: Sample) -> None:
    page = sample("fix")[2]
    shown = {flat(row.all("bdi")[0].text): flat(row.text) for row in rows(page, "documents")}
    assert "missing: no result" in shown["doc-08"]
    assert "another category" in shown["doc-01"]
    assert "also written: confidence: 0.41, pages: [1, 2]" in shown["doc-01"]
    assert "invented: not in the manifest" in shown["doc-99"]
    counts = flat(page.one("counts").text)
    assert "2 missing: doc-08, doc-11" in counts
    assert "1 invented: doc-99" in counts


@pytest.mark.parametrize(
    ("record", "note"),
    [
        ({"id": "doc-01", "status": "accepted", "category": "resume"}, "same category"),
        ({"id": "doc-01", "status": "accepted", "category": "invoice"}, "another category"),
        ({"id": "doc-01", "status": "accepted", "category": "Resume"}, "not one of the allowed categories"),
        (
            {"id": "doc-01", "status": "accepted", "category": "resume\u200b"},
            "not one of the allowed categories",
        ),
        ({"id": "doc-01", "status": "accepted", "category": ["resume"]}, "not one of the allowed categories"),
        ({"id": "doc-01", "status": "accepted"}, "not one of the allowed categories"),
        ({"id": "doc-01", "status": "rejected", "reason": "empty"}, "rejected, though valid"),
        ({"id": "doc-12", "status": "accepted", "category": "resume"}, "accepted, must be rejected"),
        ({"id": "doc-12", "status": "rejected"}, "rejected, as it must be"),
    ],
)
def test_agreement_is_said_for_each_document(record: dict[str, str], note: str, tmp_path: Path) -> None:
    evidence = {**samples.everything(), "application": samples.application([record])}
    page = parse(render(samples.verdict(), samples.trial(tmp_path / "t", evidence)))
    shown = {flat(row.all("bdi")[0].text): flat(row.text) for row in rows(page, "documents")}
    assert note in shown[record["id"]]
    assert shown[record["id"]].count("✓") == (note in ("same category", "rejected, as it must be"))


def test_a_document_with_two_results_agrees_with_neither(tmp_path: Path) -> None:
    twice = [*samples.answers(), samples.answers()[0]]
    evidence = {**samples.everything(), "application": samples.application(twice)}
    page = parse(render(samples.verdict(), samples.trial(tmp_path / "t", evidence)))
    (row,) = [row for row in rows(page, "documents") if "doc-01" in row.text]
    assert "duplicated: 2 results" in row.text
    assert "✓" not in row.text


def test_lines_that_cannot_be_used_are_shown(tmp_path: Path) -> None:
    torn = m.Line(number=1, record=None, problem="unterminated string", text='{"id": "doc-01", "sta')
    results = samples.application().results.model_copy(update={"lines": [torn], "lines_left_out": 7})
    evidence = {**samples.everything(), "application": samples.application(results=results)}
    text = flat(parse(render(samples.verdict(), samples.trial(tmp_path / "t", evidence))).text)
    assert 'line 1: unterminated string in {"id": "doc-01", "sta' in text
    assert "7 lines beyond what the evidence keeps" in text


def test_somebody_is_asked_to_look_at_the_results(sample: Sample) -> None:
    assert "Somebody has to look" in sample("go")[2].text


@pytest.mark.parametrize("absent", ["inventory", "launch", "documents", "application", "copy"])
@pytest.mark.parametrize("how", ["missing", "not_reached", "broken", "unreadable", "other_form"])
def test_evidence_that_is_not_there_is_said_and_why(absent: str, how: str, tmp_path: Path) -> None:
    evidence = samples.everything()
    del evidence[absent]
    if how == "not_reached":
        evidence[absent] = samples.envelope(absent, not_reached={"step": "driver", "why": "too old"})
    elif how == "broken":
        evidence[absent] = samples.envelope(absent, broken="Traceback\n  a frame\nOSError: disk full\n")
    elif how == "other_form":
        evidence[absent] = samples.envelope(absent, observed={"shape": "of another version"})
    trial = samples.trial(tmp_path / "t", evidence)
    if how == "unreadable":
        trial.envelope_path(absent).write_bytes(b"{\xff")
    said = {
        "missing": "not observed",
        "not_reached": "not reached, because of an earlier step (driver): too old",
        "broken": "the suite itself broke: OSError: disk full",
        "unreadable": "cannot be read",
        "other_form": "not of the form",
    }[how]
    page = parse(render(samples.verdict(), trial))
    notes = [flat(note.text) for note in page.having("absent")]
    assert any(note.startswith(absent.capitalize()) and said in note for note in notes)


def test_a_trial_without_any_evidence_or_check_has_a_page(tmp_path: Path) -> None:
    verdict = samples.verdict(plan=[], outcomes=[], documents=None, timing={}, artefacts=[], factors={})
    text = flat(parse(render(verdict, samples.trial(tmp_path / "t", {}))).text)
    assert "UNDECIDED" in text
    assert "No check was planned." in text


@ALL
def test_pictures_are_well_formed_and_have_a_text_beside_them(name: str, sample: Sample) -> None:
    text = render(*sample(name)[:2])
    pictures = re.findall(r"<svg xmlns=.*?</svg>", text, re.DOTALL)
    assert len(pictures) == (2 if name == "reconfigure" else 3)
    for picture in pictures:
        root = ET.fromstring(picture)
        assert root.attrib["role"] == "img"
        title, described = root[0], root[1]
        assert title.text
        assert described.text
        assert root.attrib["aria-labelledby"].split() == [title.attrib["id"], described.attrib["id"]]


def test_a_peak_of_one_sample_among_thousands_is_drawn(tmp_path: Path) -> None:
    samples_ = [
        m.Sample(
            at=i / 10,
            resident_bytes=8 * 1024**3 if i == 4321 else 1024**3,
            card_bytes=None if i < 50 else 2 * 1024**3,
        )
        for i in range(9000)
    ]
    memory = samples.application().memory.model_copy(update={"samples": samples_})
    evidence = {**samples.everything(), "application": samples.application(memory=memory)}
    text = render(samples.verdict(), samples.trial(tmp_path / "t", evidence))
    line = re.findall(r'<polyline class="line resident" points="([^"]*)"', text)[0]
    heights = sorted(float(point.split(",")[1]) for point in line.split())
    assert heights[0] == 34.0
    assert heights[1] > 150
    assert len(heights) < 200


@pytest.mark.parametrize(
    "taken",
    [
        [],
        [m.Sample(at=0.0, resident_bytes=0, card_bytes=None)],
        [m.Sample(at=0.0, resident_bytes=5, card_bytes=0)],
        [m.Sample(at=i, resident_bytes=10**9, card_bytes=10**9 if i % 2 else None) for i in range(6)],
    ],
    ids=["none", "zero", "one", "gaps"],
)
def test_few_samples_make_no_trouble(taken: list[m.Sample], tmp_path: Path) -> None:
    memory = samples.application().memory.model_copy(update={"samples": taken})
    evidence = {**samples.everything(), "application": samples.application(memory=memory)}
    text = render(samples.verdict(timing={"start": 0.0}), samples.trial(tmp_path / "t", evidence))
    parse(text)
    assert ("No sample of the application's memory was taken" in text) == (not taken)


def test_what_a_failed_application_said_last_is_not_folded_away(sample: Sample) -> None:
    page = sample("fix")[2]
    folded = [pre for details in page.all("details") for pre in details.all("pre")]
    open_ = [pre for pre in page.all("pre") if not any(pre is one for one in folded)]
    assert any("CUDA out of memory" in pre.text for pre in open_)


def test_long_output_is_capped(tmp_path: Path) -> None:
    loud = samples.output("<noise> " * 100_000).model_copy(
        update={"head": "x" * 50_000, "tail": "y" * 50_000}
    )
    evidence = {**samples.everything(), "application": samples.application(stdout=loud, stderr=loud)}
    text = render(samples.verdict(), samples.trial(tmp_path / "t", evidence))
    assert max(len(pre.text) for pre in parse(text).all("pre")) <= 4000
    assert len(text) < 150_000


def test_an_application_that_writes_without_end_does_not_fill_the_page(tmp_path: Path) -> None:
    flood = [
        {"id": f"made-up-{i}", "status": "accepted", "category": "c" * 5000, "k": "v" * 5000}
        for i in range(500)
    ]
    touched = [m.Touched(path=f"/home/renter/{i}" * 40, change="appeared") for i in range(500)]
    left = [m.LeftBehind(pid=i, name="n" * 900, command="c" * 9000) for i in range(500)]
    application = samples.application(
        flood, touched=touched, left_behind=left, output_files=["f" * 900] * 900
    )
    counted = samples.counts(invented=[str(one["id"]) for one in flood])
    evidence = {**samples.everything(), "application": application}
    text = render(samples.verdict(documents=counted), samples.trial(tmp_path / "t", evidence))
    assert len(text.encode()) < 300_000
    assert "460 more ids that are not in the manifest" in text


def test_headings_descend_one_level_at_a_time(sample: Sample) -> None:
    levels = [int(one.tag[1]) for one in sample("fix")[2].all() if re.fullmatch(r"h[1-6]", one.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@ALL
def test_tables_can_be_found_by_those_who_do_not_see_them(name: str, sample: Sample) -> None:
    for table in sample(name)[2].all("table"):
        assert len(table.all("caption")) == 1
        assert all(cell.attrs.get("scope") in ("col", "row", "rowgroup") for cell in table.all("th"))


@ALL
def test_links_lead_to_places_on_the_page(name: str, sample: Sample) -> None:
    page = sample(name)[2]
    ids = [one.attrs["id"] for one in page.all() if "id" in one.attrs]
    assert len(ids) == len(set(ids))
    for link in page.all("a"):
        assert (link.attrs["href"] or "").removeprefix("#") in ids


def test_the_first_error_leads_to_its_check(sample: Sample) -> None:
    verdict, _, page = sample("fix")
    assert verdict.first_error
    (link, *_) = [one for one in page.all("a") if flat(one.text) == verdict.first_error.check]
    assert verdict.first_error.check in page.by_id((link.attrs["href"] or "")[1:]).text


def test_the_next_change_conditions_and_commands_are_static_text(sample: Sample) -> None:
    verdict, _, page = sample("fix")
    shown = flat(page.text)
    assert verdict.next_change
    for value in (
        verdict.next_change.factor,
        verdict.next_change.advice,
        *verdict.conditions,
        *verdict.advisories,
    ):
        assert flat(value) in shown
    assert verdict.command.repeat in shown
    assert f"pytest suites/gpu --continue {samples.NAME}" in shown


def test_factors_changes_references_and_artefacts_are_listed(sample: Sample) -> None:
    verdict, trial, page = sample("fix")
    shown = flat(page.text)
    for value in (*verdict.factors, *verdict.factors.values(), *trial.record.references.values()):
        assert value in shown
    for change in verdict.changed:
        assert change.before is not None
        assert change.after is not None
        assert change.before in shown
        assert change.after in shown
    for artefact in verdict.artefacts:
        assert artefact.path in shown
        assert artefact.sha256 in shown


def test_what_was_asked_stands_beside_what_was_found(tmp_path: Path) -> None:
    evidence = {**samples.everything(), "inventory": samples.inventory(cards=[])}
    page = parse(render(samples.verdict(), samples.trial(tmp_path / "t", evidence)))
    assert "Cards in all10" in flat(page.text).replace(" ", "").replace("Cardsinall", "Cards in all")
    assert "No card was found" in page.text


def test_a_copy_that_differs_is_named(tmp_path: Path) -> None:
    other = m.Copied(path="evidence/launch.json", sha256=samples.SUM, bytes=3, copy_sha256="0" * 64)
    gone = m.Copied(path="junit.xml", sha256=samples.SUM, bytes=3, copy_sha256=None)
    evidence = {**samples.everything(), "copy": samples.copy(files=[other, gone], same_file_system=True)}
    text = flat(parse(render(samples.verdict(), samples.trial(tmp_path / "t", evidence))).text)
    assert "evidence/launch.json: altered in the copy" in text
    assert "junit.xml: missing in the copy" in text
    assert "lost together with the original" in text


def test_a_page_is_made_at_once(sample: Sample) -> None:
    verdict, trial, _ = sample("fix")
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        render(verdict, trial)
        times.append(time.perf_counter() - begun)
    assert min(times) < 0.05


def test_jinja_is_imported_by_nobody_who_does_not_render() -> None:
    code = "import sys, plugins.report; print('jinja2' in sys.modules, 'markupsafe' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30, cwd=ROOT
    )
    assert ran.stdout.split() == ["False", "False"]


def test_a_claim_with_several_lines_keeps_its_words(tmp_path: Path) -> None:
    claim = Claim(holds=False, required="a\nb", found="c\td", documents=[])
    text = render(samples.verdict(failing={"inputs.sums": claim}), samples.trial(tmp_path / "t", {}))
    assert "required a b; found c d" in flat(parse(text).text)
