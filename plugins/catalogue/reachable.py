"""What public measurements reach on a card, never what the brochure says; and what stays far below that.

Data: each row is one card as torch prints it, where its figures were published, and the figures. What nobody was found
to have measured is absent. Others' libraries, sizes and hosts are not ours, so what falls far short of a figure is an
advisory and decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Iterator
from dataclasses import dataclass

from fixtures.evidence.burning import Burned
from fixtures.evidence.burning import BurnIn
from fixtures.evidence.models import Launch

#: of the reachable rate, less is an advisory: of a single product of matrices after the first, and of the burn-in
LEAST_COMPUTED, LEAST_BURNED = 10, 3
#: the one product of the step compute that is large enough to keep a card busy
PRODUCT = "matmul_large"
#: what is measured beside the products, which go by their dtype
BANDWIDTHS = MEMORY, FROM_HOST = "memory", "from host"


@dataclass(frozen=True)
class Source:
    """Where figures were published; `how` they were measured."""

    address: str
    how: str


@dataclass(frozen=True)
class Reached:
    """One figure: operations or bytes a second."""

    rate: float
    bandwidth: bool
    source: Source

    def __str__(self) -> str:
        return f"{shown(self.rate, self.bandwidth)} ({self.source.how}: {self.source.address})"


_STORED = "https://github.com/{}/blob/{}/{}"
_TORCH = "torch.mm of squares with sides of 1024 to 10240, the best of them"


def _squares(number: int) -> Source:
    return Source(f"https://github.com/zzc0721/torch-performance-test-data/issues/{number}", _TORCH)


_SQUARES = Source(
    _STORED.format("zzc0721/torch-performance-test-data", "bbb8e247d5dc170e9a4a58062ede9bdbe6a17c21", "database.md"),
    _TORCH,
)  # fmt: skip
_MAMF = Source(
    "https://github.com/stas00/ml-engineering/tree/master/compute/accelerator"
    "#maximum-achievable-matmul-flops-comparison-table",
    "mamf-finder in torch, the best of many shapes",
)
_MAF = Source(
    "https://rocm.blogs.amd.com/software-tools-optimization/measuring-max-achievable-flops-part2/README.html",
    "hipblaslt-bench, 4096 x 4864 x 32896, warm",
)


def _azure(commit: str, file: str, how: str, owner: str = "Azure") -> Source:
    return Source(_STORED.format(f"{owner}/AI-benchmarking-guide", commit, file), how)


_STREAM, _LINK = "BabelStream, triad", "nvbandwidth, pinned memory"
_A100 = ("3bb66cacc25632d8ece36bc1d5128c5ea886a60b", "Azure_Results/ND_A100_v4_results.md")
_H100 = ("f350e7e65b82cfcb9220b32b582bc34342d9c1a6", "Azure%20Results/ND_H100_v5_results.md")
_H200 = ("7f20e5fa3b2f9a46d8404af1f6fb14b049d6d5cc", "Azure_Results/ND_H200_v5_results.md")
_GB200 = ("2a370be6de9586d365feed77e014a73f25198f4d", "Azure_Results/ND_GB200_v6_results.md")
_MI300X = ("3de0c294fd1059a91a2c158712c4a078619d73e8", "Azure_Results/ND_MI300X_v5_results.md")
_POLARIS = Source(
    _STORED.format(
        "argonne-lcf/ALCFBeginnersGuide",
        "c5b22659602599b453bb5ce78fffcf2b31ed8beb",
        "polaris/02_profiling.md",
    ),
    "BabelStream, copy",
)
_A800 = "https://github.com/mli/transformers-benchmarks/issues/4"
_SAMPLES = Source(
    _STORED.format(
        "router-gao/cuda-demo",
        "8e2367b498052bd7810c4d1b72f03300c732f9a1",
        "cuda-samples/02-cuda-bandwidth.md",
    ),
    "bandwidthTest, 32 MB, pinned memory",
)


def _nvbandwidth(number: int, how: str = _LINK) -> Source:
    return Source(f"https://github.com/NVIDIA/nvbandwidth/issues/{number}", how)


# fmt: off
#: TFLOP/s of dense products by dtype; GB/s of the card's own memory, read and written, and from the host to the card
ROWS: tuple[tuple[str, Source, dict[str, float]], ...] = (
    # data centre, NVIDIA. Where a card has no TF32 or no bfloat16, what torch does in place of it was measured
    ("B300 SXM6 AC", _MAMF, {"bfloat16": 1769.0}),
    ("GB200", _MAMF, {"bfloat16": 1822.0}),
    ("GB200", _azure(*_GB200, _LINK), {FROM_HOST: 201}),
    ("B200", _MAMF, {"bfloat16": 1745.0}),
    ("B200", _SQUARES, {"float32": 66.24, "float16": 1627.64}),
    ("GH200 144G HBM3e", _MAMF, {"bfloat16": 828.6}),
    ("GH200 480GB", _nvbandwidth(23), {FROM_HOST: 346}),
    ("H200", _MAMF, {"bfloat16": 794.5}),  # "the same" as H100 SXM
    ("H200", _azure(*_H200, _STREAM), {MEMORY: 4150}),
    ("H200", _azure(*_H200, _LINK), {FROM_HOST: 52}),
    ("H100 80GB HBM3", _MAMF, {"bfloat16": 794.5}),
    ("H100 80GB HBM3", _squares(79), {"float32": 51.88, "tf32": 402.15, "float16": 760.04}),
    ("H100 80GB HBM3", _azure(*_H100, _STREAM), {MEMORY: 2970}),
    ("H100 80GB HBM3", _azure(*_H100, _LINK), {FROM_HOST: 51}),
    ("H100 PCIe", _squares(95), {"float32": 36.95, "tf32": 240.43, "float16": 458.03, "bfloat16": 495.93}),
    ("H800 PCIe", _squares(112), {"float32": 37.77, "tf32": 242.83, "float16": 478.23, "bfloat16": 503.83}),
    ("H20", _squares(77), {"float32": 31.99, "tf32": 71.80, "float16": 142.09, "bfloat16": 142.25}),
    ("A100-SXM4-80GB", _MAMF, {"bfloat16": 271.2}),
    ("A100-SXM4-80GB", _SQUARES, {"float32": 19.18, "float16": 258.74}),
    ("A100-SXM4-80GB", _azure(*_A100, _STREAM), {MEMORY: 1700}),
    ("A100-SXM4-80GB", _azure(*_A100, _LINK), {FROM_HOST: 26.28}),
    ("A100-SXM4-40GB", _MAMF, {"bfloat16": 271.2}),  # the same processor; the table does not say which memory
    ("A100-SXM4-40GB", _POLARIS, {MEMORY: 1400}),
    ("A100-SXM4-40GB", _nvbandwidth(42, "nvbandwidth, 512 MiB, by kernels"), {FROM_HOST: 25.13}),
    ("A100 80GB PCIe", _MAMF, {"bfloat16": 252.9}),  # again without the memory
    ("A100-PCIE-40GB", _squares(108), {"float32": 17.56, "tf32": 108.32, "float16": 241.49, "bfloat16": 234.14}),
    ("A800-SXM4-80GB", _SQUARES, {"float32": 19.08, "float16": 266.04, "bfloat16": 266.48}),
    ("A800 80GB PCIe", Source(_A800, "torch, a square with sides of 8192"), {"float16": 215.3}),
    ("A800 80GB PCIe", Source(_A800, "torch, element by element, 4194304 of them"), {MEMORY: 1727}),
    ("A40", _squares(185), {"float32": 23.73, "tf32": 59.52, "float16": 119.18, "bfloat16": 122.29}),
    ("L40S", _squares(43), {"float32": 46.88, "float16": 264.02, "bfloat16": 269.15}),
    ("L20", _squares(107), {"float32": 37.27, "tf32": 58.16, "float16": 113.26, "bfloat16": 114.14}),
    ("L4", _squares(120), {"float32": 15.38, "tf32": 31.88, "float16": 68.83, "bfloat16": 70.89}),
    ("T4", _SQUARES, {"float32": 4.17, "float16": 41.91, "bfloat16": 2.46}),
    ("T4", _SAMPLES, {MEMORY: 239.6, FROM_HOST: 9.7}),
    ("V100-SXM2-16GB", _squares(140), {"float32": 14.51, "tf32": 14.47, "float16": 97.36, "bfloat16": 10.65}),
    ("V100-SXM2-16GB", _SAMPLES, {MEMORY: 739.8, FROM_HOST: 9.6}),
    ("P100-PCIE-16GB", _squares(164), {"float32": 8.12, "tf32": 8.15, "float16": 7.89, "bfloat16": 6.14}),
    # workstation and desktop, NVIDIA
    ("RTX PRO 6000 Blackwell Server Edition", _squares(162),
        {"float32": 78.99, "tf32": 205.23, "float16": 406.97, "bfloat16": 417.34}),
    ("RTX PRO 6000 Blackwell Workstation Edition", _squares(160),
        {"float32": 74.03, "tf32": 183.51, "float16": 390.92, "bfloat16": 368.43}),
    ("RTX A6000", _squares(46), {"float32": 23.92, "float16": 120.49, "bfloat16": 123.34}),
    ("RTX A4000", _squares(97), {"float32": 11.90, "tf32": 34.32, "float16": 65.44, "bfloat16": 62.78}),
    ("RTX 5090", _squares(96), {"float32": 70.47, "tf32": 122.19, "float16": 234.63, "bfloat16": 240.05}),
    ("RTX 5090 D", _squares(93), {"float32": 66.20, "tf32": 121.23, "float16": 214.77, "bfloat16": 234.39}),
    ("RTX 5090 Laptop GPU", _squares(116), {"float32": 28.07, "tf32": 44.98, "float16": 89.51, "bfloat16": 83.78}),
    ("RTX 5080", _squares(104), {"float32": 33.64, "tf32": 50.69, "float16": 102.42, "bfloat16": 102.89}),
    ("RTX 4090", _squares(78), {"float32": 53.84, "tf32": 85.65, "float16": 168.38, "bfloat16": 164.81}),
    ("RTX 4090", Source("https://github.com/xytpai/nvbench", "global_memory_bandwidth, float 16"), {MEMORY: 921}),
    ("RTX 4090", _nvbandwidth(15), {FROM_HOST: 26.38}),
    ("RTX 4090 D", _SQUARES, {"float32": 50.07, "float16": 152.64, "bfloat16": 148.91}),
    ("RTX 3090", _SQUARES, {"float32": 24.84, "float16": 75.88, "bfloat16": 76.68}),
    ("RTX 3080 Ti", _squares(144), {"float32": 25.56, "tf32": 38.44, "float16": 77.02, "bfloat16": 77.72}),
    # AMD
    ("MI355X", _MAMF, {"bfloat16": 1565.0}),
    ("MI325X", _MAMF, {"bfloat16": 784.9}),
    ("MI325X", _MAF, {"float16": 794}),
    ("MI300X", _MAMF, {"bfloat16": 668.4}),
    ("MI300X", _MAF, {"float16": 654}),
    ("MI300X", _azure(*_MI300X, _STREAM, "samuel-bohman"), {MEMORY: 4090}),
    ("MI300X", _azure(*_MI300X, "TransferBench", "samuel-bohman"), {FROM_HOST: 55}),
)
# fmt: on

#: of a name, what tells no two cards apart: makers, and what some drivers add for a whole card
_ADDED = {*("nvidia", "amd", "instinct", "geforce", "tesla", "radeon", "gpu"), *("oam", "vf", "hf")}


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", name.casefold())) - _ADDED


_REACHED = {
    (_words(name), what): Reached(figure * (1e9 if what in BANDWIDTHS else 1e12), what in BANDWIDTHS, source)
    for name, source, figures in ROWS
    for what, figure in figures.items()
}


def reachable(name: str | None, what: str) -> Reached | None:
    """What public measurements reach on one whole card; None where none was found.

    Args:
        name: as torch prints it, `NVIDIA H100 80GB HBM3`. A slice of a card, or a card that is not known, has none.
        what: a dtype as the parameters name it, for dense products of matrices, or MEMORY or FROM_HOST.
    """
    return _REACHED.get((_words(name), what)) if name else None


def shown(rate: float, bandwidth: bool) -> str:
    return f"{rate / 1e9:.4g} GB/s" if bandwidth else f"{rate / 1e12:.4g} TFLOP/s"


@dataclass(frozen=True)
class Beside:
    """What a burned card reached, and what public measurements reach; either may be unknown."""

    what: str
    here: float | None
    public: Reached | None

    @property
    def bandwidth(self) -> bool:
        return self.what in BANDWIDTHS


def beside(card: Burned) -> list[Beside]:
    """Products in the last third, which is what lasts, and where there is none without the comparing; bandwidths."""
    thirds = card.thirds()
    found = (
        (card.dtype, thirds[1] if thirds else card.alone),
        (MEMORY, card.memory_bandwidth),
        (FROM_HOST, card.from_host),
    )
    return [Beside(what, here, reachable(card.name, what)) for what, here in found]


def slow(launch: Launch, burn_in: BurnIn | None) -> Iterator[str]:
    """Advisories: what stays far below what public measurements reach. A card that is wrong is no matter of this."""
    names = {f"cuda:{device.index}": device.name for device in launch.devices}
    for device, name in names.items():
        computed = [
            (one.dtype, one.operations / one.seconds, public)
            for one in launch.computations
            if one.device == device and one.operation == PRODUCT and one.operations and one.seconds
            if one.raised is None and (public := reachable(name, one.dtype))
        ]
        yield from _least(f"a large product on {device}", computed, LEAST_COMPUTED, "a tenth")
    for card in burn_in.cards if burn_in else []:
        burned = [(one.what, one.here, one.public) for one in beside(card) if one.here and one.public]
        yield from _least(f"the burn-in of {card.device}", burned, LEAST_BURNED, "a third")


def _least(where: str, rates: Iterable[tuple[str, float, Reached]], part: int, says: str) -> Iterator[str]:
    """One line: the worst of what stays below the part, and what else does."""
    low = sorted(
        ((what, rate, public) for what, rate, public in rates if rate * part < public.rate),
        key=lambda one: one[1] / one[2].rate,
    )
    if low:
        what, rate, public = low[0]
        others = f"; so do {', '.join(one[0] for one in low[1:])}" if low[1:] else ""
        yield (
            f"{where}, {what}: {shown(rate, public.bandwidth)} stay below {says} of what public measurements reach, "
            f"{public}{others}"
        )
