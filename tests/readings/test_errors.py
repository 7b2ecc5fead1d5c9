"""Errors in logs and tracebacks: which come first, at which step, with which number, and what is none."""

from __future__ import annotations

import pytest

from fixtures.readings import error_steps
from fixtures.readings import errors
from fixtures.readings import recognise

#: text, step, number, whose number
ERRORS: list[tuple[str, str, int | None, str | None]] = [
    ("RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver",
     "device", 803, "cuda"),
    ("RuntimeError: cuda runtime error (999) : unknown error at ../THCGeneral.cpp:50", "device", 999, "cuda"),
    ("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable", "device", 46, "cuda"),
    ("RuntimeError: CUDA error: out of memory", "compute", 2, "cuda"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "compute", None, None),
    ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "compute", 209, "cuda"),
    ("torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered", "compute", 214, "cuda"),
    ("CUDA error (a.cu:3): cudaErrorIllegalAddress", "compute", 700, "cuda"),
    ("RuntimeError: HIP error: no kernel image is available for execution on the device", "compute", None, None),
    ("RuntimeError: No CUDA GPUs are available", "device", None, None),
    ("RuntimeError: Found no NVIDIA driver on your system.", "device", None, None),
    ("AssertionError: Torch not compiled with CUDA enabled", "device", None, None),
    ("ModuleNotFoundError: No module named 'torch'", "import", None, None),
    ("ModuleNotFoundError: No module named 'transformers'", "environment", None, None),
    ("ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory", "import", 2, "errno"),
    ("ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by torch/lib/libtorch.so)",
     "import", None, None),
    ("ImportError: /x/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", "extensions", None, None),
    ("OSError: [Errno 28] No space left on device: '/tmp/x'", "host", 28, "errno"),
    ("OSError: [Errno 24] Too many open files", "host", 24, "errno"),
    ("UnicodeEncodeError: 'ascii' codec can't encode character", "host", None, None),
    ("RuntimeError: unable to mmap 1024 bytes from file </torch_12_34>: Cannot allocate memory (12)",
     "host", 12, "errno"),
    ("bash: line 1:  4711 Killed                  python train.py", "host", 9, "signal"),
    ("Segmentation fault (core dumped)", "application", 11, "signal"),
    ("docker: container exited with code 137", "host", 137, "exit"),
    ("subprocess.CalledProcessError: Command 'x' died with <Signals.SIGKILL: 9>.", "application", 9, "signal"),
    ("docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].",
     "driver", None, None),
    ("bash: nvcc: command not found", "extensions", None, None),
    ("/tmp/a.c:3:10: fatal error: Python.h: No such file or directory", "extensions", 2, "errno"),
    ("ERROR: No matching distribution found for torch==2.1", "environment", None, None),
    ("Memory access fault by GPU node-2 (Agent handle: 0x5640a8bb1980) on address 0x7feea09c5000.",
     "compute", None, None),
    ("RuntimeError: NCCL error in: ../ProcessGroupNCCL.cpp:1, unhandled system error", "compute", None, None),
    ("ValueError: the moon is full", "application", None, None),
    ("torch.OutOfMemoryError", "compute", None, None),
    ("requirement error: unsatisfied condition: cuda >= 9.2", "driver", None, None),
    ("host:6303:6304 [2] transport/nvls.cc:254 NCCL WARN Cuda failure 1 'invalid argument'", "compute", None, None),
    ("Check failed: e == cudaSuccess (803 vs. 0) : system has unsupported display driver / cuda driver combination",
     "device", 803, "cuda"),
    ("cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version",
     "device", 35, "cuda"),
    ("nv-fabricmanager[1]: fabric manager driver interface version 530.30.02 don't match with driver version",
     "driver", None, None),
]  # fmt: skip

HARMLESS = [
    "INFO 03-02 19:48:25 [launcher.py:22] Route: /health, Methods: GET",
    "    except RuntimeError: pass",
    "GPU[0]\t\t: Unable to get voltage curve",
    "ERROR: GPU[0] \t\t: Unable to get GPU memory use.",
    "[info] 0 errors, 2 warnings",
    "cudaErrorSuccess",
    "    Retired Pages   : None, ECC Errors: 0",
    "error_rate = 0.01",
    "    except ValueError:",
    "RuntimeError:",
    "Epoch 3: error 0.0312",
    # a healthy log of the kernel is full of them, and has a reader of its own
    "[    0.512345] ACPI Error: Aborting method \\_SB.PC00 due to previous error (AE_NOT_FOUND)",
    "[  812.331213] pcieport 0000:00:01.0: PCIe Bus Error: severity=Corrected, type=Physical Layer",
    "Dec  1 10:30:00 node kernel: Error: Driver 'pcspkr' is already registered, aborting...",
]


@pytest.mark.parametrize(("text", "step", "number", "of"), ERRORS)
def test_an_error_has_its_step_and_its_number(
    text: str, step: str, number: int | None, of: str | None
) -> None:
    (found,) = errors.read(f"epoch 1\n{text}\n").said
    assert (found.text, found.step, found.number, found.number_of) == (text, step, number, of)


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_that_only_speaks_of_errors_is_none(line: str) -> None:
    assert errors.read(f"before\n{line}\nafter\n").said == []
    assert [one for one in recognise.read(f"before\n{line}\n") if one.kind == errors.KIND] == []


def test_of_chained_exceptions_the_innermost_comes_first() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    import x\n'
        "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    go()\n    ~~^^\n'
        "RuntimeError: the model could not be loaded\n"
    )
    assert [(one.step, one.text.split(":")[0], one.source) for one in errors.read(text).said] == [
        ("import", "ImportError", "a traceback"),
        ("application", "RuntimeError", "a traceback"),
    ]


def test_a_traceback_is_read_behind_what_a_logger_puts_before_each_line() -> None:
    prefix = "(EngineCore_DP0 pid=12) ERROR 03-02 19:49:00 [core.py:783] "
    lines = [
        "Traceback (most recent call last):",
        '  File "/x/torch/cuda/__init__.py", line 412, in _lazy_init',
        "    torch._C._cuda_init()",
        "RuntimeError: an odd thing",
    ]
    (found,) = errors.read("".join(f"{prefix}{line}\n" for line in lines)).said
    assert (found.text, found.step) == ("RuntimeError: an odd thing", "device")
    (found,) = errors.read("".join(f"[rank3]: {line}\n" for line in lines)).said
    assert (found.text, found.step) == ("RuntimeError: an odd thing", "device")


def test_a_traceback_that_breaks_off_has_no_error() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    import torch\n'
    assert errors.read(text).said == []


def test_what_torch_adds_to_every_error_is_left_out_and_the_next_thing_said_is_not_taken_for_a_part() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    x.cuda()\n'
        "RuntimeError: CUDA error: unknown error\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so ...\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
        "root@machine:~# nvidia-smi\n"
    )
    (found,) = errors.read(text).said
    assert (found.text, found.number) == ("RuntimeError: CUDA error: unknown error", 999)


def test_the_second_line_of_an_exception_belongs_to_it() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    go()\n'
        "RuntimeError: Failed to import transformers.models.x because of the following error:\n"
        "/x/flash_attn_2_cuda.so: not to be loaded\n"
    )
    (found,) = errors.read(text).said
    assert found.text.endswith("/x/flash_attn_2_cuda.so: not to be loaded")


def test_a_warning_is_kept_as_one_unless_no_card_can_be_used_after_it() -> None:
    text = (
        "/x/a.py:3: FutureWarning: torch.load with weights_only=False\n"
        "/x/torch/cuda/__init__.py:83: UserWarning: CUDA initialization: CUDA unknown error - this may be due to an "
        "incorrectly set up environment\n"
        "/x/b.py:1: UserWarning: NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the "
        "current PyTorch installation.\n"
    )
    found = errors.read(text).said
    assert [(one.source, one.step) for one in found] == [
        (errors.WARNING, "application"),
        ("torch", "device"),
        ("torch", "device"),
    ]
    assert found[1].number == 999


def test_the_same_error_of_several_processes_is_told_once() -> None:
    text = "".join(f"[rank{rank}]: RuntimeError: CUDA error: unknown error\n" for rank in range(8))
    assert len(errors.read(text).said) == 1


@pytest.mark.parametrize(
    ("text", "available"),
    [
        (">>> torch.cuda.is_available()\nFalse\n", False),
        (">>> print(torch.cuda.is_available())\nTrue\n", True),
        ("CUDA available: False\n", False),
        ("torch.cuda.is_available() -> True\n", True),
        ("if torch.cuda.is_available():\n    x = 1\n", None),
    ],
)
def test_an_answer_of_torch_in_a_prompt_is_read(text: str, available: bool | None) -> None:
    assert errors.read(text).available is available


def test_every_rung_that_an_error_can_have_is_one_of_the_ladder() -> None:
    from fixtures.evidence.models import STEPS

    assert {step for step, _ in error_steps.TABLE} <= set(STEPS)


def test_the_text_of_an_exception_may_begin_below_its_name() -> None:
    text = (
        "RuntimeError:\n        CUDA Setup failed despite GPU being available. Please run it again\n\nafter\n"
    )
    (found,) = errors.read(text).said
    assert found.text == "RuntimeError: CUDA Setup failed despite GPU being available. Please run it again"
    assert found.step == "extensions"
