"""EXT: errors of extensions in the words of several releases, beside those that are no fault of that kind."""

from __future__ import annotations

import pytest

from tests.catalogue.patched import failing
from tests.catalogue.patched import host
from tests.catalogue.patched import lines
from tests.catalogue.patched import machine
from tests.catalogue.patched import named
from tests.catalogue.patched import saying

GIB = 1 << 30

# fmt: off
ERRORS = [
    ("EXT-01", "flash_attn", "ImportError: /v/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"),
    ("EXT-01", "flash_attn", "ImportError: /v/x.so: Undefined  Symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs"),
    ("EXT-01", "apex", "ImportError: /v/fused.so: undefined symbol: _ZNK2at10TensorBase8data_ptrIfEEPT_v"),
    ("EXT-03", "xformers", "No operator found for `memory_efficient_attention_forward` with inputs:"),
    ("EXT-03", "xformers", "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:"),
    ("EXT-04", "bitsandbytes", "Configured CUDA binary not found at /v/libbitsandbytes_cuda124.so"),
    ("EXT-04", "bitsandbytes", "OSError: /v/libbitsandbytes_cuda117.so: cannot open shared object file: No such file"),
    ("EXT-04", "bitsandbytes", "The installed version of bitsandbytes was compiled without GPU support."),
    ("EXT-05", "triton", "RuntimeError: Failed to find C compiler. Please specify via CC environment variable."),
    ("EXT-05", "torch.compile", "InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx"),
    ("EXT-06", "triton", "/tmp/t/main.c:5:10: fatal error: Python.h: No such file or directory"),
    ("EXT-07", "torchvision", "RuntimeError: operator torchvision::nms does not exist"),
    ("EXT-07", "torchvision", "ImportError: /v/torchvision/_C.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"),
    ("EXT-08", "deepspeed", "CUDAMismatchException: >- Installed CUDA version 11.8 does not match the "
     "version torch was compiled with 12.4, unable to compile cuda/cpp extensions."),
    ("EXT-08", "apex", "The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch"),
    ("EXT-08", "deepspeed", "AttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'"),
]
# fmt: on


@pytest.mark.parametrize(("id", "extension", "error"), ERRORS, ids=lambda value: str(value)[:40])
def test_an_error_is_known_as_the_extensions_own_and_as_a_text_alone(
    id: str, extension: str, error: str
) -> None:
    assert named(machine(launch=failing(extension, error))) == [id]
    assert named(machine(launch=saying(error.upper().replace("ZN3C10", "ZN3c10")))) == [id]


def test_what_an_extension_said_as_well_is_quoted_once() -> None:
    error = "RuntimeError: operator torchvision::nms does not exist"
    both = failing("torchvision", error) | saying(error, "extensions")
    assert lines("EXT-07", machine(launch=both)) == [f"torchvision: {error}"]


@pytest.mark.parametrize(
    "error",
    [
        "ImportError: /v/torch/lib/libtorch_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",  # torch's own
        "ImportError: /v/torch/lib/libshm.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
        "ImportError: /v/own.so: undefined symbol: my_function",
        "ModuleNotFoundError: No module named 'own_module'",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        "Wrong: is off by 2.0e-01 of the largest value, at most 8.0e-03",
    ],
)
def test_another_error_is_no_fault_of_an_extension(error: str) -> None:
    assert not [id for id in named(machine(launch=failing("own_module", error))) if id.startswith("EXT")]


def test_a_compiler_that_fails_without_a_word_is_held_against_the_header() -> None:
    failed = failing(
        "triton", "CalledProcessError: Command '['/usr/bin/gcc', 'main.c']' returned non-zero exit status 1."
    )
    assert named(machine(launch=failed | host(python_h=False))) == ["EXT-06"]
    assert named(machine(launch=failed | host(python_h=True))) == []
    assert named(machine(launch=failed | host(python_h=None))) == []


def test_a_slim_image_without_compiler_or_header_is_well_where_nothing_compiles() -> None:
    assert named(machine(launch=host(compiler=None, python_h=False))) == []


MISSING = failing("flash_attn", "ModuleNotFoundError: No module named 'flash_attn'")


@pytest.mark.parametrize(
    ("facts", "kills"),
    [
        ({"cpus_system": 40, "memory_limit": 199 * GIB}, True),
        ({"cpus_system": 40, "memory_limit": 200 * GIB, "memory_available": 200 * GIB}, False),
        ({"cpus_system": 40, "memory_limit": None, "memory_available": 120 * GIB}, True),
        # ninja counts the machine's processors, whatever the container allows
        ({"cpus_system": 40, "cpus_limit": 4.0, "memory_limit": 64 * GIB}, True),
        ({"cpus_system": None, "cpus_limit": None}, False),
        ({"memory_limit": None, "memory_available": None, "memory_system": None}, False),
    ],
)
def test_a_build_is_counted_with_a_job_for_each_processor(facts: dict[str, object], kills: bool) -> None:
    assert bool(lines("EXT-02", machine(launch=MISSING | host(**facts)))) is kills


def test_a_missing_extension_that_comes_as_a_wheel_is_no_build() -> None:
    missing = failing("xformers", "ModuleNotFoundError: No module named 'xformers'")
    assert named(machine(launch=missing | host(cpus_system=400))) == []


@pytest.mark.parametrize(
    "text",
    [
        "c++: fatal error: Killed signal terminated program cc1plus",
        "nvcc error : 'cicc' died due to signal 9 (Kill signal)",
    ],
)
def test_a_compiler_that_was_killed_is_a_build_with_too_many_jobs(text: str) -> None:
    assert named(machine(launch=saying(text))) == ["EXT-02"]


def test_what_the_kernel_killed_must_be_the_compiler() -> None:
    def killed(name: str) -> dict[str, object]:
        text = f"Out of memory: Killed process 411 ({name}) total-vm:5242880kB"
        return {
            "kernel_log": {
                "error": None,
                "events": [{"kind": "oom_kill", "number": None, "pci": None, "text": text}],
            }
        }

    assert named(machine(inventory=killed("cc1plus"))) == ["EXT-02"]
    assert named(machine(inventory=killed("python3"))) == []


def test_on_an_amd_card_it_is_not_the_cuda_library_that_is_missing() -> None:
    error = "The installed version of bitsandbytes was compiled without GPU support."
    assert lines("EXT-04", machine("mi300x", launch=failing("bitsandbytes", error))) == []
