"""decision.md: made to be attached, so nothing in it may become markup, a link or another table."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from plugins.decision import page
from plugins.decision.file import Decided
from plugins.decision.record import Asked
from plugins.decision.record import record
from plugins.verdict import Claim
from tests.report import samples
from tests.trials.making import closed
from tests.trials.making import NAME
from tests.trials.making import seal

HOSTILE = (
    "</td> | a | b |\n\n# a heading\n<script>alert(1)</script> <img src=x onerror=alert(1)> "
    "[link](http://evil.example) ![i](//evil.example/i) http://evil.example www.evil.example evil@evil.example "
    "`code` ``` ~~~ **bold** _x_ \\| \\` &lt;b&gt; <!-- \u202e \x1b[2J ]]> $x$ :smile: @team #1 | --- | --- |"
)
WHY = "looked at by two of us, who agree"
HEADINGS = ["Reason", "What the machine says", "Conditions", "Criteria", "Order", "Documents", "Sums"]
#: a run of backticks, and up to the next run of the same length
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def decided(folder: Path, text: str, *, by: str | None = None, because: str = WHY) -> str:
    """The page of a decision on a trial in which everything that others wrote is `text`."""
    claim = Claim(holds=False, required=text, found=text, documents=[])
    counts = samples.counts(missing=[text], invented=[text])
    verdict = samples.verdict(failing={"results.complete": claim}, documents=counts, trial=NAME)
    error = verdict.first_error
    assert error
    altered = verdict.model_copy(
        update={
            "first_error": error.model_copy(update={"message": text, "check": text}),
            "conditions": [text],
            "reason": text,
        }
    )
    order = samples.record().order.model_copy(update={"card": text})
    path = closed(folder, NAME, verdict=altered, order=order)
    record(folder, path, Asked("fix", because, by))
    return (path / "decision.md").read_text(encoding="utf-8")


def parts(written: str) -> list[str]:
    """The lines of a page without what stands in code spans and in the block of the sums."""
    before, _, rest = written.partition("```text\n")
    assert rest.count("\n```\n") == 1
    assert rest.endswith("\n```\n")
    return [_SPAN.sub("CODE", line) for line in before.splitlines()]


def shape(written: str) -> list[str]:
    """What Markdown makes of each line: a heading, a row of so many cells, an item, a quotation."""
    found = []
    for line in parts(written):
        if line.startswith("|"):
            found.append(f"row of {line.count('|') - 1}")
        elif line.startswith("#"):
            found.append(line.split(" ", 1)[0])
        elif line:
            found.append(line[:2] if line[:2] in ("- ", "> ") else "text")
    return found


def test_it_says_what_was_decided_why_and_on_what_evidence(tmp_path: Path) -> None:
    written = decided(
        tmp_path, "eleven results", by="Ada", because="the batch was too large\nand is smaller now"
    )
    lines = written.splitlines()
    assert lines[0] == "# Decision on a rented GPU: fix"
    assert [line[3:] for line in lines if line.startswith("## ")] == HEADINGS
    for said in (
        "- Decided by: Ada",
        f"- Trial: `{NAME}`",
        "> the batch was too large",
        "> and is smaller now",
        "- `eleven results`",
        "| results | FAILED | 1 of 2 |",
        "| training | not examined | 0 of 0 |",
        "- `results.complete: FAILED`",
        "- Card: `eleven results`",
        "| missing | 1 |",
        "Missing: `eleven results`",
    ):
        assert said in lines, said
    assert re.search(r"^[0-9a-f]{64}  report\.html$", written, re.MULTILINE)
    assert re.search(r"^[0-9a-f]{64}  evidence/inventory\.json$", written, re.MULTILINE)


def test_what_others_wrote_changes_nothing_of_its_shape(tmp_path: Path) -> None:
    harmless = decided(tmp_path / "a", "plain", by="Ada", because=WHY)
    hostile = decided(tmp_path / "b", HOSTILE, by=HOSTILE[:190], because=HOSTILE.replace("\n", " "))
    assert shape(hostile) == shape(harmless)
    outside = "\n".join(line.removeprefix("> ") for line in parts(hostile))
    assert not set(outside) & set("<>[]!@\\~\x1b\u202e")
    assert "://" not in outside
    assert "www." not in outside


PIECES = st.sampled_from(
    ["`", "``", "```", "|", "\\", "<b>", "&lt;", "[a](b)", "\n", "\r", "\n\n- ", "\n# ", "    ", "\t", "*", "_", "~~~",
     "http://e.e", "www.e.e", "a@b.c", "x", " ", "1. ", "> ", "\u2028", "\x85", "\x0b", "\x1c", "---", "===", "&#124;"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=20)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(TEXTS)
def test_any_text_stays_in_its_code_span(text: str) -> None:
    written = page.code(text)
    assert "\n" not in written
    assert len(written.splitlines()) == 1
    assert written == "—" or _SPAN.fullmatch(written)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(TEXTS)
def test_any_text_in_prose_is_only_text(text: str) -> None:
    written = page.prose(text)
    assert len(written.splitlines()) == 1
    assert not set(re.sub(r"&#\d+;", "", written)) & set("<>[]|`*_\\~#!&@:=+\n\t")
    assert not re.match(r"[-.]|\d+[.)]", written)
    assert (
        html.unescape(written) == " ".join(page.text.visible(text).split())
        or not text.strip()
        or "\u00a0" in text
    )


@pytest.mark.parametrize("name", ["`", "a``b", "```", "a\nb", "a|b", "<b>"])
def test_a_file_of_any_name_stays_in_the_block_of_the_sums(name: str, tmp_path: Path) -> None:
    path = closed(tmp_path, NAME)
    (path / "evidence" / name).write_text("x")
    seal(path)
    record(tmp_path, path, Asked("go", WHY))
    written = (path / "decision.md").read_text()
    fence = written.rstrip("\n").splitlines()[-1]
    assert set(fence) == {"`"}
    assert written.count(f"\n{fence}") == 2  # begun and ended once
    assert isinstance(Decided.model_validate_json((path / "decision.json").read_text()), Decided)
