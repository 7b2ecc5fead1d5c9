"""The corpus, its sampling, and a training run that is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fixtures.classifier import __main__ as program
from fixtures.classifier.corpus import CATEGORIES
from fixtures.classifier.corpus import parse
from fixtures.classifier.errors import Failure
from fixtures.classifier.sampling import draw
from fixtures.classifier.sampling import without_accents

from .conftest import CORPUS
from .conftest import PROJECT


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        pytest.param(
            "[resume]", "[resumee]", "line 14: unknown section [resumee], known: invoice,", id="section"
        ),
        pytest.param("# a small", "text before", "line 1: a line before the first section", id="no-section"),
        pytest.param("{amount} by", "{sum} by", "line 3: unknown slot {sum}, known here: person,", id="slot"),
        pytest.param("{amount} by", "{amount by", "line 3: a brace that is part of no slot", id="brace"),
        pytest.param("Ann Lee", "Ann {city}", "unknown slot {city}, known here: none", id="slot-in-filler"),
        pytest.param("[fill.city]\nLeeds\n", "", "no lines in section fill.city", id="empty-section"),
        pytest.param("Skills:", "Ski\udcffls:", "line 16: not valid UTF-8 at byte 3 of the line", id="utf-8"),
        pytest.param(
            "I cannot reset my password",
            "VAT 20 %, subtotal {amount}",
            "same training line as line 5",
            id="twice",
        ),
    ],
)
def test_a_malformed_corpus_is_one_line_that_names_the_place(
    tmp_path: Path, old: str, new: str, what: str
) -> None:
    path = tmp_path / "en.txt"
    path.write_bytes(CORPUS.replace(old, new).encode(errors="surrogateescape"))
    with pytest.raises(Failure) as failure:
        parse(path)
    assert str(path) in str(failure.value)
    assert what in str(failure.value)


def test_a_corpus_without_files_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["train", "--corpus", str(tmp_path), "--model", str(tmp_path)]) == 2
    assert "holds no .txt file" in capsys.readouterr().err


def test_a_line_may_begin_with_a_bracket(tmp_path: Path) -> None:
    path = tmp_path / "en.txt"
    path.write_text(CORPUS.replace("I cannot", "[14:02] Agent: hello [14:03] Client: I cannot"))
    assert any(line.startswith("[14:02]") for line in parse(path).lines["support_ticket"])


def test_documents_are_drawn_from_the_seed_alone_and_have_no_slot_left(small_corpus: Path) -> None:
    bank = parse(small_corpus / "en.txt")
    drawn = [[draw(bank, name, random.Random(5)) for name in CATEGORIES for _ in range(20)] for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert not any("{" in text for text in drawn[0])


def test_accents_are_dropped_as_on_a_bare_keyboard() -> None:
    assert without_accents("Đơn thuốc à été 合同") == "Don thuoc a ete 合同"


def test_a_killed_and_resumed_training_equals_the_uninterrupted_one(
    small_corpus: Path, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    straight, resumed, kept = tmp_path / "straight", tmp_path / "resumed", tmp_path / "kept"
    common = ["train", "--corpus", str(small_corpus), "--members", "2", "--documents", "20", "--steps", "20"]
    checkpoint = ["--checkpoint", str(kept), "--every", "1"]
    threads = torch.get_num_threads()
    assert program.main([*common, "--model", str(straight)]) == 0
    torch.set_num_threads(threads)

    killed = subprocess.Popen(
        [sys.executable, "-B", "-m", "fixtures.classifier", *common, "--model", str(resumed), *checkpoint],
        cwd=PROJECT,
        stderr=subprocess.DEVNULL,
    )
    while killed.poll() is None and not (kept / "checkpoint.pt").exists():
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL, "training had ended before it was killed"
    saved = torch.load(kept / "checkpoint.pt", weights_only=True)
    assert (saved["member"], saved["step"]) < (2, 0)
    assert not (resumed / "model.json").exists()

    assert program.main([*common, "--model", str(resumed), *checkpoint]) == 2, "a checkpoint was overwritten"
    assert program.main([*common, "--model", str(resumed), *checkpoint, "--resume"]) == 0
    torch.set_num_threads(threads)
    for name in ("model.safetensors", "model.json"):
        assert (resumed / name).read_bytes() == (straight / name).read_bytes()


def test_a_checkpoint_of_another_run_is_not_resumed(
    small_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    kept = ["--checkpoint", str(tmp_path / "kept"), "--resume"]
    common = [
        "train",
        "--corpus",
        str(small_corpus),
        "--members",
        "1",
        "--documents",
        "5",
        "--model",
        str(tmp_path / "model"),
    ]
    assert program.main([*common, "--steps", "2", *kept]) == 0
    assert "no checkpoint yet" in capsys.readouterr().err
    assert program.main([*common, "--steps", "3", *kept]) == 2
    assert "is of a run with another settings" in capsys.readouterr().err
    (tmp_path / "kept" / "checkpoint.pt").write_bytes(b"not a checkpoint")
    assert program.main([*common, "--steps", "2", *kept]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert program.main([*common, "--resume"]) == 2
    assert "--resume needs --checkpoint" in capsys.readouterr().err
    torch.set_num_threads(threads)
