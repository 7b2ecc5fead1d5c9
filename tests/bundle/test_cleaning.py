"""What stays out of texts: documents in any dress, secrets, homes and names; and what stays in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from plugins.bundle.cleaning import Cleaner
from plugins.bundle.cleaning import DOCUMENT
from plugins.bundle.cleaning import STORAGE
from plugins.bundle.cleaning import USER
from tests.report import samples

LATIN = "Le bail est consenti pour une durée de neuf années entières à compter du premier juillet."
CHINESE = "右膝关节平扫:内侧半月板后角见斜行线状高信号,达关节面"
SECRET = "hf_" + "q" * 30


@pytest.fixture
def cleaner(tmp_path: Path) -> Cleaner:
    trial = samples.trial(tmp_path / "trial", samples.everything())
    staged = trial.raw("application") / "documents"
    staged.mkdir(parents=True)
    for number, text in enumerate((LATIN, CHINESE)):
        (staged / f"doc-{number}.txt").write_text(f"Before. {text} After.", encoding="utf-8")
    return Cleaner(trial)


DRESSES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in upper case": str.upper,
    "on several lines": lambda text: text.replace(" ", "\n  "),
    "as JSON": lambda text: json.dumps({"text": text}),
    "as JSON with its characters": lambda text: json.dumps({"text": text}, ensure_ascii=False),
    "as Python shows it": repr,
    "as ASCII": ascii,
    "with another ending": lambda text: text[:-5] + "!",
    "from its middle": lambda text: "…" + text[4:-2] + "…",
}


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
@pytest.mark.parametrize("text", [LATIN, CHINESE], ids=["French", "Chinese"])
def test_a_document_is_hidden_however_it_is_written(
    cleaner: Cleaner, text: str, dress: Callable[[str], str]
) -> None:
    cleaned = cleaner.text(f"error while reading: {dress(text)} (worker 3)")
    assert cleaned.startswith("error while reading: ")
    assert cleaned.endswith(" (worker 3)")
    assert DOCUMENT in cleaned
    for piece in ("consenti", "années entières", "半月板后角", "\\u534a\\u6708"):
        assert piece.casefold() not in cleaned.casefold()


def test_beginnings_in_the_evidence_are_hidden_where_no_document_is_there(tmp_path: Path) -> None:
    cleaner = Cleaner(samples.trial(tmp_path / "trial", samples.everything()))
    assert cleaner.unread > 0
    assert cleaner.text(f"read {samples.TEXTS['doc-05'][2]}") == f"read {DOCUMENT}"


def test_what_an_accepted_record_holds_is_hidden_and_a_rejection_s_reason_is_not(tmp_path: Path) -> None:
    records = samples.answers()
    records[0]["summary"] = "A cook with ten years in collective catering applies."
    reason = "torch.OutOfMemoryError: CUDA out of memory, tried to allocate"
    records[-1]["reason"] = reason
    evidence = {**samples.everything(), "application": samples.application(records)}
    cleaner = Cleaner(samples.trial(tmp_path / "trial", evidence))
    assert cleaner.text(f"wrote {records[0]['summary']}") == f"wrote {DOCUMENT}."
    assert cleaner.text(f"failed: {reason}") == f"failed: {reason}"


@pytest.mark.parametrize(
    "line",
    [
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        "doc-05: killed by SIGSEGV, doc-11 and doc-12 are missing",
        "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.",
        "Before. After. a short word of it: entières",
    ],
)
def test_what_is_of_no_document_stays_as_it_is(cleaner: Cleaner, line: str) -> None:
    assert cleaner.text(line) == line
    assert cleaner.fact(line) == line


HIDDEN = {
    f"token {SECRET} refused": SECRET,
    "password=correct-horse in a log": "correct-horse",
    "https://bob:sesame@host/x": "sesame",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----\nand on": "MIIEow",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow and no end": "MIIEow",
    "IBAAKCAQEA\nMIIEow\n-----END RSA PRIVATE KEY-----\nand on": "IBAAKCAQEA",
}


@pytest.mark.parametrize(("line", "secret"), HIDDEN.items())
def test_what_looks_like_a_secret_is_hidden(cleaner: Cleaner, line: str, secret: str) -> None:
    assert secret not in cleaner.text(line)
    assert "hidden)" in cleaner.text(line)
    if "and on" in line:
        assert cleaner.text(line).endswith("and on")


def test_a_driver_s_version_stays_though_a_variable_holds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NV_DRIVER_VERSION", "580.95.05")
    monkeypatch.setenv("SUPPORT_TOKEN", "a-token-of-no-form")
    cleaner = Cleaner(samples.trial(tmp_path / "trial", {}))
    assert cleaner.fact("driver 580.95.05") == "driver 580.95.05"
    assert cleaner.text("driver 580.95.05") == "driver $NV_DRIVER_VERSION"
    assert cleaner.fact("a-token-of-no-form") == cleaner.text("a-token-of-no-form") == "$SUPPORT_TOKEN"


PLACES = {
    "/home/mallory/venv/bin/python": "~/venv/bin/python",
    "/home/renter/gpu-pilot": "~/gpu-pilot",
    "/root/.cache/huggingface": "~/.cache/huggingface",
    "in '/Users/eve/x', line 3": "in '~/x', line 3",
    "/data/home/trent": "~",
    "/tmp/pytest-of-mallory/0": f"/tmp/pytest-of-{USER}/0",
    "/opt/root/lib and /rooted": "/opt/root/lib and /rooted",
    "the user's home is /usr/lib": "the user's home is /usr/lib",
}


@pytest.mark.parametrize(("path", "shown"), PLACES.items())
def test_homes_and_user_names_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, shown: str
) -> None:
    for name in ("USER", "LOGNAME"):
        monkeypatch.setenv(name, "root")
    trial = samples.trial(tmp_path / "trial", {}, samples.record(project="/home/mallory/gpu-pilot"))
    cleaner = Cleaner(trial)
    assert cleaner.fact(path) == cleaner.text(path) == shown


@pytest.mark.parametrize("command", [["--copy-to", "typed/place"], ["--copy-to=typed/place"]])
def test_the_place_of_the_copy_is_hidden(tmp_path: Path, command: list[str]) -> None:
    record = samples.record(command=["pytest", *command], copy_to="/mnt/of-the-renter/typed/place")
    cleaner = Cleaner(samples.trial(tmp_path / "trial", {}, record))
    assert cleaner.text("pytest --copy-to typed/place -q") == f"pytest --copy-to {STORAGE} -q"
    assert cleaner.fact("/mnt/of-the-renter/typed/place is full") == f"{STORAGE} is full"
