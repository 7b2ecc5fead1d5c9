"""What cards are called: by who sells them, and by the driver that shows them; and how much memory they then show.

Memory as sold is what the price list says, in GB. Memory as visible is what nvidia-smi or rocm-smi shows in MiB, the
whole of one card: the driver, error correction and torch keep some of it, so it is compared with some room. Where the
visible figures are from:

    modal   https://github.com/modal-labs/modal-client/pull/2797 (H100, A100, A10, L40S, L4, T4)
    ao      https://github.com/pytorch/ao/pull/4002 and 2853 (B200, MI300X)
    tables  outputs of nvidia-smi and rocminfo in public files, found by the figure in a search that names no repository
    sold    no output was found: the GiB that are sold
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

MIB = 1 << 20
#: of the visible memory: less than this may be kept by drivers and libraries, more is another card
SLACK = 0.08


@dataclass(frozen=True)
class Model:
    """One kind of card. `words` are those of a price list that name it; `form` "" where there is only one.

    `names` are what drivers print, without the maker's words. MI250X is sold as one card and shows as two halves.
    """

    words: str
    form: str
    sold_gb: int
    visible_mib: int
    names: tuple[str, ...]
    source: str

    def __str__(self) -> str:
        return f"{self.words.upper()} {self.form}".strip()


# fmt: off
MODELS: tuple[Model, ...] = tuple(Model(*row) for row in (
    # data centre, NVIDIA
    ("gb300", "", 288, 284208, ("GB300",), "tables"),
    ("b300", "SXM", 288, 275040, ("B300 SXM6 AC", "B300"), "tables"),
    ("gb200", "", 186, 189471, ("GB200",), "tables"),
    ("b200", "SXM", 180, 183359, ("B200",), "ao"),
    ("gh200", "", 96, 97871, ("GH200 480GB", "GH200 120GB", "GH200"), "tables"),
    ("gh200", "", 144, 146831, ("GH200 144G HBM3e", "GH200 144GB HBM3e"), "tables"),
    ("h200", "SXM", 141, 143771, ("H200",), "tables"),
    ("h200", "NVL", 141, 143771, ("H200 NVL",), "tables"),
    ("h100", "SXM", 80, 81559, ("H100 80GB HBM3",), "modal"),
    ("h100", "PCIe", 80, 81559, ("H100 PCIe",), "tables"),
    ("h100", "NVL", 94, 95830, ("H100 NVL",), "tables"),
    ("h100 cnx", "", 80, 81559, ("H100 CNX",), "sold"),
    ("h100x", "", 80, 81559, ("H100X",), "sold"),
    ("h800", "SXM", 80, 81559, ("H800",), "tables"),
    ("h800", "PCIe", 80, 81559, ("H800 PCIe",), "tables"),
    ("h20", "", 96, 97871, ("H20",), "tables"),
    ("h20", "", 141, 143771, ("H20-3e",), "tables"),
    ("a100", "SXM", 40, 40960, ("A100-SXM4-40GB", "A100-SXM-40GB"), "modal"),
    ("a100", "SXM", 64, 65536, ("A100-SXM-64GB",), "sold"),
    ("a100", "SXM", 80, 81920, ("A100-SXM4-80GB", "A100-SXM-80GB"), "modal"),
    ("a100", "PCIe", 40, 40960, ("A100-PCIE-40GB",), "modal"),
    ("a100", "PCIe", 80, 81920, ("A100 80GB PCIe", "A100-PCIE-80GB"), "modal"),
    ("a100x", "", 80, 81920, ("A100X",), "sold"),
    ("a800", "SXM", 80, 81920, ("A800-SXM4-80GB",), "sold"),
    ("a800", "SXM", 40, 40960, ("A800-SXM4-40GB",), "sold"),
    ("a800", "PCIe", 80, 81920, ("A800 80GB PCIe",), "sold"),
    ("a800", "PCIe", 40, 40960, ("A800-PCIE-40GB", "A800 40GB Active"), "sold"),
    ("a40", "", 48, 46068, ("A40",), "tables"),
    ("a30", "", 24, 24576, ("A30",), "sold"),
    ("a16", "", 16, 15356, ("A16",), "sold"),
    ("a10", "", 24, 23028, ("A10",), "modal"),
    ("a10g", "", 24, 23028, ("A10G",), "sold"),
    ("a2", "", 16, 15356, ("A2",), "sold"),
    ("l40s", "", 48, 46068, ("L40S",), "modal"),
    ("l40", "", 48, 46068, ("L40",), "sold"),
    ("l20", "", 48, 46068, ("L20",), "sold"),
    ("l4", "", 24, 23034, ("L4",), "modal"),
    ("t4", "", 16, 15360, ("T4",), "modal"),
    ("v100", "SXM", 16, 16384, ("V100-SXM2-16GB",), "sold"),
    ("v100", "SXM", 32, 32768, ("V100-SXM2-32GB", "V100-SXM3-32GB"), "tables"),
    ("v100", "PCIe", 16, 16384, ("V100-PCIE-16GB",), "sold"),
    ("v100", "PCIe", 32, 32768, ("V100-PCIE-32GB",), "sold"),
    ("v100s", "PCIe", 32, 32768, ("V100S-PCIE-32GB",), "sold"),
    ("p100", "SXM", 16, 16384, ("P100-SXM2-16GB",), "sold"),
    ("p100", "PCIe", 16, 16384, ("P100-PCIE-16GB",), "sold"),
    ("p100", "PCIe", 12, 12288, ("P100-PCIE-12GB",), "sold"),
    # workstation and desktop, NVIDIA
    ("rtx pro 6000", "Server", 96, 97887, ("RTX PRO 6000 Blackwell Server Edition",), "tables"),
    ("rtx pro 6000", "Workstation", 96, 97887, ("RTX PRO 6000 Blackwell Workstation Edition",), "tables"),
    ("rtx pro 6000", "Max-Q", 96, 97887, ("RTX PRO 6000 Blackwell Max-Q Workstation Edition",), "tables"),
    ("rtx 6000 ada", "", 48, 49140, ("RTX 6000 Ada Generation",), "tables"),
    ("rtx 5000 ada", "", 32, 32760, ("RTX 5000 Ada Generation",), "sold"),
    ("rtx 4000 ada", "", 20, 20475, ("RTX 4000 Ada Generation",), "sold"),
    ("a6000", "", 48, 49140, ("RTX A6000",), "tables"),
    ("a5000", "", 24, 24564, ("RTX A5000",), "sold"),
    ("a4000", "", 16, 16376, ("RTX A4000",), "sold"),
    ("quadro 8000", "", 48, 49152, ("Quadro RTX 8000",), "sold"),
    ("quadro 6000", "", 24, 24576, ("Quadro RTX 6000",), "sold"),
    ("5090", "", 32, 32607, ("RTX 5090",), "tables"),
    ("5090 d", "", 32, 32607, ("RTX 5090 D",), "sold"),
    ("5090 laptop", "", 24, 24463, ("RTX 5090 Laptop GPU",), "sold"),
    ("5080", "", 16, 16303, ("RTX 5080",), "sold"),
    ("4090", "", 24, 24564, ("RTX 4090",), "tables"),
    ("4090 d", "", 24, 24564, ("RTX 4090 D",), "sold"),
    ("4090 laptop", "", 16, 16376, ("RTX 4090 Laptop GPU",), "sold"),
    ("4080", "", 16, 16376, ("RTX 4080",), "sold"),
    ("4080 super", "", 16, 16376, ("RTX 4080 SUPER",), "sold"),
    ("3090", "", 24, 24576, ("RTX 3090",), "tables"),
    ("3090 ti", "", 24, 24564, ("RTX 3090 Ti",), "sold"),
    ("3080", "", 10, 10240, ("RTX 3080",), "sold"),
    ("3080", "", 12, 12288, ("RTX 3080",), "sold"),
    ("3080 ti", "", 12, 12288, ("RTX 3080 Ti",), "sold"),
    ("2080 ti", "", 11, 11264, ("RTX 2080 Ti",), "sold"),
    # AMD
    ("mi355x", "", 288, 294896, ("MI355X",), "sold"),
    ("mi350x", "", 288, 294896, ("MI350X",), "sold"),
    ("mi325x", "", 256, 262128, ("MI325X",), "sold"),
    ("mi308x", "", 192, 196592, ("MI308X",), "tables"),
    ("mi300x", "", 192, 196592, ("MI300X",), "ao"),
    ("mi300a", "", 128, 128720, ("MI300A",), "tables"),
    ("mi250x", "", 128, 65520, ("MI250X", "MI250X / MI250"), "tables"),
    ("mi250", "", 128, 65520, ("MI250", "MI250X / MI250"), "tables"),
    ("mi210", "", 64, 65520, ("MI210",), "tables"),
    ("mi100", "", 32, 32752, ("MI100",), "tables"),
))
# fmt: on

#: words of a price list or of a name that tell nothing apart
_MAKERS = {
    *("nvidia", "amd", "ati", "instinct", "radeon", "geforce", "tesla"),
    *("gpu", "gpus", "card", "cards", "accelerator"),
}
#: and those that some models have beside their name: form factors, kinds of memory, a whole card as virtual function
_FORMS = {
    **dict.fromkeys(("sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "hgx"), "SXM"),
    **dict.fromkeys(("pcie", "pci"), "PCIe"),
    "nvl": "NVL",
    "server": "Server",
    "workstation": "Workstation",
    "maxq": "Max-Q",
}
_REST = {
    *("oam", "vf", "hf", "edition", "blackwell"),
    *("hbm2", "hbm2e", "hbm3", "hbm3e", "gddr6", "gddr6x", "gddr7"),
}

#: a piece of a card: MIG by its profile, vGPU by the profile at the end of its name, GRID V100D-8C, NVIDIA A40-48Q
_SLICE = re.compile(r"\bmig\b|\b\d+g\.\d+gb\b", re.IGNORECASE)
_PROFILE = re.compile(r"^\s*grid\b|-\d+(?:-\d+)?[ABCQ](?:ME)?\s*$|\bvgpu\b", re.IGNORECASE)


@dataclass(frozen=True)
class Difference:
    """How a card is not the one ordered. `says` is a half sentence; `unknown`: it cannot be told whether it is."""

    kind: Literal["slice", "profile", "model", "form", "memory", "unknown"]
    says: str


def is_model(ordered: str, name: str, memory_bytes: int | None) -> str | None:
    """Why a card is not what was ordered, None where it is.

    Args:
        ordered: as in the order, `H100 SXM`, `A100 80GB`. What it leaves open may be anything: `H100` any H100.
        name: as the driver prints it.
        memory_bytes: all that this one card shows, None where it is not known.
    """
    found = difference(ordered, name, memory_bytes)
    return found.says if found else None


def difference(ordered: str, name: str, memory_bytes: int | None) -> Difference | None:
    """The same with its kind."""
    piece = _piece(ordered, name)
    if piece or _is_piece(ordered):
        return piece
    wanted, there = _ordered(ordered), named(name)
    if not wanted:
        return _by_words(ordered, name, memory_bytes)
    if not there:
        return _unlisted(wanted[0], name)
    same = [model for model in there if any(model.words == one.words for one in wanted)]
    if not same:
        return Difference("model", f"{_bare(name)} instead of {ordered}")
    fitting = [model for model in same if model in wanted]
    if not fitting:
        form = same[0].form and not any(model.form == same[0].form for model in wanted)
        what = f"the {same[0].form} variant" if form else f"the one with {same[0].sold_gb} GB"
        return Difference("form" if form else "memory", f"{_bare(name)}, {what}, instead of {ordered}")
    return _by_memory(fitting, memory_bytes, ordered)


def visible_bytes(ordered: str) -> list[int]:
    """What one card of the order shows, for each of the models that it may be; [] where they are not known.

    Of a slice or a vGPU, what its profile says: MIG 3g.20gb, V100D-8C.
    """
    if _is_piece(ordered):
        sizes = re.findall(r"\d+g\.(\d+)gb|-(\d+)[ABCQ](?:ME)?\s*$", ordered, re.IGNORECASE)
        return [int(size) << 30 for found in sizes for size in found if size]
    return [model.visible_mib * MIB for model in _ordered(ordered)]


def _by_memory(fitting: list[Model], memory_bytes: int | None, ordered: str) -> Difference | None:
    sizes = {model.visible_mib for model in fitting}
    if memory_bytes is None:
        return Difference("unknown", "how much memory it shows is not known") if len(sizes) > 1 else None
    if any(abs(memory_bytes - size * MIB) <= SLACK * size * MIB for size in sizes):
        return None
    usual = " or ".join(f"{size / 1024:.1f}" for size in sorted(sizes))
    return Difference(
        "memory", f"{memory_bytes / MIB / 1024:.1f} GiB of memory, and {ordered} shows {usual} GiB"
    )


def _piece(ordered: str, name: str) -> Difference | None:
    """A part of a card in place of a card, or another part than the one ordered."""
    for kind, pattern, what in (("slice", _SLICE, "a MIG slice"), ("profile", _PROFILE, "a vGPU")):
        if pattern.search(name):
            if pattern.search(ordered) and _words(ordered) - _MAKERS <= _words(name):
                return None
            return Difference(
                "slice" if kind == "slice" else "profile", f"{what}, {_bare(name)}, instead of {ordered}"
            )
    if _is_piece(ordered):
        return Difference("model", f"{_bare(name)} instead of {ordered}")
    return None


def _is_piece(ordered: str) -> bool:
    return bool(_SLICE.search(ordered) or _PROFILE.search(ordered))


def _ordered(text: str) -> list[Model]:
    """The models that the words of an order leave open; [] where they name none that is known."""
    words = _words(text)
    if exact := [model for model in named(text) if words - _MAKERS != set(model.words.split())]:
        return exact
    keys = {model.words: set(model.words.split()) - {"rtx"} for model in MODELS}
    fitting = {key: len(parts) for key, parts in keys.items() if parts <= words}
    best = {key for key, parts in fitting.items() if parts == max(fitting.values())}
    if len(best) != 1:
        return []
    forms = {"Max-Q"} if "maxq" in words else {_FORMS[word] for word in words & set(_FORMS)}
    found = [model for model in MODELS if model.words in best]
    found = [model for model in found if not forms or not model.form or model.form in forms]
    sizes = [int(size) for word in words for size in re.findall(r"^(\d+)gb$", word)]
    return [model for model in found if all(_has_size(model, size) for size in sizes)]


def _has_size(model: Model, gigabytes: int) -> bool:
    """As sold, or as somebody rounds what they see, in GB or GiB: B200 is sold with 180, 183 and 192."""
    seen = model.visible_mib * MIB
    return gigabytes == model.sold_gb or any(
        abs(gigabytes * unit - seen) <= SLACK * seen for unit in (10**9, 1 << 30)
    )


def named(name: str) -> list[Model]:
    """The models that print this name."""
    words = _words(name) - _MAKERS - {"vf", "hf", "oam"}
    return [model for model in MODELS if any(words == _words(one) - _MAKERS for one in model.names)]


def _unlisted(wanted: Model, name: str) -> Difference | None:
    """A name that is in no table, for a model that is: every word of it must be one of that model's."""
    words = _words(name) - _MAKERS
    if not words or words <= {"graphics", "device"} or all(re.fullmatch(r"gfx\w+", word) for word in words):
        return Difference("unknown", f"{name.strip() or 'a card without a name'}, which names no model")
    own = set(wanted.words.split()) | _words(" ".join(wanted.names)) | _REST | set(_FORMS)
    if set(wanted.words.split()) - {"rtx", "quadro"} <= words and not words - own:
        return None
    return Difference("model", f"{_bare(name)} instead of {wanted}")


def _by_words(ordered: str, name: str, memory_bytes: int | None) -> Difference | None:
    """For a model that is in no table: every word of the order in the card's name, sizes by its memory."""
    wanted, words = _words(ordered) - _MAKERS - _REST - {"hgx"}, _words(name)
    sizes = [word for word in wanted if re.fullmatch(r"\d+gb", word)]
    forms = {_FORMS[word] for word in wanted & set(_FORMS)}
    other = {_FORMS[word] for word in words & set(_FORMS)}
    if forms and other and not forms & other:
        return Difference("form", f"{_bare(name)} instead of {ordered}")
    for size in sizes:
        sold = int(size[:-2]) * 10**9
        if memory_bytes is None:
            return Difference("unknown", "how much memory it shows is not known")
        if not -SLACK * sold <= memory_bytes - sold <= 2 * SLACK * sold:
            return Difference("memory", f"{memory_bytes / 10**9:.1f} GB of memory instead of {size}")
    missing = wanted - set(sizes) - words - {word for word in wanted if _FORMS.get(word) == "SXM"}
    return Difference("model", f"{_bare(name)} instead of {ordered}") if missing else None


def _bare(name: str) -> str:
    """A name without the maker's words."""
    return re.sub(r"^\s*(?:NVIDIA|AMD)\s+", "", name, flags=re.IGNORECASE).strip()


def _words(text: str) -> set[str]:
    """The words of a name or of an order, lower case; sizes as 80gb, and without how many are ordered."""
    text = re.sub(r"^\s*\d+\s*x\s+", "", text.casefold())
    text = re.sub(r"(\d+)\s*g(?:i?b)?\b", r"\1gb", text)
    text = re.sub(r"max[\s-]*q", "maxq", text)
    # h100sxm5, rtx4090, a100pcie
    text = re.sub(r"(?<=\d)(?=sxm|pcie|nvl\b)|(?<=rtx)(?=[\da-z])|(?<=gtx)(?=\d)", " ", text)
    return set(re.findall(r"[a-z0-9]+", text))
