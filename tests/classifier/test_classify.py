"""The command `classify`, in processes of its own and in this one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from fixtures.classifier import __main__ as program  # noqa: E402
from fixtures.classifier import oracle  # noqa: E402
from fixtures.classifier.scoring import Scorer  # noqa: E402

from .conftest import INVOICE  # noqa: E402
from .conftest import Run  # noqa: E402
from .conftest import TICKET  # noqa: E402

Make = Callable[[dict[str, bytes | None]], Path]
Read = Callable[[Path], dict[str, Any]]


def arguments(manifest: Path, results: Path, device: str = "cpu", batch: int = 4, *more: str) -> list[str]:
    where = ["--manifest", str(manifest), "--results", str(results)]
    return ["classify", *where, "--device", device, "--batch-size", str(batch), *more]


def test_a_process_classifies_what_is_valid_and_refuses_the_rest(
    command: Run, make_manifest: Make, results_of: Read, tmp_path: Path
) -> None:
    manifest = make_manifest(
        {"bill": INVOICE.encode(), "bad": b"\xff\xfe\x00bad", "gone": None, "ticket": TICKET.encode()}
    )
    ran = command(*arguments(manifest, tmp_path / "results", "cpu", 4, "--selfcheck"), python=("-W", "error"))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ""
    assert ran.stderr.startswith("classified 2, rejected 2 in ")
    assert ran.stderr.endswith(" s on cpu\n")
    results = results_of(tmp_path / "results")
    assert list(results) == ["bill", "bad", "gone", "ticket"]
    assert results["bad"] == {"id": "bad", "status": "rejected", "reason": "not valid UTF-8 at byte 0"}
    assert results["gone"] == {"id": "gone", "status": "rejected", "reason": "missing: no such file"}
    assert results["bill"].pop("score_margin") > 0
    assert results["bill"] == {"id": "bill", "status": "accepted", "category": "invoice", "device": "cpu"}
    assert results["ticket"]["category"] == "support_ticket"


def test_all_rejected_is_handled_and_ends_with_0(
    make_manifest: Make, results_of: Read, tmp_path: Path
) -> None:
    assert program.main(arguments(make_manifest({"a": None, "b": b""}), tmp_path / "results")) == 0
    assert {line["status"] for line in results_of(tmp_path / "results").values()} == {"rejected"}


def test_results_do_not_depend_on_batch_order_or_process(
    command: Run, make_manifest: Make, results_of: Read, tmp_path: Path
) -> None:
    chance = random.Random(3)
    words = f"{INVOICE} {TICKET} patient contrato 合同 đơn thuốc".split()
    texts = {f"d{size}": " ".join(chance.choices(words, k=size)).encode() for size in (4, 9, 50, 700, 3000)}
    documents: dict[str, bytes | None] = {**texts, "bad": b"\xff"}
    manifest = make_manifest(documents)
    found = []
    for batch in (1, 2, 32):
        results = tmp_path / f"results-{batch}"
        assert program.main(arguments(manifest, results, "cpu", batch)) == 0
        found.append(results_of(results))
    manifest = make_manifest(dict(reversed(documents.items())))
    assert command(*arguments(manifest, tmp_path / "results-process")).returncode == 0
    found.append(results_of(tmp_path / "results-process"))
    assert all(one == found[0] for one in found)


def test_results_are_flushed_as_each_batch_ends(
    make_manifest: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = make_manifest({name: INVOICE.encode() for name in "abcde"})
    seen = []
    scores = Scorer.scores

    def watched(self: Scorer, texts: list[str]) -> Any:
        seen.append(len((tmp_path / "results").read_text().splitlines()))
        return scores(self, texts)

    monkeypatch.setattr(Scorer, "scores", watched)
    assert program.main(arguments(manifest, tmp_path / "results", "cpu", 2)) == 0
    assert seen == [0, 2, 4]


def test_a_long_document_takes_well_under_a_second_and_the_longest_fits(
    make_manifest: Make, results_of: Read, tmp_path: Path
) -> None:
    long = (TICKET + "\n") * (400_000 // len(TICKET))
    # Combining marks out of order take CPython quadratic time where they stand in one run.
    marks = "twelve letters " + "\u0301\u0316" * 300_000
    manifest = make_manifest({"long": long.encode(), "marks": marks.encode()})
    import time

    began = time.monotonic()
    assert program.main(arguments(manifest, tmp_path / "results", "cpu", 1)) == 0
    assert time.monotonic() - began < 15
    assert results_of(tmp_path / "results")["long"]["category"] == "support_ticket"


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_an_absent_device_is_named_and_never_replaced(
    device: str,
    make_manifest: Make,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert program.main(arguments(make_manifest({"a": INVOICE.encode()}), tmp_path / "results", device)) == 3
    assert not (tmp_path / "results").exists()
    said = capsys.readouterr().err
    assert said.startswith(
        f"classifier: device {device} was asked for, but torch {torch.__version__} is built for "
    )
    assert said.endswith(" and sees 0 GPUs\n")


@pytest.mark.parametrize(("asked", "built"), [("cuda", "hip"), ("rocm", "cuda")])
def test_a_gpu_of_the_other_make_is_not_the_one_asked_for(
    asked: str,
    built: str,
    make_manifest: Make,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.version, built, "9.9")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert program.main(arguments(make_manifest({"a": INVOICE.encode()}), tmp_path / "results", asked)) == 3
    name = {"cuda": "CUDA", "hip": "ROCm"}[built]
    assert f"is built for {name} 9.9 and sees 1 GPU" in capsys.readouterr().err


def test_a_gpu_that_is_seen_but_cannot_be_used_is_one_line(
    make_manifest: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> int:
        raise RuntimeError("CUDA error: out of memory\nCompile with ...")

    monkeypatch.setattr(torch.version, "cuda", "9.9")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", refuse)
    assert program.main(arguments(make_manifest({"a": INVOICE.encode()}), tmp_path / "results", "cuda")) == 3
    said = "device cuda was asked for, but cannot be used: CUDA error: out of memory"
    assert capsys.readouterr().err == f"classifier: {said}\n"
    assert not (tmp_path / "results").exists()


def test_a_device_that_fails_at_work_is_one_line(
    make_manifest: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Scorer, texts: list[str]) -> None:
        raise RuntimeError("CUDA error: no kernel image is available\nCompile with ...")

    monkeypatch.setattr(Scorer, "scores", fail)
    assert program.main(arguments(make_manifest({"a": INVOICE.encode()}), tmp_path / "results")) == 3
    said = "device cpu failed after 0 documents: CUDA error: no kernel image is available"
    assert capsys.readouterr().err == f"classifier: {said}\n"


def test_selfcheck_names_the_documents_whose_scores_differ(
    make_manifest: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = make_manifest({"right": INVOICE.encode(), "wrong": TICKET.encode()})
    scores = oracle.scores
    monkeypatch.setattr(
        oracle, "scores", lambda text, model: [n + (text == TICKET) for n in scores(text, model)]
    )
    assert program.main(arguments(manifest, tmp_path / "results", "cpu", 2, "--selfcheck")) == 6
    assert capsys.readouterr().err.endswith("scores on cpu are not plain Python's: wrong\n")


def test_results_are_never_overwritten(
    make_manifest: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").write_text("kept")
    assert program.main(arguments(make_manifest({"a": None}), tmp_path / "results")) == 2
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "results").read_text() == "kept"
    assert program.main(arguments(make_manifest({"a": None}), tmp_path / "no" / "results")) == 2
    assert "its folder does not exist" in capsys.readouterr().err


def test_an_id_is_only_echoed(tmp_path: Path, results_of: Read) -> None:
    (tmp_path / "a.txt").write_text(INVOICE)
    names = ["../../etc/passwd", "\ud800", "<b>"]
    entries = [{"id": name, "file": "a.txt"} for name in names]
    (tmp_path / "manifest.json").write_text(json.dumps({"documents": entries}))
    assert program.main(arguments(tmp_path / "manifest.json", tmp_path / "results")) == 0
    assert list(results_of(tmp_path / "results")) == names
