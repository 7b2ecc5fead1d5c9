"""What public measurements reach: the data, and what is said where a card stays far below it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.evidence.burning import Burned
from fixtures.evidence.burning import BurnIn
from fixtures.evidence.burning import Rate
from fixtures.evidence.models import Computation
from fixtures.evidence.models import Launch
from fixtures.evidence.models import ProcessEnd
from fixtures.evidence.models import TorchDevice
from fixtures.probe import compute
from plugins.catalogue import reachable
from plugins.catalogue.cards import MODELS
from plugins.catalogue.reachable import FROM_HOST
from plugins.catalogue.reachable import MEMORY

H100 = "NVIDIA H100 80GB HBM3"
BFLOAT16 = 794.5e12

# -- data -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({row[0] for row in reachable.ROWS}))
def test_every_card_is_one_that_the_project_knows(name: str) -> None:
    assert name in {known for model in MODELS for known in model.names}


def test_no_figure_stands_twice_and_each_says_where_it_is_from() -> None:
    seen = [(name, what) for name, _, figures in reachable.ROWS for what in figures]
    assert len(seen) == len(set(seen))
    for _, source, figures in reachable.ROWS:
        assert source.address.startswith("https://")
        assert " " not in source.address
        assert source.how
        assert all(figure > 0 for figure in figures.values())


def test_what_is_measured_is_a_dtype_of_the_parameters_or_a_bandwidth() -> None:
    named = {what for _, _, figures in reachable.ROWS for what in figures}
    assert named == {"float32", "tf32", "bfloat16", "float16", MEMORY, FROM_HOST}


@pytest.mark.parametrize(
    ("name", "what", "rate"),
    [
        (H100, "bfloat16", BFLOAT16),
        (H100, MEMORY, 2970e9),
        ("AMD Instinct MI300X OAM", "float16", 654e12),
        ("AMD Instinct MI300X VF", "float16", 654e12),
        ("NVIDIA GeForce RTX 4090", FROM_HOST, 26.38e9),
        ("Tesla T4", "float16", 41.91e12),
    ],
)
def test_a_card_is_known_as_torch_prints_it(name: str, what: str, rate: float) -> None:
    found = reachable.reachable(name, what)
    assert found is not None
    assert found.rate == pytest.approx(rate)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("NVIDIA H100 80GB HBM3", "float8_e4m3fn"),
        ("NVIDIA H100 NVL", "bfloat16"),
        ("NVIDIA H200 NVL", "bfloat16"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "bfloat16"),
        ("GRID T4-8C", "float16"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "float16"),
        ("AMD Radeon Graphics", "float32"),
        ("NVIDIA", "float32"),
        ("", "float32"),
        (None, "float32"),
        (H100, ""),
    ],
)
def test_of_what_nobody_measured_nothing_is_said(name: str | None, what: str) -> None:
    assert reachable.reachable(name, what) is None


def test_a_figure_says_how_it_was_measured_and_where() -> None:
    said = str(reachable.reachable(H100, "bfloat16"))
    assert said.startswith("794.5 TFLOP/s (mamf-finder")
    assert "https://github.com/stas00/ml-engineering" in said
    assert str(reachable.reachable(H100, MEMORY)).startswith("2970 GB/s (BabelStream")


# -- the step compute -------------------------------------------------------------------------------------


def product(rate: float, dtype: str = "bfloat16", device: str = "cuda:0", **other: Any) -> Computation:
    """One that took as long as it does at this rate."""
    given: dict[str, Any] = {
        "device": device, "operation": reachable.PRODUCT, "dtype": dtype, "finite": True, "error": 0.0,
        "tolerance": 0.1, "reference_norm": 1.0, "repeats": 20, "operations": 2.0**33, "seconds": 2.0**33 / rate,
    }  # fmt: skip
    return Computation.model_validate({**given, **other})


def launched(*computed: Computation, names: tuple[str, ...] = (H100,)) -> Launch:
    end = ProcessEnd(returncode=0, signal=None, timed_out=False, seconds=1.0, stderr_tail="")
    return Launch(
        asked_interpreter="python", asked_real_path="python", asked_device="cuda", device="cuda", steps=[],
        interpreter=None, distributions={}, torch=None,
        devices=[
            TorchDevice(index=index, name=name, memory_bytes=80 << 30, capability="9.0", uuid=None)
            for index, name in enumerate(names)
        ],
        computations=list(computed), end=end,
    )  # fmt: skip


def test_a_card_that_is_a_hundred_times_too_slow_is_told_with_its_source() -> None:
    (line,) = reachable.slow(launched(product(BFLOAT16 / 100)), None)
    assert line.startswith(
        "a large product on cuda:0, bfloat16: 7.945 TFLOP/s stay below a tenth of what public measurements reach, "
        "794.5 TFLOP/s (mamf-finder"
    )


# fmt: off
QUIET: dict[str, Launch] = {
    "as quick as others": launched(product(BFLOAT16)),
    "a small product's latency": launched(product(BFLOAT16 / 5)),
    "an unknown card": launched(product(1e9), names=("NVIDIA GeForce GTX 1650",)),
    "a slice of a card": launched(product(1e9), names=("NVIDIA H100 80GB HBM3 MIG 1g.10gb",)),
    "a dtype that nobody measured": launched(product(1e9, "float8_e4m3fn")),
    "no figure of that card in that dtype": launched(product(1e9, "tf32"), names=("NVIDIA L40S",)),
    "no time": launched(product(1e9, seconds=None)),
    "no time at all": launched(product(1e9, seconds=0.0)),
    "evidence from before operations were counted": launched(product(1e9, operations=None)),
    "another operation": launched(product(1e9, operation="matmul")),
    "what raised": launched(product(1e9, raised="RuntimeError")),
    "a processor": launched(product(1e9, device="cpu"), names=()),
}
# fmt: on


@pytest.mark.parametrize("name", QUIET)
def test_of_a_healthy_card_and_of_what_is_not_known_nothing_is_said(name: str) -> None:
    assert list(reachable.slow(QUIET[name], None)) == []


def test_exactly_a_tenth_is_enough() -> None:
    exact = product(1.0, operations=BFLOAT16 / 10, seconds=1.0)
    less = product(1.0, operations=BFLOAT16 / 10 - 1e6, seconds=1.0)
    assert list(reachable.slow(launched(exact), None)) == []
    assert len(list(reachable.slow(launched(less), None))) == 1


def test_each_card_has_one_line_with_its_worst() -> None:
    computed = [product(BFLOAT16 / 50), product(1e12, "float32"), product(1e11, "tf32")]
    others = [product(BFLOAT16, device="cuda:1"), product(BFLOAT16 / 20, device="cuda:2")]
    lines = list(reachable.slow(launched(*computed, *others, names=(H100,) * 3), None))
    assert [line.split(",")[0] for line in lines] == [
        "a large product on cuda:0",
        "a large product on cuda:2",
    ]
    assert ", tf32: 0.1 TFLOP/s" in lines[0]
    assert lines[0].endswith("; so do float32, bfloat16")


# -- the burn-in ------------------------------------------------------------------------------------------


def burned(*tera: float, name: str | None = H100, **other: Any) -> BurnIn:
    rates = [
        Rate(at_s=float(number), seconds=1.0, products=10, operations=rate * 1e12, unequal=0)
        for number, rate in enumerate(tera)
    ]
    return BurnIn(
        minutes=1, cards=[Burned(device="cuda:0", dtype="bfloat16", name=name, rates=rates, **other)]
    )


def lines_of(seen: BurnIn) -> list[str]:
    return list(reachable.slow(launched(), seen))


@pytest.mark.parametrize(
    ("seen", "begins"),
    [
        (burned(700, 700, 200), "the burn-in of cuda:0, bfloat16: 200 TFLOP/s stay below a third"),
        (burned(alone=1e14), "the burn-in of cuda:0, bfloat16: 100 TFLOP/s stay"),
        (burned(700, memory_bandwidth=9e11), "the burn-in of cuda:0, memory: 900 GB/s stay"),
        (burned(700, from_host=6e9), "the burn-in of cuda:0, from host: 6 GB/s stay"),
    ],
    ids=["products", "never compared", "memory", "link"],
)
def test_a_card_that_burns_at_less_than_a_third_is_told(seen: BurnIn, begins: str) -> None:
    (line,) = lines_of(seen)
    assert line.startswith(begins)
    assert "https://" in line


@pytest.mark.parametrize(
    "seen",
    [
        burned(700, 690, 680, memory_bandwidth=2.8e12, from_host=51e9),
        burned(BFLOAT16 / 1e12 / 3 * (1 + 1e-12)),
        burned(1, name="NVIDIA H100 NVL"),
        burned(1, name=None),
        burned(),
    ],
    ids=["healthy", "a third", "no figure", "no name", "nothing computed"],
)
def test_its_healthy_twin_and_what_is_not_known_are_not(seen: BurnIn) -> None:
    assert lines_of(seen) == []


def test_beside_each_rate_stands_what_is_known_of_it() -> None:
    (card,) = burned(700, 690, 680, memory_bandwidth=2.8e12).cards
    shown = [(one.what, one.here, one.public and one.public.rate) for one in reachable.beside(card)]
    assert shown == [("bfloat16", 680e12, BFLOAT16), (MEMORY, 2.8e12, 2970e9), (FROM_HOST, None, 51e9)]


# -- what the probe times ---------------------------------------------------------------------------------


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """A product whose repeats take as many seconds as given, by a clock that only they move."""
    torch = pytest.importorskip("torch")

    def run(*taken: float) -> dict[str, Any]:
        now, times = [0.0], iter(taken)

        def slowly(torch: Any, inputs: list[Any]) -> Any:
            if str(inputs[0].dtype) != "torch.float64":  # the reference is no repeat
                now[0] += next(times)
            return torch.matmul(*inputs)

        monkeypatch.setattr(compute, "time", SimpleNamespace(perf_counter=lambda: now[0]))
        operation = compute.LARGE._replace(run=slowly, shapes=(((8, 4), (4, 2)),), every=1)
        monkeypatch.setattr(compute, "LARGE", operation)
        inputs = compute._inputs(torch, operation)
        return compute._computed(
            torch, "cpu", reachable.PRODUCT, operation, "float32", inputs, repeats=len(taken)
        )

    return run


def test_the_shortest_of_the_repeats_is_the_time_and_the_first_is_not_in_it(
    timed: Callable[..., Any],
) -> None:
    found = timed(5.0, 0.25, 0.5)
    assert (found["seconds"], found["operations"]) == (0.25, 2.0 * 8 * 4 * 2)


def test_a_small_product_counts_no_operations() -> None:
    torch = pytest.importorskip("torch")
    operation = compute.OPERATIONS["matmul"]
    found = compute._computed(
        torch, "cpu", "matmul", operation, "float32", compute._inputs(torch, operation), repeats=1
    )
    assert found["operations"] is None
    assert found["seconds"] > 0


def test_the_large_product_is_the_one_that_is_judged() -> None:
    assert compute._operations("bfloat16", "cuda:0")[reachable.PRODUCT] is compute.LARGE
