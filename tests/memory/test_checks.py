"""The checks of memory over made-up evidence: each fault beside its healthy twin."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from fixtures.evidence import account as accounts
from fixtures.evidence.models import Allocator
from fixtures.evidence.models import Application
from fixtures.evidence.models import Begun
from fixtures.evidence.models import CardMemory
from fixtures.evidence.models import Crash
from fixtures.evidence.models import Documents
from fixtures.evidence.models import Launch
from fixtures.evidence.models import Told
from fixtures.evidence.models import TorchDevice
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.parameters import Planned
from fixtures.evidence.trial import NotReached
from plugins.criteria import ClaimFailed
from plugins.criteria import Claims
from plugins.verdict import Claim
from suites.gpu import test_failures as failures
from suites.gpu import test_memory as memory
from suites.gpu import test_results as results
from tests.report import samples

GIB = 1 << 30
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def card(index: int = 0, **other: Any) -> CardMemory:
    usual: dict[str, Any] = {
        "index": index,
        "name": "NVIDIA H200",
        "total_bytes": 100 * GIB,
        "before_bytes": GIB,
        "peak_bytes": 90 * GIB,
        "processes_seen": True,
        "processes_bytes": 89 * GIB,
        "peak_at": 4.0,
    }
    return CardMemory(**{**usual, **other})


def run(*cards: CardMemory, **other: Any) -> Application:
    """A healthy run with these cards; what `other` names is of the application, its memory or what it told."""
    made = samples.application()
    inner = {"limit_bytes": 100 * GIB, "limit_from": "/proc/meminfo", "peak_resident_bytes": 50 * GIB}
    inner |= {"peak_at": 2.0, "cards": list(cards), "cards_unread": None}
    inner |= {key: other.pop(key) for key in list(other) if key in type(made.memory).model_fields}
    told = {key: other.pop(key) for key in list(other) if key in Told.model_fields}
    streams = {key: samples.output(other.pop(key, "") + "\n", f"{key}.txt") for key in ("stdout", "stderr")}
    update = {"memory": made.memory.model_copy(update=inner), "told": Told(**told), **streams, **other}
    return made.model_copy(update=update)


def parameters(**other: Any) -> Parameters:
    return samples.record().parameters.model_copy(update=other)


def said(check: Callable[..., object], *evidence: Any) -> Claim:
    """The one claim of a check."""
    claims: list[Claim] = []
    with contextlib.suppress(ClaimFailed):
        check(*evidence, Claims(claims))
    assert len(claims) == 1
    return claims[0]


def not_reached(check: Callable[..., object], *evidence: Any) -> str:
    with pytest.raises(NotReached) as reason:
        check(*evidence, Claims([]))
    return str(reason.value)


def on_cards(application: Application, launch: Launch | None = None, **other: Any) -> Claim:
    check = memory.test_the_peak_with_its_margin_fits_each_card
    return said(check, application, launch or samples.launch(), parameters(**other))


# -- the cards ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peak", "holds"), [(90, True), (95, True), (95.1, False), (99, False), (100, False), (0, False)]
)
def test_the_peak_of_a_card_is_held_against_its_memory_less_the_margin(peak: float, holds: bool) -> None:
    claim = on_cards(run(card(peak_bytes=int(peak * GIB))))
    assert claim.holds == holds
    assert "at most 95%" in claim.required
    assert "of 100.00 GiB" in claim.found


@pytest.mark.parametrize(
    ("batch_size", "decision", "change"), [(1, "reconfigure", "a card with more memory"), (4, "fix", None)]
)
def test_too_high_a_peak_asks_for_smaller_batches_first(
    batch_size: int, decision: str, change: str | None
) -> None:
    claim = on_cards(run(card(peak_bytes=99 * GIB), batch_size=batch_size))
    assert (claim.holds, claim.decision, claim.change) == (False, decision, change)


def test_what_was_on_the_card_before_is_to_go_where_the_application_alone_would_fit() -> None:
    claim = on_cards(run(card(peak_bytes=99 * GIB, before_bytes=80 * GIB), batch_size=1))
    assert (claim.holds, claim.decision) == (False, "fix")
    assert claim.change == "what was in use on the card before the start"
    assert "80.00 GiB before the start" in claim.found


def test_several_cards_are_never_one_memory() -> None:
    claim = on_cards(run(card(0, peak_bytes=10 * GIB), card(1, peak_bytes=99 * GIB)))
    assert not claim.holds
    assert on_cards(run(card(0), card(1))).holds
    assert "card 0" in claim.found
    assert "card 1 NVIDIA H200: peak 99.00 GiB" in claim.found


def test_a_card_that_the_application_did_not_use_is_said_and_not_judged() -> None:
    idle = card(1, before_bytes=99 * GIB, peak_bytes=99 * GIB, processes_seen=False, processes_bytes=None)
    claim = on_cards(run(card(0), idle))
    assert claim.holds
    assert "card 1 NVIDIA H200: nothing of the application was seen on it" in claim.found


@pytest.mark.parametrize(("visible", "grown_mib", "judged"), [
    (True, 255, False), (True, 256, True), (False, 1, True), (False, 0, False),
])  # fmt: skip
def test_a_full_card_that_grew_a_little_is_not_its_own_where_its_processes_can_be_seen(
    visible: bool, grown_mib: int, judged: bool
) -> None:
    """Somebody else's job on the next card takes a few MiB more meanwhile."""
    own = card(0, processes_seen=visible)
    peak = 99 * GIB + (grown_mib << 20)
    theirs = card(1, before_bytes=99 * GIB, peak_bytes=peak, processes_seen=False, processes_bytes=None)
    claim = on_cards(run(own, theirs))
    assert claim.holds is not judged
    assert ("card 1 NVIDIA H200: nothing of the application" in claim.found) is not judged


def test_where_nothing_was_seen_on_any_card_nothing_is_established() -> None:
    idle = card(peak_bytes=GIB, processes_seen=False, processes_bytes=None)
    check = memory.test_the_peak_with_its_margin_fits_each_card
    assert "nothing of the application" in not_reached(check, run(idle), samples.launch(), parameters())


def test_the_document_at_the_peak_and_what_the_memory_was_for_are_named() -> None:
    begun = [Begun(document=f"doc-{n:02}", at=float(n)) for n in range(1, 9)]
    torch = Allocator(device="cuda:0", peak_allocated_bytes=50 * GIB, peak_reserved_bytes=60 * GIB)
    parts = {"weights": 30 * GIB, "inputs": GIB}
    claim = on_cards(run(card(peak_at=4.5), begun=begun, allocators=[torch], parts=parts, batch_size=1))
    assert "after 4.5 s, at doc-04;" in claim.found
    for words in (
        "weights 30.00 GiB",
        "inputs 1.00 GiB",
        "working 19.00 GiB",
        "60.00 GiB reserved",
        "89.00 GiB its own",
    ):
        assert words in claim.found
    several = on_cards(run(card(peak_at=4.5), begun=begun, batch_size=4))
    assert "at doc-04, up to 4 at a time" in several.found


def unread(**other: Any) -> Application:
    return run(cards_unread="NVML: Driver Not Loaded", **other)


def torch(device: str, gib: float) -> Allocator:
    return Allocator(device=device, peak_allocated_bytes=GIB, peak_reserved_bytes=int(gib * GIB))


def with_memory(*bytes_: int | None) -> Launch:
    return samples.launch(
        devices=[
            TorchDevice(index=n, name="NVIDIA H200", memory_bytes=size, capability="9.0", uuid=None)
            for n, size in enumerate(bytes_)
        ]
    )


@pytest.mark.parametrize(("gib", "holds"), [(90, True), (96, False)])
def test_torchs_own_figures_serve_where_the_cards_cannot_be_read(gib: float, holds: bool) -> None:
    claim = on_cards(unread(allocators=[torch("cuda:0", gib)]), with_memory(100 * GIB))
    assert claim.holds == holds
    assert "Driver Not Loaded" in claim.found


def test_of_two_devices_the_fuller_one_decides_there_too() -> None:
    told = unread(allocators=[torch("cuda:0", 10), torch("cuda:1", 96)])
    assert not on_cards(told, with_memory(100 * GIB, 100 * GIB)).holds
    assert on_cards(told, with_memory(100 * GIB, 200 * GIB)).holds


@pytest.mark.parametrize(
    ("application", "launch", "words"),
    [
        (unread(), with_memory(100 * GIB), "told nothing of its own"),
        (unread(problem="line 2: no JSON"), with_memory(100 * GIB), "(line 2: no JSON)"),
        (unread(allocators=[torch("cuda:0", 90)], problem="line 2: no JSON"), with_memory(100 * GIB), "not all"),
        (unread(allocators=[torch("cuda:0", 1)]), with_memory(None), "is not known"),
        (unread(allocators=[torch("cuda:3", 1)]), with_memory(100 * GIB), "is not known"),
        (run(card(), cards_unread="stopped answering after 3.0 s"), with_memory(100 * GIB), "stopped answering"),
        (run(card(), ended="not_started", error="No such file"), with_memory(100 * GIB), "No such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_known_is_no_pass(application: Application, launch: Launch, words: str) -> None:
    check = memory.test_the_peak_with_its_margin_fits_each_card
    assert words in not_reached(check, application, launch, parameters())


def test_a_peak_that_torch_told_is_too_high_whatever_else_it_told() -> None:
    told = unread(allocators=[torch("cuda:0", 96)], problem="line 2: no JSON")
    assert not on_cards(told, with_memory(100 * GIB)).holds


def test_a_peak_that_was_too_high_before_the_card_stopped_answering_was_too_high() -> None:
    assert not on_cards(run(card(peak_bytes=99 * GIB), cards_unread="stopped answering after 3.0 s")).holds


# -- which device ------------------------------------------------------------------------------------------

HIDDEN = card(processes_seen=False, processes_bytes=None)
JUST, LESS = (HIDDEN.model_copy(update={"peak_bytes": GIB + (mib << 20)}) for mib in (256, 255))
UNTOUCHED = card(peak_bytes=GIB, processes_seen=False, processes_bytes=None)


@pytest.mark.parametrize(
    ("application", "holds", "words"),
    [
        (run(card()), True, "by 91136 MiB, with its process seen there"),
        (run(JUST), True, "by 256 MiB, with no process of it seen there, so that this alone shows it"),
        (run(LESS), False, "by 255 MiB, with no process of it seen there"),
        (run(LESS, LESS), False, "by 510 MiB, with no process of it seen there"),
        (
            run(LESS, allocators=[torch("cuda:0", 80)]),
            True,
            "it states cuda:0; memory of the card grew by 255",
        ),
        (run(UNTOUCHED, allocators=[torch("cuda:0", 80)]), False, "by 0 MiB"),
        (run(HIDDEN, allocators=[torch("xpu:0", 80)]), False, "it states xpu:0"),
    ],
    ids=[
        "seen on the card",
        "hidden, and the card filled up",
        "hidden and mute",
        "two cards that grew a little",
        "hidden, and torch told",
        "torch told of another",
        "elsewhere",
    ],
)
def test_what_torch_told_of_a_device_is_a_statement_and_a_card_that_filled_up_is_a_sign(
    application: Application, holds: bool, words: str
) -> None:
    """A server states nothing, a function's records name no device, and a container may hide the process."""
    account = accounts.take(samples.documents().entries, application.results.lines)
    check = results.test_the_run_used_the_device_it_was_asked_to_use
    claim = said(check, application, account, samples.launch())
    assert claim.holds is holds
    assert words in claim.found
    assert ("alone shows it" in claim.found) == ("alone shows it" in words)


# -- the host ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gib", "batch_size", "holds", "decision"),
    [
        (90, 4, True, None),
        (95, 1, True, None),
        (96, 4, False, "fix"),
        (96, 1, False, "reconfigure"),
        (300, 4, False, "fix"),
    ],
)
def test_the_peak_of_the_host_is_held_against_what_is_allowed(
    gib: int, batch_size: int, holds: bool, decision: str | None
) -> None:
    application = run(
        peak_resident_bytes=gib * GIB, batch_size=batch_size, limit_from="/sys/fs/cgroup/memory.max"
    )
    claim = said(memory.test_the_peak_with_its_margin_fits_the_hosts_memory, application, parameters())
    assert (claim.holds, claim.decision) == (holds, decision)
    assert "/sys/fs/cgroup/memory.max" in claim.required
    assert f"{gib}.00 GiB resident" in claim.found


@pytest.mark.parametrize(
    "nothing", [{"limit_bytes": None}, {"peak_resident_bytes": 0}, {"ended": "not_started"}]
)
def test_a_host_that_was_not_seen_is_no_pass(nothing: dict[str, Any]) -> None:
    check = memory.test_the_peak_with_its_margin_fits_the_hosts_memory
    assert not_reached(check, run(**nothing), parameters())


# -- the longest document ----------------------------------------------------------------------------------


def planning(longest: int, documents: Documents) -> Claim:
    planned = parameters(planned=Planned(documents=50, longest_bytes=longest))
    check = memory.test_the_longest_document_of_the_planned_volume_was_in_the_pilot
    return said(check, documents, planned)


def having(**sizes: int | None) -> Documents:
    """Documents of which some have another size; None: unreadable."""
    made = samples.documents()
    files = []
    for file in made.files:
        size = sizes.get(file.id.replace("-", "_"), file.bytes)
        missing = {"kind": "missing", "sha256": None, "error": "No such file"} if size is None else {}
        files.append(file.model_copy(update={"bytes": size, **missing}))
    return made.model_copy(update={"files": files})


@pytest.mark.parametrize(
    ("documents", "longest", "holds"),
    [
        (having(doc_03=90_000), 90_000, True),
        (having(doc_03=90_000), 90_001, False),
        (having(), 1, True),
        (having(doc_12=90_000), 90_000, False),  # the one that is to be rejected
        (having(doc_03=None), 1800, True),
    ],
)
def test_the_longest_valid_document_is_as_long_as_the_longest_planned(
    documents: Documents, longest: int, holds: bool
) -> None:
    claim = planning(longest, documents)
    assert claim.holds == holds
    assert f"{longest} bytes" in claim.required
    assert ("nothing is covered" in claim.found) != holds


def test_what_is_not_covered_is_said_in_sizes() -> None:
    claim = planning(400_000, having(doc_03=90_000))
    assert (
        claim.found == "the longest is doc-03 with 90000 bytes; from 90001 to 400000 bytes nothing is covered"
    )


def test_without_a_plan_or_a_document_nothing_is_established() -> None:
    check = memory.test_the_longest_document_of_the_planned_volume_was_in_the_pilot
    assert "planned" in not_reached(check, having(), parameters(planned=None))
    gone = samples.documents(files=[])
    assert "no valid document" in not_reached(
        check, gone, parameters(planned=Planned(documents=1, longest_bytes=1))
    )


# -- offloaded ---------------------------------------------------------------------------------------------

WHOLE = {"model.embed": "cuda:0", "model.layers.0": "cuda:0", "lm_head": "cuda:1"}
OFFLOADED: dict[str, dict[str, Any]] = {
    "a part in memory": {"placed": {**WHOLE, "lm_head": "cpu"}},
    "a part on disk": {"placed": {**WHOLE, "lm_head": "disk"}},
    "a part on the meta device": {"placed": {**WHOLE, "lm_head": "meta"}},
    "all of it in memory": {"placed": {"the whole": "cpu"}},
    "transformers' warning": {
        "stderr": "Some parameters are on the meta device because they were offloaded to the cpu and disk."
    },
    "its warning of a quantised model": {
        "stderr": "Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM"
    },
    "accelerate's": {
        "stderr": "Current model requires 5872 bytes of buffer for offloaded layers, which seems"
    },
    "a notice on stdout": {"stdout": "The following layers will be offloaded: model.layers.30"},
    "llama.cpp with layers left": {"stderr": "load_tensors: offloaded 20/33 layers to GPU"},
}
ON_THE_CARD: dict[str, dict[str, Any]] = {
    "every part on a card": {"placed": WHOLE},
    "nothing told": {},
    "nothing told that is understood": {"problem": "line 2: no JSON"},
    "llama.cpp with all layers": {"stderr": "load_tensors: offloaded 33/33 layers to GPU"},
    "a document about ships": {"stdout": "doc-04: the containers will be offloaded at the quay"},
    "an option that is off": {"stderr": "INFO: cpu_offload_gb=0, disk_offload=False"},
}


@pytest.mark.parametrize("name", OFFLOADED)
def test_a_model_that_is_not_wholly_on_the_card_is_found(name: str) -> None:
    claim = said(memory.test_no_part_of_the_model_waits_in_memory_or_on_disk, run(card(), **OFFLOADED[name]))
    assert not claim.holds
    shown = OFFLOADED[name].get("placed", {})
    assert any(word in claim.found for word in [*(f"on {device}" for device in shown.values()), "it printed"])


@pytest.mark.parametrize("name", ON_THE_CARD)
def test_a_model_on_the_card_is_not(name: str) -> None:
    claim = said(
        memory.test_no_part_of_the_model_waits_in_memory_or_on_disk, run(card(), **ON_THE_CARD[name])
    )
    assert claim.holds
    assert ("3 parts" if "placed" in ON_THE_CARD[name] else "told no places") in claim.found
    assert ("(line 2: no JSON)" in claim.found) == ("problem" in ON_THE_CARD[name])


# -- out of memory, in the checks of results and failures -------------------------------------------------


@pytest.mark.parametrize(
    ("application", "decision", "change"),
    [
        (run(returncode=1, stderr=OOM, batch_size=1), "reconfigure", "a card with more memory"),
        (run(returncode=1, stderr=OOM), "fix", "application.batch_size"),
        (run(returncode=137, oom_kills=1, batch_size=1), "reconfigure", "a machine with more memory"),
        (run(returncode=1, stderr="ValueError"), None, None),
    ],
)  # fmt: skip
def test_an_ending_for_want_of_memory_says_what_to_change(
    application: Application, decision: str | None, change: str | None
) -> None:
    claim = said(results.test_the_application_ended_by_itself_with_exit_0, application, parameters())
    assert (claim.holds, claim.decision, claim.change) == (False, decision, change)
    assert ("out of memory" in claim.found) == (decision is not None)


def test_an_application_that_ended_well_had_memory_enough() -> None:
    claim = said(results.test_the_application_ended_by_itself_with_exit_0, run(stderr=OOM), parameters())
    assert (claim.holds, claim.decision, claim.change) == (True, None, None)


@pytest.mark.parametrize(
    ("how", "decision"), [("HTTP 500: " + OOM, "reconfigure"), ("killed by SIGSEGV", None)]
)
def test_a_document_that_brought_the_application_down_is_named_with_how(
    how: str, decision: str | None
) -> None:
    application = run(crashes=[Crash(document="doc-03", how=how)], batch_size=1)
    claim = said(results.test_no_document_brought_the_application_down, application)
    assert (claim.holds, claim.documents, claim.decision) == (False, ["doc-03"], decision)
    assert f"doc-03: {how}" in claim.found


def test_an_application_that_no_document_brought_down_passes_and_one_that_never_ran_does_not() -> None:
    check = results.test_no_document_brought_the_application_down
    assert said(check, run()).holds
    assert not_reached(check, run(ended="not_started", error="Permission denied"))


@pytest.mark.parametrize(
    ("reason", "decision", "change"),
    [
        (OOM, "fix", "application.batch_size"),
        ("the tokenizer has no vocabulary", None, None),
    ],
)
def test_a_valid_document_rejected_for_want_of_memory_says_what_to_change(
    reason: str, decision: str | None, change: str | None
) -> None:
    records = [
        *samples.answers(without=("doc-02",)),
        {"id": "doc-02", "status": "rejected", "reason": reason},
    ]
    account = accounts.take(samples.documents().entries, samples.lines(records))
    claim = said(failures.test_every_valid_document_was_accepted, run(), account)
    assert (claim.holds, claim.documents) == (False, ["doc-02"])
    assert (claim.decision, claim.change) == (decision, change)
