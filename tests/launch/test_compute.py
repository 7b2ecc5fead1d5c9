"""What the probe computes, with the real torch on the CPU and cards of straw that compute on it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import pytest

from fixtures.evidence.ladder import Said
from fixtures.evidence.ladder import SecondProcess
from fixtures.evidence.models import Computation
from fixtures.probe import children
from fixtures.probe import compute
from fixtures.probe import lines as lining
from fixtures.probe import second
from fixtures.probe import transfers

torch = pytest.importorskip("torch")
functional = torch.nn.functional

Call = Callable[..., Any]
ALL = ["matmul", "convolution", "attention", "embedding", "index_add", "sum"]
MULTIPLY = ["matmul", "convolution", "attention"]
#: where an operation stands that can be exchanged for a faulty one
PLACES = {
    "matmul": (torch, "matmul"),
    "convolution": (functional, "conv2d"),
    "attention": (functional, "scaled_dot_product_attention"),
    "embedding": (functional, "embedding"),
    "sum": (torch, "sum"),
}


class Written(lining.Lines):
    """Lines that are kept instead of written, as the models that they must be."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.computations: list[Computation] = []
        self.second: list[SecondProcess] = []
        self.told: list[Said] = []

    def _write(self, line: dict[str, Any]) -> None:
        ((name, value),) = line["add"].items()
        models: dict[str, tuple[list[Any], type[Any]]] = {
            "computations": (self.computations, Computation),
            "second": (self.second, SecondProcess),
            "said": (self.told, Said),
        }
        kept, model = models[name]
        kept.append(model.model_validate(value))


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Cards that compute on the CPU, with a large product that is small; `capability` is theirs."""

    def make(capability: tuple[int, int] = (9, 0)) -> None:
        to = torch.Tensor.to

        def moved(tensor: Any, *where: Any, **more: Any) -> Any:
            if where and isinstance(where[0], str) and where[0].startswith("cuda"):
                return tensor.clone()
            return to(tensor, *where, **more)

        monkeypatch.setattr(torch.Tensor, "to", moved)
        monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
        small = compute.LARGE._replace(shapes=(((64, 96), (96, 32)),), every=8)
        monkeypatch.setattr(compute, "LARGE", small)

    return make


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[Call, tuple[Any, ...]], Any]], None]:
    """Exchange an operation for a faulty one; its float64 reference stays right."""

    def install(operation: str, fault: Callable[[Call, tuple[Any, ...]], Any]) -> None:
        place, name = PLACES[operation]
        good = getattr(place, name)

        def faulty(*inputs: Any, **more: Any) -> Any:
            exact = any(getattr(one, "dtype", None) == torch.float64 for one in inputs)
            return good(*inputs, **more) if exact else fault(lambda *a: good(*a, **more), inputs)

        monkeypatch.setattr(place, name, faulty)

    return install


def computed(*dtypes: str, device: str = "cpu") -> list[Computation]:
    written = Written()
    compute.on_card(written, torch, device, dtypes)
    return written.computations


def right(one: Computation) -> bool:
    """As the check of each card has it."""
    good = one.raised is None and one.finite and one.error is not None and one.error <= one.tolerance
    return good and one.reference_norm > 0 and one.equal is not False


def wrong_ones(found: list[Computation]) -> list[str]:
    return [one.operation for one in found if not right(one)]


def rounded(bits: int) -> Callable[[Call, tuple[Any, ...]], Any]:
    """Inputs of so many bits after the point, as TF32 has 10."""
    cut = 23 - bits

    def fault(good: Call, inputs: tuple[Any, ...]) -> Any:
        half, mask = 1 << (cut - 1), -(1 << cut)
        return good(*(((one.view(torch.int32) + half) & mask).view(torch.float32) for one in inputs))

    return fault


def at_call(number: int, change: Callable[[Any], Any]) -> Callable[[Call, tuple[Any, ...]], Any]:
    """Only that call's result is changed."""
    calls = iter(range(1 << 30))
    return lambda good, inputs: change(good(*inputs)) if next(calls) == number else good(*inputs)


def flip(tensor: Any, bit: int = 0) -> Any:
    """One bit of the first number is another."""
    flipped = tensor.clone()
    flipped.view(torch.int32).reshape(-1)[0] ^= 1 << bit
    return flipped


# -- healthy


def test_every_operation_is_right_in_float32_on_the_cpu() -> None:
    found = computed()
    assert [one.operation for one in found] == ALL
    assert wrong_ones(found) == []
    for one in found:
        assert (one.device, one.dtype, one.repeats) == ("cpu", "float32", compute.REPEATS)
        assert one.equal is (None if one.operation == "index_add" else True)
        # room for other hardware, and none for TF32, which is off by 1e-4 and more
        assert one.error is not None
        assert one.tolerance > 4 * one.error
        assert one.tolerance < 2e-5


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_every_operation_is_right_in_half_precision(dtype: str) -> None:
    found = computed(dtype)[len(ALL) :]
    assert [one.operation for one in found] == ALL
    assert wrong_ones(found) == []
    errors = {one.operation: one.error for one in found}
    assert errors["embedding"] == 0
    assert all(errors[name] for name in ALL if name != "embedding")  # rounding was seen, so it is this dtype


def test_the_same_numbers_give_the_same_digest_and_others_another() -> None:
    one, again, half = computed(), computed(), computed("float16")[len(ALL) :]
    digests = [[found.digest for found in run] for run in (one, again, half)]
    assert digests[0] == digests[1]
    assert not set(digests[0]) & set(digests[2])


def test_float8_is_a_product_of_scaled_matrices() -> None:
    found = computed("float8_e4m3fn", "float8_e5m2")[len(ALL) :]
    assert [(one.operation, one.dtype) for one in found] == [
        ("matmul", "float8_e4m3fn"),
        ("matmul", "float8_e5m2"),
    ]
    assert wrong_ones(found) == []


def test_float32_comes_first_and_nothing_twice() -> None:
    found = computed("float16", "float32", "float16")
    assert [one.dtype for one in found] == ["float32"] * len(ALL) + ["float16"] * len(ALL)


def test_every_card_repeats_the_products_more_often_and_has_a_large_one(cards: Callable[..., None]) -> None:
    cards()
    found = computed(device="cuda:1")
    assert {one.operation: one.repeats for one in found} == {
        **dict.fromkeys(ALL, compute.REPEATS),
        **dict.fromkeys(["matmul", "matmul_large"], compute.REPEATS_PRODUCT),
    }
    assert {one.device for one in found} == {"cuda:1"}
    assert wrong_ones(found) == []


def test_equal_cards_have_equal_digests(cards: Callable[..., None]) -> None:
    cards()
    first, other = ([one.digest for one in computed(device=device)] for device in ("cuda:0", "cuda:1"))
    assert first == other


# -- wrong numbers


@pytest.mark.parametrize("operation", PLACES)
def test_numbers_that_are_none_are_in_no_tolerance(operation: str, broken: Callable[..., None]) -> None:
    broken(operation, lambda good, inputs: good(*inputs).fill_(math.nan))
    found = computed()
    assert wrong_ones(found) == [operation]
    (one,) = (one for one in found if one.operation == operation)
    assert (one.finite, one.error, one.raised) == (False, None, None)
    assert one.reference_norm > 0


def test_one_infinite_number_among_thousands_is_found(broken: Callable[..., None]) -> None:
    def fault(good: Call, inputs: tuple[Any, ...]) -> Any:
        result = good(*inputs)
        result.view(-1)[-1] = math.inf
        return result

    broken("matmul", fault)
    assert wrong_ones(computed()) == ["matmul"]


@pytest.mark.parametrize("operation", PLACES)
def test_zeros_are_wrong(operation: str, broken: Callable[..., None]) -> None:
    broken(operation, lambda good, inputs: good(*inputs).zero_())
    found = computed("bfloat16", "float16")
    assert wrong_ones(found) == [operation] * 3
    assert {one.error for one in found if one.operation == operation} == {1.0}


def test_a_wrong_result_in_the_last_shape_alone_is_found(broken: Callable[..., None]) -> None:
    """A kernel may be wrong for odd sizes only."""

    def fault(good: Call, inputs: tuple[Any, ...]) -> Any:
        result = good(*inputs)
        return result * 1.001 if inputs[0].shape[0] == 1 else result

    broken("matmul", fault)
    assert wrong_ones(computed()) == ["matmul"]


@pytest.mark.parametrize("operation", MULTIPLY)
def test_tf32_is_found_in_float32_and_is_right_where_it_was_asked_for(
    operation: str, broken: Callable[..., None]
) -> None:
    broken(operation, rounded(10))
    found = computed("tf32")
    assert [(one.operation, one.dtype) for one in found if not right(one)] == [(operation, "float32")]
    assert [one.operation for one in found if one.dtype == "tf32"] == MULTIPLY  # the others know no TF32
    (error,) = (one.error for one in found if (one.operation, one.dtype) == (operation, "tf32"))
    assert error is not None
    assert error > 1e-4


def test_bfloat16_in_place_of_tf32_is_found(broken: Callable[..., None]) -> None:
    broken("matmul", rounded(5))
    assert ("matmul", "tf32") in {(one.operation, one.dtype) for one in computed("tf32") if not right(one)}


def test_one_bit_of_an_embedding_is_found(broken: Callable[..., None]) -> None:
    broken("embedding", lambda good, inputs: flip(good(*inputs)))
    assert wrong_ones(computed()) == ["embedding"]


def test_a_large_product_that_is_wrong_in_rows_that_are_not_compared_must_still_be_finite(
    cards: Callable[..., None], broken: Callable[..., None]
) -> None:
    """NUM-10: NaN in large products alone."""
    cards()

    def fault(good: Call, inputs: tuple[Any, ...]) -> Any:
        result = good(*inputs)
        if inputs[0].shape == (64, 96):
            result[3, 5] = math.nan
        return result

    broken("matmul", fault)
    assert wrong_ones(computed(device="cuda:0")) == ["matmul_large"]


# -- repeats and cards


def test_one_bit_in_one_repeat_is_not_equal_though_it_is_within_the_tolerance(
    broken: Callable[..., None],
) -> None:
    broken("matmul", at_call(3, flip))
    found = computed()
    (one,) = (one for one in found if one.operation == "matmul")
    assert one.equal is False
    assert one.error is not None
    assert one.error <= one.tolerance
    assert wrong_ones(found) == ["matmul"]


def test_one_wrong_number_in_the_last_repeat_is_in_the_error_too(broken: Callable[..., None]) -> None:
    broken("sum", at_call(compute.REPEATS - 1, lambda result: flip(result, 29)))
    (one,) = (one for one in computed() if one.operation == "sum")
    assert one.equal is False
    assert one.error is None or one.error > one.tolerance


def test_a_card_that_is_always_off_by_one_bit_has_another_digest(
    cards: Callable[..., None], broken: Callable[..., None]
) -> None:
    cards()
    good = computed(device="cuda:0")
    broken("sum", lambda good, inputs: flip(good(*inputs)))
    odd = computed(device="cuda:1")
    assert wrong_ones(odd) == []
    assert [one.operation for one, other in zip(good, odd, strict=True) if one.digest != other.digest] == [
        "sum"
    ]


# -- what raises, and what is not there


def test_the_first_exception_is_the_steps_error_and_the_others_still_run(broken: Callable[..., None]) -> None:
    def no_kernel(good: Call, inputs: tuple[Any, ...]) -> Any:
        raise RuntimeError(
            "CUDA error: no kernel image is available for execution on the device\nsecond line"
        )

    def other(good: Call, inputs: tuple[Any, ...]) -> Any:
        raise RuntimeError("CUDA error 700: an illegal memory access was encountered")

    broken("convolution", no_kernel)
    broken("sum", other)
    written = Written()
    with pytest.raises(lining.Absent) as absent:
        compute.on_card(written, torch, "cpu", [])
    first = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    assert str(absent.value) == f"cpu: {first}"
    assert absent.value.source == "torch"
    raised = {one.operation: one.raised for one in written.computations if one.raised}
    assert raised == {
        "convolution": first,
        "sum": "RuntimeError: CUDA error 700: an illegal memory access was encountered",
    }
    assert wrong_ones(written.computations) == ["convolution", "sum"]
    assert len(written.computations) == len(ALL)
    assert [(one.step, one.number, one.number_of) for one in written.told] == [("compute", 700, "cuda")]


def test_the_number_that_torch_keeps_beside_the_text_is_kept(broken: Callable[..., None]) -> None:
    class Accelerator(RuntimeError):
        error_code = 46

    def busy(good: Call, inputs: tuple[Any, ...]) -> Any:
        raise Accelerator("CUDA error: CUDA-capable device(s) is/are busy or unavailable")

    broken("matmul", busy)
    with pytest.raises(lining.Absent) as absent:
        compute.on_card(Written(), torch, "cpu", [])
    assert (absent.value.number, absent.value.number_of) == (46, "cuda")


@pytest.mark.parametrize(
    ("capability", "dtype", "needs"),
    [((7, 5), "bfloat16", "8.0"), ((8, 0), "float8_e4m3fn", "8.9"), ((8, 6), "float8_e5m2", "8.9")],
)
def test_what_a_card_is_too_old_for_is_said_with_the_numbers(
    capability: tuple[int, int], dtype: str, needs: str, cards: Callable[..., None]
) -> None:
    cards(capability)
    written = Written()
    with pytest.raises(lining.Absent):
        compute.on_card(written, torch, "cuda:0", [dtype])
    (one,) = (one for one in written.computations if one.dtype == dtype)
    has = "{}.{}".format(*capability)
    assert one.raised == f"{dtype} needs compute capability {needs}, and this card has {has}"
    assert not one.finite
    assert wrong_ones(written.computations) == ["matmul"]


@pytest.mark.parametrize(("capability", "dtype"), [((8, 0), "bfloat16"), ((8, 9), "float8_e4m3fn")])
def test_a_card_that_is_just_new_enough_computes(
    capability: tuple[int, int], dtype: str, cards: Callable[..., None]
) -> None:
    cards(capability)
    found = computed(dtype, device="cuda:0")
    assert dtype in {one.dtype for one in found}
    assert wrong_ones(found) == []


def test_a_torch_without_the_dtype_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch, "float8_e5m2")
    written = Written()
    with pytest.raises(lining.Absent, match=r"^cpu: this torch has no float8_e5m2$"):
        compute.on_card(written, torch, "cpu", ["float8_e5m2"])
    assert written.computations[-1].raised == "this torch has no float8_e5m2"


def test_both_switches_of_tf32_are_off_in_float32_and_on_where_it_is_asked_for(
    broken: Callable[..., None],
) -> None:
    seen = []

    def look(good: Call, inputs: tuple[Any, ...]) -> Any:
        seen.append((torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32))
        return good(*inputs)

    broken("matmul", look)
    compute.switch_tf32(torch, True)  # as an application, or an old torch's default, may have left them
    computed("tf32")
    runs = 3 * compute.REPEATS  # three shapes
    assert seen == [(False, False)] * runs + [(True, True)] * runs
    compute.switch_tf32(torch, False)


def test_amds_attention_chooses_for_itself(
    monkeypatch: pytest.MonkeyPatch, broken: Callable[..., None]
) -> None:
    broken("attention", rounded(10))
    monkeypatch.setattr(torch.version, "hip", "6.4")
    try:
        assert wrong_ones(computed()) == []
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch._C._set_deterministic_algorithms(False, warn_only=False)


# -- a second process


def test_a_second_process_computes() -> None:
    written = Written()
    second.try_on(written, torch, "cpu")
    (one,) = written.second
    assert (one.device, one.error) == ("cpu", None)
    assert written.told == []


def test_a_card_that_refuses_a_second_process_says_its_number(broken: Callable[..., None]) -> None:
    def busy(good: Call, inputs: tuple[Any, ...]) -> Any:
        raise RuntimeError("CUDA error 46: CUDA-capable device(s) is/are busy or unavailable")

    broken("matmul", busy)
    written = Written()
    second.try_on(written, torch, "cpu")
    text = "RuntimeError: CUDA error 46: CUDA-capable device(s) is/are busy or unavailable"
    assert [one.error for one in written.second] == [text]
    assert [(one.text, one.number) for one in written.told] == [(f"second process on cpu: {text}", 46)]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda result: result.fill_(math.nan), "a product is wrong: not finite"),
        (lambda result: result.zero_(), "a product is wrong: off by 1.0e+00, at most 7.6e-06"),
    ],
    ids=["nan", "zeros"],
)
def test_a_second_process_that_computes_wrongly_is_told(
    change: Callable[[Any], Any], error: str, broken: Callable[..., None]
) -> None:
    broken("matmul", lambda good, inputs: change(good(*inputs)))
    written = Written()
    second.try_on(written, torch, "cpu")
    assert [one.error for one in written.second] == [error]


def test_a_second_process_that_crashes_is_told_by_its_parent() -> None:
    written = Written()
    for function in (lambda: os.kill(os.getpid(), 11), lambda: None):
        child = children.fork(function, deadline=20)
        child.wait()
        second.lost(written, "cuda:0", child)
    (one,) = written.second
    assert (one.device, str(one.error).partition(",")[0]) == ("cuda:0", "killed by SIGSEGV")
    assert [(one.number, one.number_of) for one in written.told] == [(11, "signal")]


# -- transfers, with the memory of the real torch


@pytest.mark.parametrize("size", [4097, 1 << 20])
def test_random_bits_arrive_in_the_real_torch_and_zeros_do_not(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    sent = transfers._random(torch, size)
    assert sent.shape == (size,)
    assert len(set(sent.tolist())) == 256
    for source in (transfers.HOST, "cpu"):
        copy = transfers.Copy(source, "cpu", size)
        assert transfers._arrives(torch, copy, sent)[0]
        monkeypatch.setattr(torch.Tensor, "copy_", lambda target, source: target)
        assert not transfers._arrives(torch, copy, sent)[0]
        monkeypatch.undo()
        monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
