"""Faults in what was rented and in how torch meets it. Cards are pretended: see tests/stubs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fixtures import inventory
from plugins.verdict_file import Decision
from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.bench import Run
from tests.pilot.bench import STUBS
from tests.pilot.entries import all_of
from tests.pilot.entries import cards
from tests.pilot.entries import Fault
from tests.pilot.entries import ORDERED
from tests.pilot.entries import Twin
from tests.pilot.entries import written


def _ordered(**keys: object) -> Change:
    return lambda bench: bench.order.update(keys)


def _spoilt(result: str) -> Change:
    return all_of(cards(ORDERED), lambda bench: bench.environment.update(STUB_RESULT=result))


def _torch_for_the_cpu(bench: Bench) -> None:
    """The card is there, and its driver; torch came from the wrong index."""
    bench.pretend_cards(ORDERED)
    stub = (STUBS / "torch" / "__init__.py").read_text()
    written(bench, "wrong/torch/__init__.py", stub + "\n_cards = []\nversion.cuda = None\n")
    bench.environment["PYTHONPATH"] = f"{bench.folder / 'wrong'}:{bench.environment['PYTHONPATH']}"


def _torch_that(statement: str) -> Change:
    """In the rehearsal too: torch is not what it was when it was installed."""

    def change(bench: Bench) -> None:
        written(bench, "wrong/torch/__init__.py", f"import os, signal\n{statement}\n")
        bench.environment["PYTHONPATH"] = str(bench.folder / "wrong")

    return change


def _python(path: str) -> Change:
    return lambda bench: bench.parameters["application"].update(python=path)


def _text_for_a_python(bench: Bench) -> None:
    _python(str(written(bench, "python", "#!/bin/sh\necho hello\n")))(bench)


def _script_for_a_python(bench: Bench) -> None:
    path = written(bench, "python", "#!/bin/sh\necho hello\n")
    path.chmod(0o755)
    _python(str(path))(bench)


def _linked_python(bench: Bench) -> None:
    """As in a virtual environment, where python is a link to the one that it was made from."""
    path = bench.folder / "python"
    path.symlink_to(sys.executable)
    _python(str(path))(bench)
    bench.environment["PYTHONPATH"] = str(STUBS)


def _no_card_here(bench: Bench) -> None:
    """Nothing is pretended: the machine that runs these tests has no card."""
    if Path("/proc/driver/nvidia").exists() or Path("/dev/kfd").exists():
        pytest.skip("this machine has a card")


def _application_never_began(bench: Bench, run: Run) -> None:
    """What stands above a broken rung is not reached, and costs nothing."""
    assert run.trial is not None
    assert not (run.trial / "evidence" / "application").exists()
    assert {run.status(f"results.{name}") for name in ("ended_by_itself", "file", "well_formed")} == {
        "not_reached"
    }
    assert "not reached: launch: " in run.message("results.ended_by_itself")


def _says_to_fill_it_in(bench: Bench, run: Run) -> None:
    change = run.decided.next_change
    assert change is not None
    assert "config/order.json" in change.factor + change.advice


#: inside a container the kernel's driver is the host's, and nobody there can change it
IN_A_CONTAINER = inventory.observe().host.container is not None
#: what cuInit gives, the entry of the catalogue, what it means in a container, and what is beside it
_NUMBERS: list[tuple[int, str, Decision, dict[str, str]]] = [
    (802, "DRV-02", "reconfigure", {}),
    (803, "DRV-03", "fix", {}),
    (804, "DRV-04", "fix", {}),
    (999, "DRV-07", "reconfigure", {}),
    (35, "DRV-01", "reconfigure", {"STUB_CUDA": "12040"}),
]
COMPUTE = "launch.compute[cuda-0]"

_CARDS = [
    Fault("a-wrong-product", _spoilt("wrong"), COMPUTE, ("finite, and within", "matmul in float32: 0.5"),
        decision="reconfigure", device="cuda", twin="the-ordered-card"),
    Fault("a-product-that-is-nan", _spoilt("nan"), COMPUTE, ("finite, and within", "not finite"),
        decision="reconfigure", device="cuda", twin="the-ordered-card"),
    Fault("a-product-of-zeros", _spoilt("zero"), COMPUTE, ("finite, and within", "matmul in float32: 1.0"),
        decision="reconfigure", device="cuda", twin="the-ordered-card"),
    Fault("another-card-than-ordered", cards("NVIDIA H100 80GB HBM3"), "launch.card_model",
        (ORDERED, "NVIDIA H100 80GB HBM3"), decision="reconfigure", device="cuda", twin="the-ordered-card"),
    Fault("another-form-of-the-card", all_of(cards("NVIDIA H200 NVL"), _ordered(card="NVIDIA H200 SXM")),
        "launch.card_model", ("NVIDIA H200 SXM", "found NVIDIA H200 NVL"), decision="reconfigure",
        device="cuda", twin="the-ordered-card"),
    Fault("a-card-whose-name-begins-alike", cards("NVIDIA H20"), "launch.card_model",
        ("NVIDIA H200", "found NVIDIA H20"), decision="reconfigure", device="cuda", twin="the-ordered-card"),
    Fault("one-card-of-two-is-another", all_of(cards(ORDERED, "NVIDIA A100"), _ordered(cards=2)),
        "launch.card_model", ("NVIDIA H200, NVIDIA A100",), decision="reconfigure", device="cuda",
        twin="two-ordered-cards"),
    Fault("fewer-cards-than-ordered", all_of(cards(ORDERED), _ordered(cards=2)), "launch.cards_ordered",
        ("2 cards", "1 in the application's interpreter, 1 on the machine"), decision="reconfigure",
        device="cuda", twin="two-ordered-cards"),
    Fault("more-cards-than-ordered", cards(ORDERED, ORDERED), "launch.cards_ordered",
        ("1 card", "2 in the application's interpreter, 2 on the machine"), device="cuda",
        twin="the-ordered-card"),
    Fault("no-card-in-the-order", all_of(cards(ORDERED), _ordered(card=None)), "launch.card_model",
        ("written in the order", "no card in the order; on the machine: NVIDIA H200"), device="cuda",
        twin="the-ordered-card", look=_says_to_fill_it_in),
]  # fmt: skip

_LADDER = [
    Fault("cuda-on-a-machine-without-a-driver", _no_card_here, "launch.driver",
        ("a driver for cuda", "libcuda.so.1"), decision="reconfigure", device="cuda", twin="the-ordered-card",
        look=_application_never_began),
    Fault("auto-on-a-machine-without-a-card", _no_card_here, "launch.driver", ("a driver for auto",),
        decision="reconfigure", device="auto", twin="auto-with-the-ordered-card",
        look=_application_never_began),
    Fault("cuda-with-a-driver-and-no-card",
        all_of(cards(), lambda bench: bench.environment.update(STUB_CUDA_CARDS="0")), "launch.driver",
        ("required a driver for cuda", "ORD-03: the machine has no card at all"),
        decision="reconfigure", device="cuda", twin="the-ordered-card", look=_application_never_began),
    Fault("rocm-on-a-machine-of-another-vendor", cards(ORDERED), "launch.driver",
        ("a driver for rocm", "/dev/kfd"), device="rocm", twin="the-ordered-card",
        look=_application_never_began),
    Fault("torch-for-the-cpu-beside-a-card", _torch_for_the_cpu, "launch.torch_imports",
        ("for CPU in", "TOR-01: torch is a build for the CPU"), others=("launch.device",), device="cuda",
        twin="the-ordered-card",
        look=_application_never_began),
    Fault("torch-that-cannot-be-imported",
        _torch_that("raise ImportError('libcudnn.so.9: cannot open shared object file')"),
        "launch.torch_imports", ("an import of torch", "ImportError: libcudnn.so.9"),
        look=_application_never_began),
    Fault("torch-that-kills-its-process", _torch_that("os.kill(os.getpid(), signal.SIGILL)"),
        "launch.torch_imports", ("an import of torch", "killed by SIGILL"), look=_application_never_began),
    Fault("an-interpreter-that-does-not-exist", _python("/nonexistent/python"), "launch.interpreter",
        ("required /nonexistent/python", "No such file or directory"), twin="an-interpreter-behind-a-link",
        look=_application_never_began),
    Fault("an-interpreter-that-is-not-executable", _text_for_a_python, "launch.interpreter",
        ("Permission denied",), twin="an-interpreter-behind-a-link", look=_application_never_began),
    Fault("an-interpreter-that-is-no-python", _script_for_a_python, "launch.interpreter",
        ("before the first step",), twin="an-interpreter-behind-a-link", look=_application_never_began),
]  # fmt: skip


def _driver_says(number: int, **variables: str) -> Change:
    """cuInit of the driver's library, before any torch."""
    given = {"STUB_CUINIT": str(number), **variables}
    return all_of(cards(ORDERED), lambda bench: bench.environment.update(given))


_DRIVER = [
    Fault(f"the-driver-says-{number}", _driver_says(number, **variables), "launch.driver",
        (f"cuInit gives {number}", f"{entry}: "), device="cuda", twin="the-ordered-card",
        decision=in_a_container if IN_A_CONTAINER else "fix", look=_application_never_began)
    for number, entry, in_a_container, variables in _NUMBERS
]  # fmt: skip

FAULTS = [*_CARDS, *_LADDER, *_DRIVER]

TWINS = [
    Twin("the-ordered-card", cards(ORDERED), device="cuda"),
    Twin("auto-with-the-ordered-card", cards(ORDERED), device="auto"),
    Twin("two-ordered-cards", all_of(cards(ORDERED, ORDERED), _ordered(cards=2)), device="cuda"),
    Twin("an-interpreter-behind-a-link", _linked_python),
]  # fmt: skip
