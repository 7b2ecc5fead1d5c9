"""Out of memory in any dress, and what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.evidence import exhaustion
from fixtures.evidence.models import Application
from fixtures.evidence.models import CardMemory
from fixtures.evidence.models import Crash
from fixtures.evidence.models import Told
from tests.report import samples

#: as they are printed
CARD = [
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB",
    "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB",
    "RuntimeError: CUDA error: out of memory",
    "RuntimeError: HIP error: out of memory",
    "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "MemoryError: CUDA out of memory with a batch of 2",
    "hipErrorOutOfMemory: out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
    "RuntimeError: miopenStatusAllocFailed",
    "rocBLAS error: rocblas_status_memory_error",
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12884901888",
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[8,4096]",
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
    "ValueError: Free memory on device (7.34/139.72 GiB) on startup is less than desired GPU memory utilization",
    "ValueError: 16.0 GiB KV cache is needed, which is larger than the available KV cache memory (3.51 GiB).",
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8.00 MiB on device 0: cudaMalloc failed: out of memory",
    "llama_model_load: error loading model: unable to allocate: failed to allocate CUDA0 buffer",
    "2024 [E:onnxruntime] bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 1073741824",
]
HOST = [
    "MemoryError",
    "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1000000000,)",
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "OSError: [Errno 12] Cannot allocate memory",
    "bash: fork: Cannot allocate memory",
    "RuntimeError: [enforce fail at alloc_cpu.cpp:118]. DefaultCPUAllocator: can't allocate memory: you tried to "
    "allocate 40000000000 bytes. Error code 12 (Cannot allocate memory)",
    "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed.",
    "java.lang.OutOfMemoryError: Java heap space",
    "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
    "memory allocation of 12884901888 bytes failed",
]
SHARED = [
    "RuntimeError: DataLoader worker (pid 81) is killed by signal: Bus error. It is possible that dataloader's workers "
    "are out of shared memory. Please try to raise your shared memory limit.",
    "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
    "OSError: [Errno 28] No space left on device: '/dev/shm/nccl-x'",
    "RuntimeError: unable to open shared memory object </torch_81_9> in read-write mode: No space left on device (28)",
]
NOTHING = [
    "",
    "Subject: my laptop says it is out of memory when I open the invoice",
    "the patient states that she runs out of memory when asked for names",
    "error: out of resource: shared memory, Required: 147456, Hardware limit: 101376",
    "RuntimeError: unable to open shared memory object </torch_81_9> in read-write mode: Too many open files (24)",
    "ibv_reg_mr failed: Cannot allocate memory",
    "RESOURCE_EXHAUSTED: quota exceeded for this minute",
    "class MyMemoryErrors(Base): ...",
    "CUDA error: no kernel image is available for execution on the device",
    "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED",
    "killed by signal: Terminated",
    "Killed",
]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        *((text, "card") for text in CARD),
        *((text, "host") for text in HOST),
        *((text, "shared") for text in SHARED),
    ],
)
def test_what_is_printed_where_memory_is_short_is_recognised(text: str, where: str) -> None:
    seen = exhaustion.in_text(
        f"Traceback (most recent call last):\n  File 'x'\n{text}\nand a line behind it\n"
    )
    assert seen is not None
    assert (seen.where, seen.words in text) == (where, True)
    assert len(seen.words) <= 200


@pytest.mark.parametrize("text", NOTHING)
def test_what_only_sounds_like_it_is_not(text: str) -> None:
    assert exhaustion.in_text(text) is None


def ended(ended: str = "exit", returncode: int | None = 1, **other: Any) -> Application:
    """A run without any sign of memory, unless `other` brings one."""
    made = samples.application(ended=ended, returncode=returncode)
    kills = other.pop("oom_kills", None)
    memory = made.memory.model_copy(update={"oom_kills": kills})
    texts = {key: samples.output(other.pop(key, "")) for key in ("stdout", "stderr")}
    told = Told(crashes=[Crash(document="doc-03", how=how) for how in other.pop("crashes", [])])
    return made.model_copy(update={"memory": memory, "told": told, **texts, **other})


FAULTS: dict[str, tuple[Application, list[str], str]] = {
    "torch's error on stderr": (ended(stderr=CARD[0]), [], "card"),
    "torch's error at the end of stdout": (ended(stdout="x\n" * 9000 + CARD[0]), [], "card"),
    "cuBLAS that does not begin": (ended(stderr=CARD[8]), [], "card"),
    "a crash that was told, in a run that went on": (
        ended(returncode=0, crashes=["HTTP 500: " + CARD[0]]),
        [],
        "card",
    ),
    "a server that said it on stderr alone": (
        ended(returncode=0, crashes=["HTTP 500: Internal Server Error"], stderr=CARD[0]),
        [],
        "card",
    ),
    "a valid document rejected for it": (ended(returncode=0), ["invalid sequence", CARD[0]], "card"),
    "killed by the kernel": (
        ended("signal", None, signal="SIGKILL", oom_kills=1, stderr="loading\n"),
        [],
        "host",
    ),
    "exit 137 behind a shell": (ended(returncode=137, oom_kills=2, stderr="Killed\n"), [], "host"),
    "an earlier error of the card, and then the kernel": (
        ended("signal", None, signal="SIGKILL", oom_kills=1, stderr=CARD[0]),
        [],
        "host",
    ),
    "a killed worker and a pool that waits for ever": (ended("no_progress", None, oom_kills=1), [], "host"),
    "the same until the deadline": (ended("deadline", None, oom_kills=1), [], "host"),
    "a worker of the callable that the kernel killed": (
        ended(returncode=0, crashes=["was killed by SIGKILL"], oom_kills=1),
        [],
        "host",
    ),
    "a worker of torch's loader": (ended(stderr=HOST[6]), [], "host"),
    "a full /dev/shm": (ended("signal", None, signal="SIGBUS", stderr=SHARED[1]), [], "shared"),
}
TWINS: dict[str, tuple[Application, list[str]]] = {
    "torch's error that the application got over": (ended(returncode=0, stderr=CARD[0]), []),
    "a document about memory on stdout": (ended(returncode=0, stdout=f"doc-02: {CARD[0]}\n"), []),
    "the same, where it then ends for another reason": (
        ended(stdout=f"doc-02: {CARD[0]}\n" + "and on it goes\n" * 900, stderr="ValueError: no such label"),
        [],
    ),
    "cuBLAS that fails in another way": (ended(stderr=NOTHING[8]), []),
    "a crash for another reason": (ended(returncode=0, crashes=["killed by SIGSEGV"], stderr="oops"), []),
    "a document rejected for another reason": (ended(returncode=0, stderr=CARD[0]), ["not valid UTF-8"]),
    "killed, and the kernel killed nobody": (
        ended("signal", None, signal="SIGKILL", oom_kills=0, stderr="loading\n"),
        [],
    ),
    "killed, and nobody counts": (ended("signal", None, signal="SIGKILL"), []),
    "a pool that waits for ever for another reason": (ended("no_progress", None, oom_kills=0), []),
    "a kill in a run that ended well": (ended(returncode=0, oom_kills=1), []),
    "a bus error without a word": (ended("signal", None, signal="SIGBUS"), []),
    "stopped by the suite": (ended("stopped", None, signal="SIGKILL", stderr=CARD[0]), []),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_run_that_memory_ended_is_recognised(name: str) -> None:
    application, refused, where = FAULTS[name]
    seen = exhaustion.of(application, refused)
    assert seen is not None
    assert seen.where == where
    assert seen.words


@pytest.mark.parametrize("name", TWINS)
def test_a_run_with_memory_enough_is_not(name: str) -> None:
    application, refused = TWINS[name]
    assert exhaustion.of(application, refused) is None


@pytest.mark.parametrize(
    ("where", "batch_size", "decision", "change"),
    [
        ("card", 1, "reconfigure", "a card with more memory"),
        ("card", 2, "fix", "application.batch_size"),
        ("host", 1, "reconfigure", "a machine with more memory"),
        ("host", 16, "fix", "application.batch_size"),
        ("shared", 1, "fix", "the shared memory of the container (--shm-size), or fewer workers"),
        ("shared", 4, "fix", "the shared memory of the container (--shm-size), or fewer workers"),
    ],
)
def test_what_to_change_follows_from_whose_memory_and_how_many_at_a_time(
    where: exhaustion.Where, batch_size: int, decision: str, change: str
) -> None:
    seen = exhaustion.Exhausted(where, "words")
    assert (seen.decision(batch_size), seen.change(batch_size)) == (decision, change)


GIB = 1 << 30
#: GiB in use before the start on each card of 100, and which of them its processes were seen on -> what to change
BEFORE: dict[str, tuple[list[float], list[int], str]] = {
    "an empty card": ([0], [0], "a card with more memory"),
    "a desktop on it": ([24.9], [0], "a card with more memory"),
    "a quarter of it in use": ([25], [0], exhaustion.OCCUPIED),
    "somebody else's job, and nobody to be seen": ([80], [], exhaustion.OCCUPIED),
    "somebody else's job on the other card": ([0, 80], [0], "a card with more memory"),
    "somebody else's job on the second of its cards": ([0, 80], [0, 1], exhaustion.OCCUPIED),
    "no card that could be read": ([], [], "a card with more memory"),
}


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("case", BEFORE)
def test_a_card_that_was_full_before_the_start_is_to_be_emptied_whatever_the_batch(
    case: str, batch_size: int
) -> None:
    before, seen_on, change = BEFORE[case]
    cards = [
        CardMemory(
            index=n, name="NVIDIA H200", total_bytes=100 * GIB, before_bytes=int(gib * GIB),
            peak_bytes=99 * GIB, processes_seen=n in seen_on,
        )
        for n, gib in enumerate(before)
    ]  # fmt: skip
    application = ended(stderr=CARD[0], batch_size=batch_size)
    memory = application.memory.model_copy(update={"cards": cards})
    seen = exhaustion.of(application.model_copy(update={"memory": memory}))
    assert seen is not None
    occupied = change == exhaustion.OCCUPIED
    otherwise = ("fix", "application.batch_size") if batch_size > 1 else ("reconfigure", change)
    wanted = ("fix", change) if occupied else otherwise
    assert (seen.decision(batch_size), seen.change(batch_size)) == wanted


def test_a_full_card_has_nothing_to_do_with_the_memory_of_the_host() -> None:
    application = ended(stderr=HOST[0])
    full = application.memory.cards[0].model_copy(update={"before_bytes": 120 * GIB})
    memory = application.memory.model_copy(update={"cards": [full]})
    seen = exhaustion.of(application.model_copy(update={"memory": memory}))
    assert (seen and seen.change(1)) == "a machine with more memory"
