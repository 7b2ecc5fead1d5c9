"""Extensions that are really broken, built on the spot, each beside its healthy twin."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence.ladder import Extension
from fixtures.evidence.ladder import Said
from fixtures.probe import extensions
from fixtures.probe import lines as lining

ROOT = Path(extensions.__file__).resolve().parents[2]
COMPILER = shutil.which("cc")
HEADERS = sysconfig.get_path("include")
compiled = pytest.mark.skipif(
    COMPILER is None or not Path(HEADERS, "Python.h").exists(), reason="no C compiler or no Python.h here"
)

#: enough of torch for modules that ask nothing of it
NO_TORCH = types.SimpleNamespace(version=types.SimpleNamespace(cuda=None))
MODULE = """
#include <Python.h>
{declared}
static struct PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "{name}", NULL, -1, NULL}};
PyMODINIT_FUNC PyInit_{name}(void) {{ {called} return PyModule_Create(&definition); }}
"""


class Written(lining.Lines):
    """Lines of several processes, read back as the models that they must be."""

    def __init__(self, path: Path) -> None:
        super().__init__(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND))
        self.path = path

    def _of(self, name: str) -> list[Any]:
        lines = [json.loads(line)["add"] for line in self.path.read_text(encoding="ascii").splitlines()]
        return [line[name] for line in lines if name in line]

    @property
    def extensions(self) -> list[Extension]:
        return [Extension.model_validate(value) for value in self._of("extensions")]

    @property
    def said(self) -> list[Said]:  # type: ignore[override]
        return [Said.model_validate(value) for value in self._of("said")]


class Tried:
    """What `every` gave for one extension."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.failed = folder, [""]
        self.said: list[Said] = []

    def __call__(self, module: str, snippet: str | None = None, seconds: float = 60) -> Extension:
        path = self.folder / "lines.jsonl"
        path.unlink(missing_ok=True)
        written = Written(path)
        asked = [{"module": module, "snippet": snippet}]
        # `said` is a method of Lines, and here what it wrote
        out = lining.Lines(written.out)
        self.failed = extensions.every(out, NO_TORCH, "cpu", asked, seconds)
        os.close(written.out)
        self.said = written.said
        (one,) = written.extensions
        assert one.name == module
        assert self.failed == ([module] if one.error or one.ended else [])
        assert len(self.said) == len(self.failed)
        return one


@pytest.fixture
def tried(tmp_path: Path) -> Tried:
    (tmp_path / "observed").mkdir()
    return Tried(tmp_path / "observed")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write a package of the application's; the children import it, this process never does."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def make(name: str, source: str, version: str | None = None) -> Path:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(textwrap.dedent(source), encoding="utf-8")
        if version:
            told = folder / f"{name}-{version}.dist-info"
            told.mkdir()
            (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        return folder / name

    return make


def cc(*arguments: object) -> None:
    assert COMPILER is not None
    subprocess.run([COMPILER, "-shared", "-fPIC", f"-I{HEADERS}", *map(str, arguments)], check=True)


def module_in_c(folder: Path, name: str, symbol: str | None = None, *linked: object) -> None:
    source = folder / f"{name}.c"
    declared, called = (f"extern void {symbol}(void);", f"{symbol}();") if symbol else ("", "")
    source.write_text(MODULE.format(name=name, declared=declared, called=called))
    cc("-o", folder / f"{name}.so", source, *linked)


# -- libraries


@compiled
def test_an_undefined_symbol_is_named_whole(package: Callable[..., Path], tried: Tried) -> None:
    """EXT-01: built against another torch."""
    symbol = "_ZN3c104cuda9SetDeviceEi"
    module_in_c(package("attention_of_straw", "from . import kernels", "2.5.8"), "kernels", symbol)
    one = tried("attention_of_straw")
    assert (one.imported, one.ran, one.ended, one.version) == (False, False, None, "2.5.8")
    assert str(one.error).startswith("ImportError: ")
    assert str(one.error).endswith(f"attention_of_straw/kernels.so: undefined symbol: {symbol}")
    assert [(said.step, said.source, said.text) for said in tried.said] == [
        ("extensions", "attention_of_straw", one.error)
    ]


@compiled
def test_its_healthy_twin_imports(package: Callable[..., Path], tried: Tried) -> None:
    module_in_c(package("attention_of_straw", "from . import kernels", "2.5.8"), "kernels")
    one = tried("attention_of_straw")
    assert (one.imported, one.operation, one.ran, one.error, one.ended) == (True, None, False, None, None)
    assert (one.module, one.version) == ("attention_of_straw", "2.5.8")


@compiled
@pytest.mark.parametrize("there", [False, True], ids=["missing", "there"])
def test_a_shared_library(there: bool, package: Callable[..., Path], tried: Tried) -> None:
    folder = package("linked_of_straw", "from . import kernels")
    (folder / "needed.c").write_text("void needed(void) {}\n")
    cc("-o", folder / "libneeded.so", folder / "needed.c")
    module_in_c(folder, "kernels", "needed", f"-L{folder}", "-lneeded", f"-Wl,-rpath,{folder}")
    if not there:
        (folder / "libneeded.so").unlink()
    one = tried("linked_of_straw")
    assert one.imported is there
    expected = "ImportError: libneeded.so: cannot open shared object file: No such file or directory"
    assert one.error == (None if there else expected)


# -- crashes and hangs


CRASH = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
HANG = "import time; time.sleep(600)"


@pytest.mark.parametrize(
    ("source", "ended"),
    [
        (CRASH, "killed by SIGSEGV"),
        ("import os; os.abort()", "killed by SIGABRT"),
        ("import os; os._exit(3)", "in the middle of it the process ended with status 3"),
        (HANG, "no end within 1 s"),
    ],
    ids=["segfault", "abort", "exit", "hang"],
)
@pytest.mark.parametrize("stage", ["import", "operation"])
def test_a_crash_or_a_hang_is_told_with_its_stage(
    stage: str, source: str, ended: str, package: Callable[..., Path], tried: Tried
) -> None:
    package("crash_of_straw", source if stage == "import" else "", "1.0")
    one = tried(
        "crash_of_straw", source if stage == "operation" else None, seconds=1 if source == HANG else 60
    )
    assert (one.imported, one.ran, one.version) == (stage == "operation", False, "1.0")
    assert str(one.ended).startswith(ended)
    assert one.error is None
    assert one.operation == (None if stage == "import" else "the lines of the configuration")


def test_a_crash_by_a_signal_keeps_its_number(package: Callable[..., Path], tried: Tried) -> None:
    package("crash_of_straw", CRASH)
    tried("crash_of_straw")
    assert [(said.number, said.number_of) for said in tried.said] == [(11, "signal")]


def test_what_a_library_printed_before_it_aborted_is_the_error(
    package: Callable[..., Path], tried: Tried
) -> None:
    """TOR-05: there is no traceback."""
    library = "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9}"
    package("noisy_of_straw", f"import os; os.write(2, b'all is well\\n{library}\\n'); os.abort()")
    one = tried("noisy_of_straw")
    assert one.error == library
    assert str(one.ended).startswith("killed by SIGABRT")
    assert [said.text for said in tried.said] == [f"{library}; then {one.ended}"]


def test_one_that_crashes_leaves_the_next_alone_and_no_file_behind(
    package: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package("crash_of_straw", CRASH)
    package("good_of_straw", "__version__ = '3.1'")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    written = Written(tmp_path / "lines.jsonl")
    asked = [{"module": name, "snippet": None} for name in ("crash_of_straw", "good_of_straw")]
    assert extensions.every(lining.Lines(written.out), NO_TORCH, "cpu", asked) == ["crash_of_straw"]
    os.close(written.out)
    assert [(one.name, one.imported, one.version) for one in written.extensions] == [
        ("crash_of_straw", False, None),
        ("good_of_straw", True, "3.1"),
    ]
    assert list((tmp_path / "tmp").iterdir()) == []


# -- exceptions


def test_a_module_that_is_not_there(tried: Tried) -> None:
    one = tried("of_no_straw")
    assert (one.imported, one.version) == (False, None)
    assert one.error == "ModuleNotFoundError: No module named 'of_no_straw'"


@pytest.mark.parametrize(
    ("snippet", "error"),
    [
        ("assert module.answer() == 41, 'the answer is another'", "AssertionError: the answer is another"),
        ("raise SystemExit(4)", "SystemExit: 4"),
        ("this is no Python", "SyntaxError: invalid syntax (<snippet>, line 1)"),
    ],
    ids=["raises", "leaves", "no Python"],
)
def test_lines_of_the_configuration_that_fail(
    snippet: str, error: str, package: Callable[..., Path], tried: Tried
) -> None:
    package("asked_of_straw", "def answer(): return 42")
    one = tried("asked_of_straw", snippet)
    assert (one.imported, one.operation, one.ran) == (True, "the lines of the configuration", False)
    assert one.error == error


def test_lines_of_the_configuration_that_do_their_work(package: Callable[..., Path], tried: Tried) -> None:
    package("asked_of_straw", "def answer(): return 42")
    one = tried("asked_of_straw", "assert module.answer() == 42; assert device == 'cpu'; torch.version")
    assert (one.imported, one.operation, one.ran, one.error) == (
        True,
        "the lines of the configuration",
        True,
        None,
    )


def test_of_several_errors_the_first_is_first(package: Callable[..., Path], tried: Tried) -> None:
    """EXT-07, EXT-08: the last is the loudest."""
    package(
        "chained_of_straw",
        """
        try:
            raise RuntimeError("operator torchvision::nms does not exist")
        except RuntimeError as error:
            try:
                raise ImportError("cannot import name 'Model'") from error
            except ImportError:
                raise AttributeError("'Adam' object has no attribute 'ds_opt_adam'")
        """,
    )
    one = tried("chained_of_straw")
    assert one.error == (
        "RuntimeError: operator torchvision::nms does not exist; then ImportError: cannot import name 'Model'; "
        "then AttributeError: 'Adam' object has no attribute 'ds_opt_adam'"
    )


def raise_from(first: BaseException, last: BaseException, how: str) -> None:
    try:
        raise first
    except BaseException as error:
        if how == "from":
            raise last from error
        if how == "from None":
            raise last from None
        raise last  # noqa: B904


@pytest.mark.parametrize(
    ("first", "last", "how", "told"),
    [
        (OSError("one"), RuntimeError("two"), "from", "OSError: one; then RuntimeError: two"),
        (OSError("one"), RuntimeError("two"), "while", "OSError: one; then RuntimeError: two"),
        (OSError("one"), RuntimeError("two"), "from None", "RuntimeError: two"),
        # a cache that had not compiled this before
        (KeyError("kernel"), RuntimeError("no C compiler"), "while", "RuntimeError: no C compiler"),
        (KeyError("kernel"), RuntimeError("two"), "from", "KeyError: 'kernel'; then RuntimeError: two"),
        (ValueError("all of it"), RuntimeError("of it"), "from", "ValueError: all of it"),
        (
            ValueError("it"),
            RuntimeError("failed: it"),
            "from",
            "ValueError: it; then RuntimeError: failed: it",
        ),
    ],
    ids=["stated", "implied", "hidden", "look-up", "stated look-up", "repeated", "wrapped"],
)
def test_which_exceptions_of_a_chain_are_told(
    first: BaseException, last: BaseException, how: str, told: str
) -> None:
    with pytest.raises(type(last)) as raised:
        raise_from(first, last, how)
    assert extensions.error_of(raised.value) == told


def test_a_compilers_word_in_a_later_line_or_on_stderr_is_kept(
    package: Callable[..., Path], tried: Tried
) -> None:
    """EXT-06: the header is missing behind a command that returned 1."""
    header = "main.c:1:10: fatal error: Python.h: No such file or directory"
    package("printed_of_straw", f"import os; os.write(2, b'{header}\\n'); raise RuntimeError('returned 1')")
    package(
        "whole_of_straw",
        f"raise RuntimeError('Error building extension\\n[1/2] cc\\n{header}\\nninja: stopped')",
    )
    assert tried("printed_of_straw").error == f"RuntimeError: returned 1; printed before: {header}"
    assert tried("whole_of_straw").error == f"RuntimeError: Error building extension | {header}"


def test_what_is_printed_without_an_error_is_no_error(package: Callable[..., Path], tried: Tried) -> None:
    package("warning_of_straw", "import sys; print('some error: not really', file=sys.stderr)")
    one = tried("warning_of_straw")
    assert (one.imported, one.error) == (True, None)


def test_a_secret_in_an_error_is_not_told(
    package: Callable[..., Path], tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRAW_TOKEN", "hush-hush-4711")
    package("secret_of_straw", "import os; raise RuntimeError('not found: ' + os.environ['STRAW_TOKEN'])")
    assert tried("secret_of_straw").error == "RuntimeError: not found: $STRAW_TOKEN"
    package("abort_of_straw", "import os; print('error: ' + os.environ['STRAW_TOKEN']); os.abort()")
    assert tried("abort_of_straw").error == "error: $STRAW_TOKEN"


# -- the table


def test_the_readme_names_every_extension_that_has_an_operation() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in extensions.EXTENSIONS if name not in readme] == []


def test_what_only_a_card_can_do_is_only_imported_on_a_cpu(
    package: Callable[..., Path], tried: Tried
) -> None:
    package("flash_attn", "def flash_attn_func(*inputs): raise RuntimeError('needs a card')", "2.8.3")
    one = tried("flash_attn")
    assert (one.imported, one.operation, one.ran, one.error) == (True, None, False, None)
    assert one.version == "2.8.3"


#: one process that imports torch once and tries FOLDER/MODULE@HOW; a card of straw computes on the CPU
SCRIPT = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from fixtures.probe import extensions, lines
import torch
if "@no-compiler" in sys.argv[-1]:
    import torch._inductor.compile_fx  # once for all: it takes as long as torch

to, of_old, path = torch.Tensor.to, (torch.cuda.synchronize, torch.cuda.set_device), os.environ["PATH"]
def moved(tensor, *where, **more):
    return to(tensor, *("cpu" if str(place).startswith("cuda") else place for place in where), **more)

out = lines.Lines(os.open("lines.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND))
for name in sys.argv[2:]:
    folder, module, how = name.replace("@", "/").split("/")
    sys.path.insert(0, os.path.abspath(folder))
    device = "cuda:0" if how == "card" else "cpu"
    os.environ["PATH"] = "/nowhere" if how == "no-compiler" else path
    if how == "card":
        torch.Tensor.to = moved
        torch.cuda.synchronize = torch.cuda.set_device = lambda device: None
    extensions.every(out, torch, device, [{"module": module}])
    if how == "card":
        del torch.Tensor.to
        torch.cuda.synchronize, torch.cuda.set_device = of_old
    del sys.path[0]
"""

ATTENTION = """
import torch
def attention(*inputs):
    query, key, value = (one.float().transpose(1, 2) for one in inputs)
    weights = torch.softmax(query @ key.transpose(-1, -2) / 8, -1)
    return (weights @ value).transpose(1, 2).half()
"""
NORM = """
import torch
class FusedLayerNorm(torch.nn.LayerNorm):
    def forward(self, inputs): return super().forward(inputs) / {divisor}
"""
NMS = """
import torch
def nms(boxes, scores, most): return torch.tensor([0, {second}])
"""
#: as torchvision registers its operations, which are not there in another release's library
OTHER_RELEASE = """
import torch
torch.library.register_fake("torchvision::nms")(lambda *inputs: None)
"""
STRAW = {
    "good/flash_attn": ATTENTION + "flash_attn_func = attention",
    "good/xformers/__init__": "",
    "good/xformers/ops": ATTENTION + "memory_efficient_attention = attention",
    "good/apex/__init__": "",
    "good/apex/normalization": NORM.format(divisor=1),
    "good/torchvision/__init__": "",
    "good/torchvision/ops": NMS.format(second=2),
    "bad/flash_attn": ATTENTION + "def flash_attn_func(*inputs): return attention(*inputs) * 0",
    "bad/xformers/__init__": 'import os; os.write(2, b"xFormers can\'t load C++/CUDA extensions\\n")',
    "bad/xformers/ops": "def memory_efficient_attention(*inputs): raise NotImplementedError('No operator found')",
    "bad/apex/__init__": "",
    "bad/apex/normalization": NORM.format(divisor=0),
    "bad/torchvision/__init__": "",
    "bad/torchvision/ops": NMS.format(second=1),
    "other/torchvision": OTHER_RELEASE,
}
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="this interpreter has no torch"
)


def tried_in_one(folder: Path, *names: str) -> dict[str, Extension]:
    for name, source in STRAW.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    command = [sys.executable, "-c", SCRIPT, str(ROOT), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line)["add"] for line in (folder / "lines.jsonl").read_text().splitlines()]
    found = [Extension.model_validate(line["extensions"]) for line in lines if "extensions" in line]
    return dict(zip(names, found, strict=True))


@needs_torch
def test_operations_are_held_against_plain_torch(tmp_path: Path) -> None:
    """EXT-03 and EXT-07 among them, in the words of xformers and of torch."""
    tried = ["flash_attn@card", "xformers@card", "apex@card", "torchvision@cpu"]
    names = [f"{folder}/{name}" for folder in ("good", "bad") for name in tried]
    found = tried_in_one(tmp_path, *names, "other/torchvision@cpu")
    assert {name: one.error for name, one in found.items()} == {
        **dict.fromkeys(names[:4]),
        "bad/flash_attn@card": "Wrong: is off by 1.0e+00 of the largest value, at most 8.0e-03",
        "bad/xformers@card": "NotImplementedError: No operator found; printed before: "
        "xFormers can't load C++/CUDA extensions",
        "bad/apex@card": "Wrong: gives numbers that are not finite",
        "bad/torchvision@cpu": "Wrong: keeps the boxes [0, 1], and it should keep [0, 2]",
        "other/torchvision@cpu": "RuntimeError: operator torchvision::nms does not exist",
    }
    assert [one.imported for one in found.values()] == [True] * 8 + [False]
    assert [one.ran for one in found.values()] == [True] * 4 + [False] * 5
    assert [one.operation for one in found.values()] == [
        extensions.EXTENSIONS[name.partition("@")[0]].operation for name in [*tried * 2, "torchvision"]
    ]


@needs_torch
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler here")
def test_torch_compile_with_a_compiler_and_without(tmp_path: Path) -> None:
    """EXT-05."""
    good, bad = tried_in_one(tmp_path, "good/torch.compile@cpu", "good/torch.compile@no-compiler").values()
    assert (good.imported, good.module, good.ran, good.error) == (True, "torch", True, None)
    assert (bad.imported, bad.ran) == (True, False)
    assert "compiler" in str(bad.error).lower()
