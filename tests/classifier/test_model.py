"""The model's file and the start of the program, without torch."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.classifier import __main__ as program
from fixtures.classifier import device
from fixtures.classifier import model
from fixtures.classifier import oracle
from fixtures.classifier.errors import BAD_MODEL
from fixtures.classifier.errors import Failure
from fixtures.classifier.errors import NO_TORCH
from fixtures.classifier.hashing import BUCKETS

from .conftest import INVOICE
from .conftest import PROJECT


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A model folder to spoil."""
    for name in (model.TENSORS, model.CARD):
        shutil.copy(model.DEFAULT / name, tmp_path / name)
    return tmp_path


def test_the_shipped_model_is_the_one_its_card_pins() -> None:
    loaded = model.load(model.DEFAULT)
    assert loaded.categories == ("invoice", "contract", "support_ticket", "resume", "medical_report")
    assert len(loaded.table) == BUCKETS * 5
    assert (model.DEFAULT / model.TENSORS).stat().st_size < 2_000_000


def test_a_changed_byte_is_noticed(copy: Path) -> None:
    path = copy / model.TENSORS
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    _refuses(copy, "sha256 is")


@pytest.mark.parametrize("name", [model.TENSORS, model.CARD])
def test_an_absent_file_is_named(copy: Path, name: str) -> None:
    (copy / name).unlink()
    _refuses(copy, f"{name}: No such file or directory")


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        pytest.param("features", {}, "other features", id="features"),
        pytest.param("categories", ["one"], "two or more names", id="one-category"),
        pytest.param("categories", ["one", 2], "no name", id="no-name"),
        pytest.param("categories", ["one", "two"], "not the expected safetensors file", id="other-shape"),
    ],
)
def test_a_card_of_another_model_is_refused(copy: Path, key: str, value: object, what: str) -> None:
    card = json.loads((copy / model.CARD).read_text())
    (copy / model.CARD).write_text(json.dumps({**card, key: value}))
    _refuses(copy, what)


def test_a_card_that_is_no_card_is_refused(copy: Path) -> None:
    (copy / model.CARD).write_text("[")
    _refuses(copy, "not JSON")
    (copy / model.CARD).write_text("[]")
    _refuses(copy, "not a JSON object")


def _refuses(folder: Path, what: str) -> None:
    with pytest.raises(Failure) as failure:
        model.load(folder)
    assert failure.value.code == BAD_MODEL
    assert what in str(failure.value)
    assert "\n" not in str(failure.value)


def test_the_file_is_safetensors_as_others_read_it(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    loaded = model.load(model.DEFAULT)
    [(name, tensor)] = safetensors.deserialize((model.DEFAULT / model.TENSORS).read_bytes())
    assert name == "table"
    assert bytes(tensor["data"]) == loaded.table
    assert (
        model.save(tmp_path, loaded, {})["sha256"]
        == json.loads((model.DEFAULT / model.CARD).read_text())["sha256"]
    )


def test_ties_go_to_the_first_category() -> None:
    assert oracle.decide([1, 7, 7, 3]) == (1, 0)
    assert oracle.decide([-5, -9]) == (0, 4)


@pytest.mark.parametrize("arguments", [["--help"], ["classify", "--help"], ["train", "--help"], ["evaluate"]])
def test_torch_is_not_imported_where_it_is_not_needed(arguments: list[str]) -> None:
    script = (
        "import sys\nfrom fixtures.classifier.__main__ import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "sys.exit('torch' in sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-B", "-c", script, *arguments], cwd=PROJECT, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_the_program_imports_nothing_else_of_the_project() -> None:
    ours = {path.name for path in PROJECT.iterdir() if path.is_dir()}
    for path in (PROJECT / "fixtures" / "classifier").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                where = f"{node.module}." if node.level == 0 else "."
                names += [where + alias.name for alias in node.names]
            foreign = [name for name in names if name.split(".")[0] in (*ours, "")]
            # fixtures.tell is what renters' own programs import: the standard library, and silent by itself
            own = [name.startswith("fixtures.classifier.") or name == "fixtures.tell" for name in foreign]
            assert all(own), f"{path}: {foreign}"


def test_absent_torch_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "a.txt").write_text(INVOICE)
    (tmp_path / "manifest.json").write_text('{"documents": [{"id": "a", "file": "a.txt"}]}')
    where = ["--manifest", str(tmp_path / "manifest.json"), "--results", str(tmp_path / "results")]
    assert program.main(["classify", *where, "--device", "cpu", "--batch-size", "1"]) == NO_TORCH
    said = capsys.readouterr().err
    assert said.startswith("classifier: torch cannot be imported: ")
    assert said.count("\n") == 1
    assert not (tmp_path / "results").exists()
    with pytest.raises(Failure):
        device.import_torch()
