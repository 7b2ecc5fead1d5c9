"""EXT: what is compiled for torch beside it, and what compiles at run time. An import of torch proves none of it."""

from __future__ import annotations

from plugins.catalogue.fault import Answer
from plugins.catalogue.fault import Fault
from plugins.catalogue.fault import Signature
from plugins.catalogue.seen import Seen
from plugins.catalogue.signatures import all_of
from plugins.catalogue.signatures import any_of
from plugins.catalogue.signatures import extension
from plugins.catalogue.signatures import fact
from plugins.catalogue.signatures import kernel
from plugins.catalogue.signatures import said
from plugins.catalogue.signatures import unless

#: what one job of a build needs at its largest, as those who build flash-attn report it
BYTES_A_JOB = 5 << 30
#: those that pip compiles where there is no wheel for exactly this torch
FROM_SOURCE = ("flash_attn", "apex", "transformer_engine")


def told(pattern: str, *modules: str) -> Signature:
    """The error of an extension, or such a text wherever it was said; what an extension said as well, once."""
    own, anywhere = extension(pattern, *modules), said(pattern)

    def lines(seen: Seen) -> list[str]:
        failed = own(seen)
        return [*failed, *(text for text in anywhere(seen) if not any(text in line for line in failed))]

    return lines


def too_many_jobs(seen: Seen) -> str | None:
    """Whether a build with one job for each processor would need more memory than there is.

    Ninja counts the processors of the machine, whatever a container allows.
    """
    host = seen.host
    processors = host.cpus_system or host.cpus_limit
    known = [size for size in (host.memory_limit, host.memory_available, host.memory_system) if size]
    if not processors or not known or processors * BYTES_A_JOB <= min(known):
        return None
    gib = 1 << 30
    return (
        f"{processors:g} jobs of {BYTES_A_JOB / gib:g} GiB are {processors * BYTES_A_JOB / gib:.0f} GiB, "
        f"and there are {min(known) / gib:.0f} GiB"
    )


def _is_amd(seen: Seen) -> str | None:
    return seen.launch.torch.hip if seen.launch.torch else None


def _no_header(seen: Seen) -> str | None:
    return "Python.h is not there" if seen.host.python_h is False else None


FAULTS = [
    Fault(
        id="EXT-01",
        step="extensions",
        # names of torch's own C++; a library of torch itself that lacks one is no extension
        signature=told(
            r"^(?!.*(?:torchvision|torch/lib/|torch/_C\.|libtorch|libc10))"
            r".*undefined symbol:? ?\w*(?:c10|2at\d|3at\d|5torch|aoti_torch|THP)"
        ),
        cause="the extension was compiled for another release of torch: its own C++ symbols are not in this one",
        root=Answer("fix", "the extension: the wheel for exactly this torch, CUDA and Python, or a rebuild"),
        container=Answer(
            "fix", "the extension: the wheel for exactly this torch, CUDA and Python, or a rebuild"
        ),
        confirm="the wheel's name says another torch than torch.__version__ (cuXXtorchY.Z), and what pip changed last",
        source="https://github.com/Dao-AILab/flash-attention/issues/931",
    ),
    Fault(
        id="EXT-02",
        step="extensions",
        signature=unless(
            any_of(
                all_of(extension(r"no module named", *FROM_SOURCE), fact(too_many_jobs)),
                said(
                    r"killed signal terminated program|died due to signal 9"
                    r"|ninja: build stopped.*\bkilled\b|\bkilled\b.*ninja: build stopped"
                ),
                kernel(
                    lambda event: (
                        event.kind == "oom_kill"
                        and any(
                            f"({name})" in event.text for name in ("cc1plus", "cicc", "ptxas", "cudafe++")
                        )
                    )
                ),
            ),
            fact(_is_amd),
        ),
        cause="the extension is compiled here with a job for each processor, which needs more memory than there is",
        root=Answer("fix", "MAX_JOBS=4 for the build, or a wheel that is built already"),
        container=Answer("fix", "MAX_JOBS=4 for the build, or a wheel that is built already"),
        confirm="the kernel's log names the compiler (cc1plus, cicc) as what it killed; with MAX_JOBS=1 it ends well",
        source="https://github.com/Dao-AILab/flash-attention/issues/347",
    ),
    Fault(
        id="EXT-03",
        step="extensions",
        signature=told(
            r"xformers can'?t load c\+\+/cuda extensions|xformers wasn'?t build with cuda support"
            r"|no operator found for [`'\"]?memory_efficient_attention"
        ),
        cause="xformers was built for another torch, CUDA or Python: it imports, and has none of its operators",
        root=Answer("fix", "xformers: the release that belongs to this torch"),
        container=Answer("fix", "xformers: the release that belongs to this torch"),
        confirm="python -m xformers.info shows the operators as unavailable, and which torch it was built for",
        source="https://github.com/facebookresearch/xformers/issues/982",
    ),
    Fault(
        id="EXT-04",
        step="extensions",
        # on AMD's cards there may be no such library at all: ROC-07
        signature=unless(
            told(
                r"libbitsandbytes_cuda\w*\.so.{0,80}(?:not found|cannot open|no such file|does not exist)"
                r"|configured (?:cuda|\w+) binary not found.{0,120}libbitsandbytes"
                r"|libbitsandbytes_cpu\.so|bitsandbytes was compiled without gpu support"
                r"|compiled without gpu support.{0,80}8-bit|cuda setup failed despite (?:gpu|cuda) being available"
            ),
            fact(_is_amd),
        ),
        cause="bitsandbytes has no library for the CUDA of this torch, or BNB_CUDA_VERSION names another one",
        root=Answer("fix", "bitsandbytes: a release for this CUDA, and BNB_CUDA_VERSION not set"),
        container=Answer("fix", "bitsandbytes: a release for this CUDA, and BNB_CUDA_VERSION not set"),
        confirm="python -m bitsandbytes names the library that it looks for; the package's folder has others",
        source="https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1559",
    ),
    Fault(
        id="EXT-05",
        step="extensions",
        signature=told(
            r"failed to find (?:a )?c compiler|no working c(?:\+\+)? compiler found|InvalidCxxCompiler"
            r"|no such file or directory: '(?:/\S*/)?(?:gcc|cc|clang|g\+\+|c\+\+)'"
        ),
        cause="triton and torch.compile compile a small C program when they first run, and there is no C compiler",
        root=Answer("fix", "a C compiler: apt-get install build-essential, or the -devel image"),
        container=Answer("fix", "a C compiler: apt-get install build-essential, or the -devel image"),
        confirm="which gcc clang cc finds none, and CC is not set",
        source="https://github.com/apple/ml-cross-entropy/issues/5",
    ),
    Fault(
        id="EXT-06",
        step="extensions",
        signature=any_of(
            told(r"\bPython\.h\b.{0,40}no such file|no such file.{0,40}\bPython\.h\b"),
            # of a compiler that fails, the exception has only the command; what it printed went elsewhere
            all_of(
                extension(r"CalledProcessError.*(?:gcc|clang|\bcc\b|g\+\+).*non-?zero exit status"),
                fact(_no_header),
            ),
        ),
        cause="the C compiler is there and Python's header files are not, which triton's small programs include",
        root=Answer(
            "fix", "Python's headers: apt-get install python3-dev for this Python, or one from uv or conda"
        ),
        container=Answer(
            "fix", "Python's headers: apt-get install python3-dev for this Python, or one from uv or conda"
        ),
        confirm="Python.h is not in the folder that sysconfig.get_path('include') names",
        source="https://github.com/deepspeedai/DeepSpeed/issues/3223",
    ),
    Fault(
        id="EXT-07",
        step="extensions",
        signature=any_of(
            told(r"operator torchvision::nms does not exist|couldn'?t load custom c\+\+ ops"),
            extension(r"undefined symbol", "torchvision"),
            said(r"torchvision/_C\.\S*so: undefined symbol"),
        ),
        cause="torchvision belongs to another release of torch than the one that is installed",
        root=Answer("fix", "torchvision: the release that belongs to this torch, or none"),
        container=Answer("fix", "torchvision: the release that belongs to this torch, or none"),
        confirm="pip list shows a pair that is not in torchvision's table of releases (torch 2.6 goes with 0.21)",
        source="https://github.com/meta-llama/llama-cookbook/issues/710",
    ),
    Fault(
        id="EXT-08",
        step="extensions",
        signature=told(
            r"CUDAMismatchException|installed cuda version \S+ does not match the version torch was compiled with"
            r"|the detected cuda version \(\S+\) mismatches the version that was used to compile pytorch"
            r"|'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'"
        ),
        cause="the CUDA toolkit that compiles the extension is of another major version than torch's own CUDA",
        root=Answer("fix", "the CUDA toolkit: one of torch's own major version, with CUDA_HOME at it"),
        container=Answer("fix", "the CUDA toolkit: one of torch's own major version, with CUDA_HOME at it"),
        confirm="nvcc --version and torch.version.cuda differ in the number before the dot",
        source="https://github.com/deepspeedai/DeepSpeed/issues/1077",
    ),
]
