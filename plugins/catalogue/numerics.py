"""NUM: what a card computes, as far as small computations of known result show it.

What depends on the application's own model and data does not show here (NUM-06, 09, 11, 12): the pilot's documents,
its repetition and its reordering are there for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fixtures.evidence.models import Computation
from plugins.catalogue.extensions import told
from plugins.catalogue.fault import Answer
from plugins.catalogue.fault import Fault
from plugins.catalogue.seen import Seen
from plugins.catalogue.signatures import any_of
from plugins.catalogue.signatures import computed
from plugins.catalogue.signatures import facts

#: the largest number that float16 has
LARGEST_FLOAT16 = 65504.0
#: the largest relative error that TF32's rounding explains: four times its 2**-10; what is above is no rounding
TF32_ERROR = 4 * 2.0**-10
#: from this compute capability on there is TF32, and bfloat16 in hardware
AMPERE = (8, 0)
#: and from this one on float8 in hardware
ADA = (8, 9)
#: operations whose products cuDNN computes; the others' are cuBLAS's
BY_CUDNN = ("convolution",)


def capability(seen: Seen, device: str) -> tuple[int, int] | None:
    """Of an NVIDIA card; None for others, and where it is not known."""
    for one in seen.launch.devices:
        if f"cuda:{one.index}" == device and one.capability:
            major, dot, minor = one.capability.partition(".")
            return (int(major), int(minor)) if dot and major.isdigit() and minor.isdigit() else None
    return None


def rounded(seen: Seen) -> list[Computation]:
    """In float32, off by as much as TF32's rounding explains, on cards that have it; a switch acts on all of them."""
    exact = {
        (one.operation, one.dtype)
        for one in seen.launch.computations
        if one.device != "cpu" and one.error is not None and one.error <= one.tolerance
    }
    return [
        one
        for one in seen.launch.computations
        if one.dtype == "float32"
        and one.device != "cpu"
        and one.error is not None
        and one.tolerance < one.error <= TF32_ERROR
        and (one.operation, one.dtype) not in exact
        and (capability(seen, one.device) or (0, 0)) >= AMPERE
    ]


def products_rounded(seen: Seen) -> Iterator[str]:
    found = [one for one in rounded(seen) if one.operation not in BY_CUDNN]
    yield from (_off(one) for one in found)
    if found and (forced := seen.variables.get("NVIDIA_TF32_OVERRIDE")):
        yield f"NVIDIA_TF32_OVERRIDE={forced}"


def convolutions_rounded(seen: Seen) -> list[str]:
    """These alone: where products are rounded as well, it is one switch for both."""
    found = rounded(seen)
    return [_off(one) for one in found] if all(one.operation in BY_CUDNN for one in found) else []


def _off(one: Computation) -> str:
    return (
        f"{one.device}: {one.operation} in {one.dtype} is off by {one.error:.1e}, at most {one.tolerance:.1e}"
    )


def too_old(seen: Seen) -> Iterator[str]:
    """A dtype that the card's architecture does not have."""
    for one in seen.launch.computations:
        has = capability(seen, one.device)
        if one.dtype == "bfloat16" and one.raised and has and has < AMPERE:
            yield f"{one.device}: {one.operation} in {one.dtype}: {one.raised}"


def too_old_for_float8(seen: Seen) -> Iterator[str]:
    for one in seen.launch.computations:
        has = capability(seen, one.device)
        if one.dtype.startswith("float8") and one.raised and has and has < ADA:
            yield f"{one.device}: {one.operation} in {one.dtype}: {one.raised}"


def unlike_itself(one: Computation) -> bool:
    return one.equal is False and one.device != "cpu"


def unlike_its_sisters(seen: Seen) -> Iterator[str]:
    """A card whose bits are not those of the cards of the same name, or that alone is wrong among them."""
    names = {f"cuda:{device.index}": device.name for device in seen.launch.devices}
    groups: dict[tuple[str | None, str, str], list[Computation]] = {}
    for one in seen.launch.computations:
        if one.device in names and one.equal is not None and one.digest:
            groups.setdefault((names[one.device], one.operation, one.dtype), []).append(one)
    for (_, operation, dtype), same in groups.items():
        counted = Counter(one.digest for one in same).most_common()
        if len(counted) > 1:
            usual = counted[0][0] if counted[0][1] > counted[1][1] else None
            wrong = [one for one in same if one.error is None or one.error > one.tolerance]
            odd = [one for one in same if usual and one.digest != usual] or wrong or same
            for one in odd:
                yield f"{one.device}: {operation} in {dtype}: other bits than the same computation on its sisters"


def large_only(seen: Seen) -> Iterator[str]:
    """Not finite for a large product, and right for a small one on the same card."""
    right = {
        (one.device, one.dtype)
        for one in seen.launch.computations
        if one.operation == "matmul" and one.finite and one.error is not None and one.error <= one.tolerance
    }
    for one in seen.launch.computations:
        wrong = one.operation == "matmul_large" and one.raised is None and not one.finite
        if wrong and one.equal is not False and (one.device, one.dtype) in right:
            yield f"{one.device}: {one.operation} in {one.dtype} is not finite, and the small product is right"


FAULTS = [
    Fault(
        id="NUM-08",
        step="compute",
        signature=any_of(
            computed("{0.repeats} repeats with the same numbers, not all the same", unlike_itself),
            facts(unlike_its_sisters),
        ),
        cause="the same computation gives other results on this card, from one time to the next or beside its sisters: "
        "the card is defective",
        root=Answer("reconfigure", "the card: another machine"),
        container=Answer("reconfigure", "the card: another machine"),
        confirm="the same product 200 times on each card, cold and after ten minutes of load: one card alone differs",
        source="https://github.com/ROCm/rocm-libraries/issues/12344",
    ),
    Fault(
        id="NUM-10",
        step="compute",
        signature=facts(large_only),
        cause="a product of large matrices is not finite where a small one is right: the library fails for that size "
        "on this card",
        root=Answer("fix", "the size: the product in parts, or another release of the library"),
        container=Answer("fix", "the size: the product in parts, or another release of the library"),
        confirm="the same rows in parts of 100000 are finite and right",
        source="https://github.com/ROCm/legacy-rocm-build/issues/6116",
    ),
    Fault(
        id="NUM-02",
        step="compute",
        signature=facts(products_rounded),
        cause="products in float32 are rounded to TF32, 10 bits after the point instead of 23",
        root=Answer(
            "fix", "TF32: allow_tf32 off and NVIDIA_TF32_OVERRIDE not set, or a tolerance that allows for it"
        ),
        container=Answer(
            "fix", "TF32: allow_tf32 off and NVIDIA_TF32_OVERRIDE not set, or a tolerance that allows for it"
        ),
        confirm="with NVIDIA_TF32_OVERRIDE=0 the error falls from about 3e-4 to 1e-6",
        source="https://github.com/pytorch/pytorch/issues/79270",
    ),
    Fault(
        id="NUM-03",
        step="compute",
        signature=facts(convolutions_rounded),
        cause="convolutions in float32 are rounded to TF32, for which cuDNN has a switch of its own",
        root=Answer("fix", "torch.backends.cudnn.allow_tf32 = False, or a tolerance that allows for it"),
        container=Answer("fix", "torch.backends.cudnn.allow_tf32 = False, or a tolerance that allows for it"),
        confirm="with torch.backends.cudnn.allow_tf32 = False the error falls from about 3e-4 to 1e-6",
        source="https://github.com/pytorch/pytorch/issues/107514",
    ),
    Fault(
        id="NUM-04",
        step="compute",
        signature=any_of(
            facts(too_old),
            told(r"bfloat16 is only supported on gpus with compute capability of at least 8\.0"),
        ),
        cause="the card's architecture has no bfloat16: that begins with compute capability 8.0",
        root=Answer(
            "reconfigure", "the card: one from Ampere on; or float16, once it is seen to stay in its range"
        ),
        container=Answer(
            "reconfigure", "the card: one from Ampere on; or float16, once it is seen to stay in its range"
        ),
        confirm="torch.cuda.get_device_capability() is below (8, 0)",
        source="https://github.com/vllm-project/vllm/issues/946",
    ),
    Fault(
        id="NUM-04-FLOAT",
        step="compute",
        signature=any_of(
            facts(too_old_for_float8),
            told(
                r"type fp8\w* not supported in this architecture|fp8\w* data type is not supported on cuda arch"
                r"|torch\._scaled_mm is only supported on.{0,60}(?:8\.9|>= ?9)"
                r"|(?:fp8|float8)\w*.{0,40}\b(?:needs|requires?|at least|only)\b.{0,60}(?:\b8\.9|\bsm_?89\b)"
                r"|quantization method \w*fp8\w* is not supported for the current gpu"
            ),
        ),
        cause="the card's architecture has no float8: that begins with compute capability 8.9 (Ada, Hopper)",
        root=Answer("reconfigure", "the card: one from Ada or Hopper on; or weights in bfloat16 or float16"),
        container=Answer(
            "reconfigure", "the card: one from Ada or Hopper on; or weights in bfloat16 or float16"
        ),
        confirm="torch.cuda.get_device_capability() is below (8, 9)",
        source="https://github.com/woct0rdho/triton-windows/issues/30",
    ),
    Fault(
        id="NUM-01",
        step="extensions",
        signature=any_of(
            told(r"cannot be converted to type (?:at|c10)::half without overflow"),
            computed(
                "not finite, and the result is {0.reference_norm:.0f}",
                lambda one: (
                    one.dtype == "float16" and not one.finite and one.reference_norm > LARGEST_FLOAT16
                ),
            ),
        ),
        cause="numbers grow beyond 65504, the largest that float16 has, as in models that were trained in bfloat16",
        root=Answer("fix", "the dtype: bfloat16 or float32"),
        container=Answer("fix", "the dtype: bfloat16 or float32"),
        confirm="the same input in float32 is finite, and its largest value is above 65504",
        source="https://github.com/huggingface/transformers/issues/5651",
    ),
]
