"""TOR: what torch was built for, and the libraries that it finds."""

from __future__ import annotations

import re
from collections.abc import Callable

from plugins.catalogue.architectures import held_against
from plugins.catalogue.fault import Answer
from plugins.catalogue.fault import Fault
from plugins.catalogue.fault import Signature
from plugins.catalogue.seen import Seen
from plugins.catalogue.signatures import any_of
from plugins.catalogue.signatures import cuda_error
from plugins.catalogue.signatures import extension
from plugins.catalogue.signatures import fact
from plugins.catalogue.signatures import facts
from plugins.catalogue.signatures import left
from plugins.catalogue.signatures import on_a_card
from plugins.catalogue.signatures import said
from plugins.catalogue.signatures import unless

#: the variable that puts folders before those from which torch loads what it brings along
SHADOWING = "LD_LIBRARY_PATH"
#: torch's first release that was built for NumPy 2
FOR_NUMPY_2 = (2, 3)


def _for_the_cpu(seen: Seen) -> str | None:
    """torch is built for no card, and one is there or was asked for."""
    torch = seen.launch.torch
    wanted = seen.inventory.cards or seen.launch.asked_device in ("cuda", "rocm")
    if torch is None or torch.cuda or torch.hip or not wanted:
        return None
    return f"torch {torch.version} in {torch.file} is built for the CPU only"


def _cards(seen: Seen) -> list[tuple[str, str]]:
    """Each card and its architecture, as torch or a witness has it."""
    by_torch = [(f"cuda:{one.index}: {one.name}", one.capability) for one in seen.launch.devices]
    by_witness = [(f"{one.source}, card {one.index}: {one.name}", one.architecture) for one in seen.states]
    known = [(what, architecture) for what, architecture in by_torch if architecture]
    return known or [(what, architecture) for what, architecture in by_witness if architecture]


def _not_compiled_for(older: bool) -> Callable[[Seen], list[str]]:
    """The cards that run nothing of what is in torch; `older`: all of it is for newer ones."""

    def find(seen: Seen) -> list[str]:
        compiled = seen.launch.torch.architectures if seen.launch.torch else None
        found = []
        for what, architecture in _cards(seen):
            verdict = held_against(compiled or [], architecture)
            if verdict and not verdict.runs and verdict.older is older:
                found.append(f"{what} is {architecture}, and torch has {' '.join(compiled or [])}")
        return found

    return find


def _compiled_for(seen: Seen) -> str | None:
    """Whether every card runs what is in torch: then a kernel that is missing is not torch's."""
    compiled = seen.launch.torch.architectures if seen.launch.torch else None
    verdicts = [held_against(compiled or [], architecture) for _, architecture in _cards(seen)]
    return "runs" if verdicts and all(verdict and verdict.runs for verdict in verdicts) else None


def _clean_import(seen: Seen) -> str | None:
    """torch could be imported without that variable alone: without several it may have been another one of them."""
    for retried in seen.launch.retried:
        if retried.step == "import" and retried.error is None and retried.without == [SHADOWING]:
            return f"without {SHADOWING} torch can be imported"
    return None


def _numpy_2(seen: Seen) -> str | None:
    torch, numpy = seen.launch.torch, seen.launch.distributions.get("numpy")
    if torch is None or not torch.numpy_error or not numpy:
        return None
    release = tuple(int(part) for part in re.findall(r"\d+", torch.version)[:2])
    if int(numpy.split(".")[0]) < 2 or release >= FOR_NUMPY_2:
        return None
    return f"torch {torch.version} with NumPy {numpy}: {torch.numpy_error}"


def _compiled_for_numpy_1(seen: Seen) -> list[str]:
    warnings = seen.launch.torch.warnings if seen.launch.torch else []
    return [one for one in warnings if re.search(r"compiled using NumPy 1", one, re.IGNORECASE)]


def _two_torches(seen: Seen) -> list[str]:
    """Two of them on sys.path, or one that is not what its metadata says. Local versions differ by the index."""
    torch = seen.launch.torch
    found = [
        f"torch {version} in {folder}"
        for one in seen.launch.duplicates
        if one.name == "torch" and len({_public(version) for version in one.versions}) > 1
        for version, folder in zip(one.versions, one.folders, strict=False)
    ]
    both = seen.launch.distributions.get("torch", "")
    if " and " in both:
        found.append(f"one folder holds torch {both}")
    if torch and torch.metadata_version and _public(torch.version) != _public(torch.metadata_version):
        found.append(f"torch {torch.version} runs, and its metadata says {torch.metadata_version}")
    return found


def _public(version: str) -> str:
    return version.partition("+")[0]


def _told(pattern: str) -> Signature:
    """Said anywhere, or the error of an extension."""
    return any_of(said(pattern), extension(pattern))


_TOO_OLD_A_SYSTEM = r"version [`'\"‘]?(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+['\"’]? not found"
#: the same of what stands in torch's own folder, or of the interpreter's import of it
_OF_TORCH = said(rf"{_TOO_OLD_A_SYSTEM}.{{0,20}}required by \S*(?:/torch/lib/|/torch/_C|libtorch|libc10)")
_SYMBOL = r"undefined symbol: ?_*(?:nvJitLink|cublas|cusparse|cudnn|nccl|cusolver|cufft)\w*"
#: printed before an abort, or raised
_CUDNN = (
    r"unable to load any of \{?libcudnn|cannot load symbol cudnn|could not load library libcudnn"
    r"|CUDNN_STATUS_SUBLIBRARY_(?:LOADING_FAILED|VERSION_MISMATCH)"
)

FAULTS = [
    Fault(
        id="TOR-04",
        step="import",
        signature=any_of(fact(_clean_import), said(_SYMBOL, "import")),
        cause="LD_LIBRARY_PATH leads torch to other CUDA libraries than those that it brings along",
        root=Answer("fix", "LD_LIBRARY_PATH: not set, or without the folders of another CUDA"),
        container=Answer("fix", "LD_LIBRARY_PATH: not set, or without the folders of another CUDA"),
        confirm="env -u LD_LIBRARY_PATH before the same command, and torch can be imported",
        source="https://github.com/pytorch/pytorch/issues/134929",
    ),
    Fault(
        id="TOR-07-TORCH",
        step="import",
        signature=any_of(_OF_TORCH, said(_TOO_OLD_A_SYSTEM, "import")),
        cause="torch itself was compiled on a newer system than this one: the C or C++ library that is loaded "
        "lacks what it needs",
        root=Answer(
            "fix", "the C++ library: conda's own first (conda install libstdcxx-ng), or a newer base image"
        ),
        container=Answer(
            "fix", "the base image: a newer one (Ubuntu 22.04 or later), or conda's own C++ library first"
        ),
        confirm="ldd --version, and the newest GLIBCXX of the libstdc++.so.6 that is named, are below what is wanted",
        source="https://github.com/pytorch/pytorch/issues/87279",
    ),
    Fault(
        id="TOR-01",
        step="import",
        signature=on_a_card(
            any_of(fact(_for_the_cpu), said(r"torch not compiled with (?:cuda|rocm|hip) enabled"))
        ),
        cause="torch is a build for the CPU: something that was installed later, or the default index, brought it",
        root=Answer(
            "fix", "torch: reinstalled from the index of the card's build, and held by a constraints file"
        ),
        container=Answer(
            "fix", "torch: reinstalled from the index of the card's build, and held by a constraints file"
        ),
        confirm="torch.version.cuda and torch.version.hip are both None",
        source="https://github.com/pytorch/torchchat/issues/587",
    ),
    Fault(
        id="TOR-09",
        step="import",
        signature=facts(_two_torches),
        cause="two installations of torch are mixed: the one that runs is not the one that pip reports",
        root=Answer("fix", "the environment: a new one, with one torch"),
        container=Answer("fix", "the environment: a new one, with one torch"),
        confirm="torch.__version__ and importlib.metadata.version('torch') differ, or torch.__file__ is elsewhere",
        source="https://github.com/pytorch/vision/issues/9174",
    ),
    Fault(
        id="TOR-08",
        step="import",
        signature=any_of(
            fact(_numpy_2),
            facts(_compiled_for_numpy_1),
            said(r"compiled using NumPy 1\.x cannot be run in NumPy 2"),
        ),
        cause="NumPy 2 stands beside a torch that was compiled for NumPy 1: no tensor can become an array",
        root=Answer("fix", "NumPy: numpy<2, or torch 2.3 and newer"),
        container=Answer("fix", "NumPy: numpy<2, or torch 2.3 and newer"),
        confirm="torch.ones(1).numpy() raises",
        source="https://github.com/pytorch/pytorch/issues/107302",
    ),
    Fault(
        id="TOR-03",
        step="compute",
        signature=on_a_card(facts(_not_compiled_for(older=True))),
        cause="this torch is too new for the card: it holds code for newer architectures only",
        root=Answer("fix", "torch: an older build that still holds code for this card"),
        container=Answer("fix", "torch: an older build that still holds code for this card"),
        confirm="the lowest of torch.cuda.get_arch_list() is above torch.cuda.get_device_capability()",
        source="https://github.com/TheLastBen/fast-stable-diffusion/issues/2628",
    ),
    Fault(
        id="TOR-02",
        step="compute",
        signature=on_a_card(
            unless(
                any_of(
                    facts(_not_compiled_for(older=False)),
                    said(r"no kernel image is available", "device", "compute", "application"),
                    said(r"capability sm_\d+ is not compatible with the current PyTorch"),
                    said(
                        r"hipErrorNoBinaryForGpu|hip error: invalid device function|hipErrorInvalidDeviceFunction",
                        *("device", "compute", "application"),
                    ),
                    cuda_error(98, 209),
                ),
                facts(_not_compiled_for(older=True)),
                fact(_compiled_for),
                fact(lambda seen: seen.variables.get("HSA_OVERRIDE_GFX_VERSION")),  # ROC-04
            )
        ),
        cause="this torch was not compiled for the card's architecture: it sees the card, and nothing runs on it",
        root=Answer(
            "fix", "torch: a build that holds code for this card (for the newest cards cu128 and later)"
        ),
        container=Answer(
            "fix", "torch: a build that holds code for this card (for the newest cards cu128 and later)"
        ),
        confirm="torch.cuda.get_device_capability() is not in torch.cuda.get_arch_list()",
        source="https://github.com/pytorch/pytorch/issues/167244",
    ),
    Fault(
        id="TOR-05",
        step="compute",
        signature=any_of(_told(_CUDNN), left(_CUDNN)),
        cause="the parts of cuDNN, which are loaded one by one, are of two versions or not found",
        root=Answer(
            "fix", "cuDNN: one package of it, the one that torch names, and no other folder before it"
        ),
        container=Answer(
            "fix", "cuDNN: one package of it, the one that torch names, and no other folder before it"
        ),
        confirm="pip list shows another nvidia-cudnn than torch requires, or LD_LIBRARY_PATH leads to a second one",
        source="https://github.com/OpenNMT/CTranslate2/issues/1826",
    ),
    Fault(
        id="TOR-06",
        step="compute",
        signature=_told(r"(?:CU|HIP|ROC)BLAS_STATUS_(?:NOT_INITIALIZED|ALLOC_FAILED)"),
        cause="cuBLAS got no memory for itself: the card is full, or an index out of range has spoilt the process",
        root=Answer(
            "fix", "what fills the card: the batch size, another process; then the vocabulary's indexes"
        ),
        container=Answer(
            "fix", "what fills the card: the batch size, another process; then the vocabulary's indexes"
        ),
        confirm="torch.cuda.mem_get_info() just before; the same batch on the CPU raises index out of range",
        source="https://github.com/EleutherAI/lm-evaluation-harness/issues/1689",
    ),
    Fault(
        id="TOR-07",
        step="extensions",
        signature=unless(_told(_TOO_OLD_A_SYSTEM), _OF_TORCH, said(_TOO_OLD_A_SYSTEM, "import")),
        cause="a library was compiled on a newer system than this one: the C or C++ library here lacks what it needs",
        root=Answer("fix", "the system: a newer base image, or the library built here from its sources"),
        container=Answer(
            "fix", "the base image: a newer one (Ubuntu 22.04 or later), or the library built here"
        ),
        confirm="ldd --version, and the newest GLIBCXX of libstdc++.so.6, are below what the message names",
        source="https://github.com/Dao-AILab/flash-attention/issues/1708",
    ),
    Fault(
        id="TOR-10",
        step="extensions",
        signature=any_of(_told(r"device-side assert triggered"), cuda_error(710)),
        cause="an index or label was out of range on the card; every later call then fails, and the card is innocent",
        root=Answer("fix", "the data: labels and indexes within the range of the model"),
        container=Answer("fix", "the data: labels and indexes within the range of the model"),
        confirm="the same batch on the CPU raises IndexError; with CUDA_LAUNCH_BLOCKING=1 the trace is the right one",
        source="https://github.com/pytorch/pytorch/issues/1204",
    ),
]
