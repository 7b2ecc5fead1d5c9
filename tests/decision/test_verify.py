"""`python -m plugins.decision verify`: whatever was changed since it was recorded is found and named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from plugins.decision import __main__ as command
from plugins.decision import chain
from plugins.decision.chain import Line
from plugins.decision.record import Asked
from plugins.decision.record import record
from plugins.decision.verify import verify
from tests.trials.making import closed
from tests.trials.making import Command
from tests.trials.making import EARLIER
from tests.trials.making import NAME

WHY = "looked at by two of us, who agree"
LAST = "20261202T103000Z-0001"


def filled(reports: Path) -> Path:
    """Three trials and four decisions: the first trial was decided on twice, once by an override."""
    first = closed(reports, EARLIER, "fix")
    record(reports, first, Asked("go", WHY, override=True))
    record(reports, closed(reports, NAME), Asked("go", WHY, by="Ada"))
    record(reports, first, Asked("reconfigure", WHY, again=True))
    record(reports, closed(reports, LAST, "rehearsal"), Asked("fix", WHY))
    return reports


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("decided"))


@pytest.fixture
def reports(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "reports"))


@pytest.fixture
def verified(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(command.main, capsys)


def test_what_nobody_touched_agrees(verified: Command, reports: Path) -> None:
    status, out, err = verified("verify", "--reports", reports)
    assert (status, err) == (0, "")
    assert out == "4 decisions read, 3 trials here, 0 not here: everything agrees\n"


def recorded(reports: Path) -> Iterator[Path]:
    """The chain, and every file that it speaks of, itself or by SHA256SUMS."""
    yield reports / "decisions.jsonl"
    for name in (EARLIER, NAME, LAST):
        yield from sorted(path for path in (reports / name).rglob("*") if path.is_file())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_byte_that_is_changed_put_in_or_taken_out_is_found(pristine: Path, data: st.DataObject) -> None:
    files = list(recorded(pristine))
    # half of the time the chain itself, of which every byte counts
    file = data.draw(st.one_of(st.just(files[0]), st.sampled_from(files)))
    before = file.read_bytes()
    place = data.draw(st.integers(0, len(before) - 1))
    way = data.draw(st.sampled_from(["change", "put in", "take out", "cut off"]))
    byte = bytes([data.draw(st.integers(0, 255))])
    after = {
        "change": before[:place] + byte + before[place + 1 :],
        "put in": before[:place] + byte + before[place:],
        "take out": before[:place] + before[place + 1 :],
        "cut off": before[:place],
    }[way]
    try:
        file.write_bytes(after)
        assert bool(verify(pristine).broken) == (after != before)
    finally:
        file.write_bytes(before)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(order=st.lists(st.integers(0, 3), max_size=6))
def test_lines_left_out_doubled_or_put_in_another_order_are_found(pristine: Path, order: list[int]) -> None:
    file = pristine / "decisions.jsonl"
    before = file.read_bytes()
    lines = before.splitlines(keepends=True)
    try:
        file.write_bytes(b"".join(lines[number] for number in order))
        assert bool(verify(pristine).broken) == (order != [0, 1, 2, 3])
    finally:
        file.write_bytes(before)


def test_a_line_alone_shows_every_byte_that_is_another(tmp_path: Path) -> None:
    """As the last one has to, with none behind it; and there is no trial here to hold it against."""
    line = Line(
        number=1, before=chain.GENESIS, trial=NAME, folder=NAME, decision="go", override=False, machine="go",
        reason=WHY, by=None, when="2026-12-01T12:00:00Z", files={"report.html": "0f" * 32},
    )  # fmt: skip
    file = tmp_path / "decisions.jsonl"
    chain.append(file, line)
    assert chain.read(file).broken is None
    whole = file.read_bytes()
    for place, byte in enumerate(whole):
        another = b"1" if byte == ord("0") else b"0" if chr(byte) in "123456789abcdef" else bytes([byte ^ 1])
        for changed in (another + whole[place + 1 :], b" " + whole[place:]):
            file.write_bytes(whole[:place] + changed)
            assert chain.read(file).broken, place


def test_a_line_that_was_made_anew_by_itself_does_not_fit_the_next(reports: Path) -> None:
    file = reports / "decisions.jsonl"
    texts = file.read_bytes().splitlines(keepends=True)
    texts[1] = lines_of(reports)[1].model_copy(update={"reason": "another one"}).render()
    file.write_bytes(b"".join(texts))
    shutil.rmtree(reports / NAME)
    (problem,) = verify(reports).broken
    assert "line 3" in problem


def lines_of(reports: Path) -> list[Line]:
    return chain.read(reports / "decisions.jsonl").lines


def rewrite(reports: Path, number: int, **changed: object) -> None:
    """The chain made anew from a line on, so that every sum in it agrees again."""
    written, last = b"", chain.GENESIS
    for line in lines_of(reports):
        more = changed if line.number == number else {}
        text = line.model_copy(update={"before": last, **more}).render()
        last = chain.sums.of_bytes(text)
        written += text
    (reports / "decisions.jsonl").write_bytes(written)


@pytest.mark.parametrize(
    "changed",
    [{"decision": "go"}, {"override": True}, {"reason": "another one"}, {"machine": "go"}, {"by": "Eve"}],
    ids=lambda changed: next(iter(changed)),
)
def test_a_chain_made_anew_contradicts_the_decisions_themselves(
    changed: dict[str, object], reports: Path
) -> None:
    rewrite(reports, 4)
    assert verify(reports).broken == []
    rewrite(reports, 4, **changed)
    (problem,) = verify(reports).broken
    assert "line 4" in problem
    assert "not what the line says" in problem


def gone(name: str) -> Callable[[Path], None]:
    return lambda reports: (reports / name).unlink()


def written(name: str, text: str) -> Callable[[Path], None]:
    def write(reports: Path) -> None:
        (reports / name).write_text(text)

    return write


def torn(reports: Path) -> None:
    with (reports / "decisions.jsonl").open("ab") as stream:
        stream.write(b'{"schema":"gpu-pilot/decisions/1","number":5,"bef')


def an_empty_line(reports: Path) -> None:
    with (reports / "decisions.jsonl").open("ab") as stream:
        stream.write(b"\n")


def no_seal(reports: Path) -> None:
    (reports / NAME / "SHA256SUMS").unlink()


FAULTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a torn last line": (torn, "line 5: found a torn line"),
    "an empty line": (an_empty_line, "line 5"),
    "no page": (gone(f"{NAME}/decision.md"), "line 2"),
    "no decision": (gone(f"{NAME}/decision.json"), "line 2"),
    "no report": (gone(f"{NAME}/report.html"), "line 2"),
    "another report": (written(f"{NAME}/report.html", "<p>all is well"), "line 2"),
    "another page": (written(f"{LAST}/decision.md", "# Decision: go"), "line 4"),
    "no sums": (no_seal, "line 2"),
    "no earlier decision": (gone(f"{EARLIER}/decision-1.json"), "line 3"),
    "another earlier decision": (written(f"{EARLIER}/decision-1.md", "x"), "line 3"),
    "a decision that nobody recorded": (written(f"{NAME}/decision-7.json", "{}"), "no line records it"),
    "more evidence": (written(f"{NAME}/evidence/x.json", "{}"), "evidence/x.json: not in SHA256SUMS"),
    "no chain": (gone("decisions.jsonl"), "no line of decisions.jsonl records it"),
    "an empty chain": (written("decisions.jsonl", ""), "no line of decisions.jsonl records it"),
    "a chain of bytes": (written("decisions.jsonl", "\0\n"), "line 1"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_it_ends_with_10_and_names_the_first_line_that_is_broken(
    case: str, verified: Command, reports: Path
) -> None:
    spoil, said = FAULTS[case]
    spoil(reports)
    status, out, err = verified("verify", "--reports", reports)
    assert (status, err) == (10, "")
    assert said in out.splitlines()[0]
    assert "NOT everything agrees" in out.splitlines()[-1]


def test_an_earlier_decision_that_went_before_the_next_was_recorded_is_missed(reports: Path) -> None:
    assert verify(reports).broken == []
    for name in ("decision-1.json", "decision-1.md"):
        (reports / EARLIER / name).unlink()
    record(reports, reports / EARLIER, Asked("reconfigure", WHY, again=True))
    problems = verify(reports).broken
    assert [("line 1" in one, "not among the earlier" in one) for one in problems] == [(True, True)] * 2


def test_the_first_of_several_is_named_first(verified: Command, reports: Path) -> None:
    for name in (LAST, NAME):
        (reports / name / "decision.md").write_text("x")
    status, out, _ = verified("verify", "--reports", reports)
    assert status == 10
    assert ["line 2" in out.splitlines()[0], "line 4" in out.splitlines()[1]] == [True, True]


def test_a_trial_that_was_moved_away_is_not_here_and_breaks_nothing(verified: Command, reports: Path) -> None:
    shutil.rmtree(reports / NAME)
    status, out, _ = verified("verify", "--reports", reports)
    assert status == 0
    assert out.splitlines() == [
        f"not here: {NAME}",
        "4 decisions read, 2 trials here, 1 not here: everything agrees",
    ]


def test_a_renamed_trial_is_still_looked_at(verified: Command, reports: Path) -> None:
    (reports / NAME).rename(reports / "the good one")
    assert verified("verify", "--reports", reports)[0] == 0
    (reports / "the good one" / "decision.md").write_text("x")
    assert verified("verify", "--reports", reports)[0] == 10


def test_a_trial_judged_again_since_is_no_fault(verified: Command, reports: Path) -> None:
    (reports / NAME / "reread.json").write_text("{}")
    assert verified("verify", "--reports", reports)[0] == 0


def test_no_name_in_the_chain_leads_out_of_the_trial(verified: Command, reports: Path) -> None:
    (reports.parent / "outside").write_text("x")
    line = lines_of(reports)[3]
    files = {**line.files, "../../outside": chain.sums.of_bytes(b"x")}
    rewrite(reports, 4, files=files)
    assert verified("verify", "--reports", reports)[0] == 10


@pytest.mark.parametrize("here", [True, False])
def test_with_nothing_to_verify_nothing_is_said_to_agree(
    here: bool, verified: Command, tmp_path: Path
) -> None:
    if here:
        closed(tmp_path, NAME)
    status, out, err = verified("verify", "--reports", tmp_path if here else tmp_path / "absent")
    assert (status, out) == (4, "")
    assert "wanted" in err


def test_a_line_is_plain_json_and_its_sum_can_be_found_by_hand(reports: Path) -> None:
    texts = (reports / "decisions.jsonl").read_bytes().splitlines(keepends=True)
    values = [json.loads(text) for text in texts]
    assert values[0]["before"] == "0" * 64
    for text, behind in zip(texts, values[1:], strict=False):
        assert behind["before"] == chain.sums.of_bytes(text)
    assert [value["override"] for value in values] == [True, False, False, False]
