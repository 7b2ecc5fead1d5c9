"""NUM: what small computations show of a card, beside what rounding explains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.catalogue.patched import evidence
from tests.catalogue.patched import failing
from tests.catalogue.patched import lines
from tests.catalogue.patched import machine
from tests.catalogue.patched import named
from tests.catalogue.patched import saying

Computed = dict[str, Any]


def computations(base: str, which: Callable[[Computed], bool], **facts: Any) -> dict[str, Any]:
    """For `launch`: those that `which` is true of say `facts`."""
    found = evidence(base, "launch", "computations")
    changed = [one | facts if which(one) else one for one in found]
    assert changed != found, "the record has no such computation"
    return {"computations": changed}


def of(operation: str, dtype: str = "float32", device: str = "cuda:0") -> Callable[[Computed], bool]:
    return lambda one: (one["operation"], one["dtype"], one["device"]) == (operation, dtype, device)


# -- the card


def test_a_card_that_answers_differently_is_defective() -> None:
    seen = machine(launch=computations("h100-sxm", of("matmul"), equal=False))
    assert named(seen) == ["NUM-08"]
    assert lines("NUM-08", seen)[0].startswith("cuda:0: matmul in float32")


def test_what_is_added_in_any_order_need_not_be_equal() -> None:
    seen = machine(launch=computations("h100-sxm", of("index_add"), equal=None, digest="0f"))
    assert named(seen) == []
    other = computations("b200", of("index_add", device="cuda:1"), equal=None, digest="0f")
    assert lines("NUM-08", machine("b200", launch=other)) == []


def test_a_processor_is_no_card() -> None:
    one = evidence("h100-sxm", "launch", "computations")[0]
    assert named(machine(launch={"computations": [one | {"device": "cpu", "equal": False}]})) == []


def test_of_two_unlike_cards_the_wrong_one_is_named() -> None:
    wrong = computations("b200", of("matmul_large", device="cuda:1"), digest="0f", error=0.4)
    found = lines("NUM-08", machine("b200", launch=wrong))
    assert [line.partition(":  ")[0][:6] for line in found] == ["cuda:1"]


def test_of_two_unlike_cards_that_are_both_near_enough_both_are_named() -> None:
    unlike = computations("b200", of("matmul_large", device="cuda:1"), digest="0f")
    assert {line[:6] for line in lines("NUM-08", machine("b200", launch=unlike))} == {"cuda:0", "cuda:1"}


def test_of_three_cards_the_odd_one_is_named() -> None:
    devices = evidence("b200", "launch", "devices")
    found = evidence("b200", "launch", "computations")
    third = [
        one | {"device": "cuda:2", "digest": f"{one['digest']}0"}
        for one in found
        if one["device"] == "cuda:1"
    ]
    launch = {"devices": [*devices, devices[1] | {"index": 2}], "computations": [*found, *third]}
    assert {line[:6] for line in lines("NUM-08", machine("b200", launch=launch))} == {"cuda:2"}


def test_cards_of_two_models_need_not_agree() -> None:
    first, second = evidence("b200", "launch", "devices")
    unlike = computations("b200", of("matmul", device="cuda:1"), digest="0f")
    seen = machine("b200", launch=unlike | {"devices": [first, second | {"name": "NVIDIA H200"}]})
    assert lines("NUM-08", seen) == []


# -- rounding

TF32 = 3.1e-4


@pytest.mark.parametrize(
    ("operation", "error", "ids"),
    [
        ("matmul", TF32, ["NUM-02"]),
        ("attention", TF32, ["NUM-02"]),
        ("convolution", TF32, ["NUM-03"]),
        ("matmul", 4 * 2.0**-10, ["NUM-02"]),
        ("matmul", 4.1 * 2.0**-10, []),  # no rounding explains it
        ("matmul", 3e-7, []),
    ],
)
def test_tf32_is_known_by_the_size_of_its_rounding(operation: str, error: float, ids: list[str]) -> None:
    assert named(machine(launch=computations("h100-sxm", of(operation), error=error))) == ids


def test_where_products_are_rounded_too_it_is_one_switch() -> None:
    def rounded(one: Computed) -> bool:
        return one["dtype"] == "float32" and one["operation"] in ("matmul", "convolution", "attention")

    assert named(machine(launch=computations("h100-sxm", rounded, error=TF32))) == ["NUM-02"]


def test_a_card_without_tf32_does_not_round_so() -> None:
    assert named(machine("t4", launch=computations("t4", of("matmul"), error=TF32))) == []
    assert named(machine("mi300x", launch=computations("mi300x", of("matmul"), error=TF32))) == []


def test_a_switch_acts_on_every_card() -> None:
    one_alone = computations("b200", of("matmul", device="cuda:1"), error=TF32)
    assert lines("NUM-02", machine("b200", launch=one_alone)) == []


def test_rounding_that_was_asked_for_is_well() -> None:
    assert named(machine(launch=computations("h100-sxm", of("matmul", "tf32"), error=TF32))) == []


# -- dtypes and sizes


@pytest.mark.parametrize(
    ("base", "raised", "old"),
    [
        ("t4", "bfloat16 needs compute capability 8.0, and this card has 7.5", True),
        ("t4", None, False),  # emulated, and right
        (
            "h100-sxm",
            "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasGemmEx",
            False,
        ),
    ],
)
def test_bfloat16_begins_with_compute_capability_8(base: str, raised: str | None, old: bool) -> None:
    one = evidence(base, "launch", "computations")[0]
    finite = {"finite": raised is None, "error": 0.001 if raised is None else None, "tolerance": 0.02}
    launch = {"computations": [one | {"dtype": "bfloat16", "raised": raised, **finite}]}
    assert bool(lines("NUM-04", machine(base, launch=launch))) is old


def test_a_large_product_alone_that_is_not_finite_is_the_librarys() -> None:
    large = computations("h100-sxm", of("matmul_large"), finite=False, error=None)
    assert named(machine(launch=large)) == ["NUM-10"]


def test_where_the_small_product_is_not_finite_either_it_is_not_the_size() -> None:
    def product(one: Computed) -> bool:
        return str(one["operation"]).startswith("matmul") and one["dtype"] == "float32"

    assert lines("NUM-10", machine(launch=computations("h100-sxm", product, finite=False, error=None))) == []


def test_a_large_product_that_raised_is_another_fault() -> None:
    raised = computations(
        "h100-sxm", of("matmul_large"), finite=False, error=None, raised="OutOfMemoryError: no"
    )
    assert lines("NUM-10", machine(launch=raised)) == []


def test_float16_is_too_small_only_where_the_result_is_larger_than_it() -> None:
    def overflown(norm: float) -> dict[str, Any]:
        return computations("t4", of("matmul", "float16"), finite=False, error=None, reference_norm=norm)

    assert named(machine("t4", launch=overflown(66246.0))) == ["NUM-01"]
    assert lines("NUM-01", machine("t4", launch=overflown(65504.0))) == []


def test_what_float16_cannot_hold_is_told_by_torch() -> None:
    text = "RuntimeError: value cannot be converted to type  c10::Half without overflow"
    assert named(machine(launch=failing("model", text))) == ["NUM-01"]
    assert named(machine(launch=failing("model", text.replace("c10::Half", "int64_t")))) == []


@pytest.mark.parametrize(
    ("base", "dtype", "ids"),
    [
        ("a100-80", "float8_e4m3fn", ["NUM-04-FLOAT"]),
        ("l40s", "float8_e4m3fn", []),
        ("a100-80", "float16", []),
    ],
)
def test_float8_begins_with_ada(base: str, dtype: str, ids: list[str]) -> None:
    refused = {
        "finite": False,
        "error": None,
        "raised": "RuntimeError: refused",
        "equal": None,
        "digest": None,
    }
    one = evidence(base, "launch", "computations")[0] | {"dtype": dtype} | refused
    assert named(machine(base, launch={"computations": [one]})) == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("float8_e4m3fn needs compute capability 8.9, and this card has 8.0", ["NUM-04-FLOAT"]),
        ('ValueError("type fp8e4nv not supported in this architecture.")', ["NUM-04-FLOAT"]),
        ("AssertionError: fp8e4nv data type is not supported on CUDA arch < 89", ["NUM-04-FLOAT"]),
        (
            "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9",
            ["NUM-04-FLOAT"],
        ),
        ("ValueError: The quantization method fp8 is not supported for the current GPU.", ["NUM-04-FLOAT"]),
        ("INFO: the cache is in fp8 on compute capability 9.0", []),
    ],
)
def test_what_programs_say_where_a_card_has_no_float8(text: str, ids: list[str]) -> None:
    assert named(machine("a100-80", launch=saying(text, "compute"))) == ids
