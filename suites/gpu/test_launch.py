"""Does the application's interpreter reach a computing card at all, and the one that was bought?

A successful import of torch proves no GPU computation; a simple computation validates no extension.
"""

from __future__ import annotations

import re
from typing import Any

from fixtures.evidence.models import Application
from fixtures.evidence.models import Interpreter
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.models import Ran
from fixtures.evidence.models import TorchDevice
from fixtures.evidence.order import Order
from fixtures.evidence.parameters import asks_for_python
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.trial import Trial
from plugins.criteria import check
from plugins.criteria import Claims


def _need(launch: Launch, step: str, claim: Claims) -> None:
    """A rung can only be judged when the rungs below it held."""
    failure = launch.first_failure()
    if failure is not None and failure.name != step:
        names = [one.name for one in launch.steps]
        if step not in names or names.index(failure.name) < names.index(step):
            claim.not_reached(f"launch: {failure.name}", failure.error or failure.status)


def _step(launch: Launch, name: str) -> str:
    """How a rung ended, in words."""
    step = next((one for one in launch.steps if one.name == name), None)
    if step is None:
        return "no trace of this step"
    return "ok" if step.status == "ok" else f"{step.status}: {step.error or 'no word'}"


@check("launch.interpreter", on_failure="fix", change="the interpreter", step="interpreter")
def test_the_interpreter_that_runs_is_the_one_asked_for(launch: Launch, claim: Claims) -> None:
    seen = launch.interpreter
    claim(
        seen is not None and seen.real_path == launch.asked_real_path,
        required=f"{launch.asked_interpreter} ({launch.asked_real_path})",
        found=f"{seen.real_path}, Python {seen.version}, prefix {seen.prefix}"
        if seen
        else _step(launch, "interpreter"),
    )


@check(
    "launch.environment", on_failure="fix", change="the environment of that interpreter", step="environment"
)
def test_the_environment_of_that_interpreter_can_be_listed(launch: Launch, claim: Claims) -> None:
    _need(launch, "environment", claim)
    listed = len(launch.distributions)
    claim(
        _step(launch, "environment") == "ok",
        required="its installed distributions, listed",
        found=f"{listed} distributions" if listed else _step(launch, "environment"),
    )


@check(
    "launch.torch_imports",
    on_failure="fix",
    change="the torch installation of that interpreter",
    step="import",
)
def test_torch_imports_in_that_interpreter(launch: Launch, claim: Claims) -> None:
    _need(launch, "import", claim)
    torch = launch.torch
    build = torch and (f"CUDA {torch.cuda}" if torch.cuda else f"HIP {torch.hip}" if torch.hip else "CPU")
    claim(
        torch is not None and _step(launch, "import") == "ok",
        required="an import of torch without an error",
        found=f"torch {torch.version} for {build} in {torch.file}" if torch else _step(launch, "import"),
        advice=f"install torch for {launch.asked_interpreter}, or name in application.python one that has it",
    )


def _absent(launch: Launch, inventory: Inventory) -> dict[str, Any]:
    """What to say instead when the machine shows no card at all, neither to a library nor on its bus."""
    if launch.asked_device == "cpu" or inventory.cards:
        return {}
    return {
        "decision": "reconfigure",
        "change": "the rented machine: it shows no card",
        "advice": "rent one with a card, or rehearse with --device cpu",
    }


@check(
    "launch.driver",
    on_failure="fix",
    change="the driver, or a torch build for the driver that is there",
    step="driver",
)
def test_the_driver_answers(launch: Launch, inventory: Inventory, claim: Claims) -> None:
    _need(launch, "driver", claim)
    # inside a container the kernel's driver is the host's, and nobody there can change it
    foreign: dict[str, Any] = {"decision": "reconfigure"} if inventory.host.container else {}
    claim(
        _step(launch, "driver") == "ok",
        required=f"a driver for {launch.asked_device}",
        found=f"{_step(launch, 'driver')}; driver {inventory.driver or 'not seen'}, {len(inventory.cards)} cards",
        **(_absent(launch, inventory) or foreign),
    )


@check("launch.device", on_failure="fix", change="what the process can see of the cards", step="device")
def test_the_asked_for_device_exists(launch: Launch, inventory: Inventory, claim: Claims) -> None:
    _need(launch, "device", claim)
    wanted = (launch.asked_device,) if launch.asked_device != "auto" else ("cuda", "rocm")
    names = ", ".join(device.name for device in launch.devices)
    claim(
        launch.device in wanted and _step(launch, "device") == "ok",
        required=" or ".join(wanted),
        found=f"{launch.device}: {names or 'the processor'}" if launch.device else _step(launch, "device"),
        **_absent(launch, inventory),
    )


@check(
    "launch.cards_ordered",
    on_failure="reconfigure",
    change="the delivery: the number of cards",
    step="device",
    scopes=("rental",),
)
def test_there_are_as_many_cards_as_the_order_says(
    launch: Launch, inventory: Inventory, order: Order, claim: Claims
) -> None:
    _need(launch, "compute", claim)  # what torch could not reach is no fault of the delivery
    seen, there = len(launch.devices), len(inventory.cards)
    hidden = there == order.cards != seen
    # a card that only torch sees would be in no parametrised check; one may, where no library answers
    claim(
        seen == order.cards and seen <= max(there, 1),
        required=f"{order.cards} card{'' if order.cards == 1 else 's'}",
        found=f"{seen} in the application's interpreter, {there} on the machine",
        decision="fix" if hidden or seen > order.cards else None,
        change="CUDA_VISIBLE_DEVICES or its like" if hidden else None,
    )


@check(
    "launch.card_model",
    on_failure="reconfigure",
    change="the delivery: the card model",
    step="device",
    scopes=("rental",),
)
def test_every_card_is_the_model_that_was_ordered(launch: Launch, order: Order, claim: Claims) -> None:
    _need(launch, "compute", claim)
    names = [device.name for device in launch.devices]
    if order.card is None:
        claim(
            False,
            required="the model that was ordered, written in the order",
            found=f"no card in the order; on the machine: {', '.join(names)}",
            decision="fix",
            change="config/order.json: write down which card was ordered",
        )
        return
    others = [device.name for device in launch.devices if not _is_model(device, order.card)]
    claim(bool(names) and not others, required=order.card, found=", ".join(names))


#: words of a price list that a card's own name leaves out
_SELLERS_WORDS = {
    "nvidia",
    "amd",
    "instinct",
    "geforce",
    "tesla",
    "gpu",
    "card",
    "sxm",
    "sxm4",
    "sxm5",
    "hbm2e",
    "hbm3",
    "hbm3e",
}
#: the driver and error correction keep some of the memory that is sold
_MEMORY_SLACK = 0.15


def _is_model(device: TorchDevice, ordered: str) -> bool:
    """Whether a card is what the order names: every word of the order in the card's name, sizes by its memory.

    H100 is neither H100X nor H800; an order for SXM is not met by PCIe or NVL.
    """
    name = set(re.findall(r"[a-z0-9]+", device.name.casefold()))
    text = re.sub(r"(\d+)\s*gi?b\b", r"\1gb", ordered.casefold())
    wanted = set(re.findall(r"[a-z0-9]+", text))
    if any(word.startswith("sxm") for word in wanted) and name & {"pcie", "nvl"}:
        return False
    for size in [word for word in wanted if re.fullmatch(r"\d+gb", word)]:
        wanted.discard(size)
        sold = int(size[:-2]) * 10**9
        if device.memory_bytes is None or abs(device.memory_bytes - sold) > _MEMORY_SLACK * sold:
            return False
    return wanted - _SELLERS_WORDS <= name


@check(
    "launch.access",
    on_failure="fix",
    change="the variables named under application.access",
    step="environment",
    needs="access",
)
def test_what_gives_the_application_access_is_set(
    launch: Launch, parameters: Parameters, claim: Claims
) -> None:
    """By name alone: what a variable holds is read by nobody here."""
    names = parameters.application.access
    missing = [name for name in names if not launch.access.get(name, False)]
    claim(
        not missing and bool(names),
        required=f"set: {', '.join(names)}",
        found=f"not set: {', '.join(missing)}" if missing else ", ".join(names),
        advice=f"export {missing[0]}=... in the shell that starts the pilot" if missing else None,
    )


@check("launch.compute", on_failure="fix", change="the torch build, or the card", step="compute")
def test_a_small_computation_agrees_with_float64_on(launch: Launch, device: str, claim: Claims) -> None:
    _need(launch, "compute", claim)
    index = device.removeprefix("card")
    own = {"cpu"} if device == "cpu" else {f"cuda:{index}"}
    done = [one for one in launch.computations if one.device in own]
    wrong = [
        f"{one.operation} in {one.dtype}: {one.error if one.finite else 'not finite'}"
        for one in done
        if not (
            one.finite and one.error is not None and one.error <= one.tolerance and one.reference_norm > 0
        )
    ]
    claim(
        bool(done) and not wrong and _step(launch, "compute") == "ok",
        required="finite, and within " + (f"{done[0].tolerance:g}" if done else "a stated tolerance"),
        found="; ".join(wrong)
        or "; ".join(f"{one.operation}: {one.error:.1e}" for one in done)
        or _step(launch, "compute"),
        decision="reconfigure" if wrong and device != "cpu" else None,
    )


@check(
    "launch.clean_end", on_failure="fix", change="the torch installation of that interpreter", step="compute"
)
def test_the_process_that_computed_ended_by_itself(launch: Launch, claim: Claims) -> None:
    """A crash while the interpreter shuts down loses what an application has not written yet."""
    failure = launch.first_failure()
    if failure is not None:
        claim.not_reached(f"launch: {failure.name}", failure.error or failure.status)
    end = launch.end
    claim(
        end.returncode == 0 and not end.timed_out,
        required="exit 0",
        found=f"killed by {end.signal}"
        if end.signal
        else "no end in time"
        if end.timed_out
        else f"exit {end.returncode}",
    )


@check(
    "launch.application_interpreter", on_failure="fix", change="the interpreter in the application's command"
)
def test_the_application_ran_in_the_interpreter_that_was_examined(
    launch: Launch, application: Application, trial: Trial, claim: Claims
) -> None:
    examined = launch.interpreter
    asked = asks_for_python(trial.record.parameters.application)
    if application.executable is None:
        claim.not_reached(
            "results.ended_by_itself", application.error or "its program file could not be seen"
        )
    others = [ran for ran in application.interpreters if not _is_examined(ran, examined)]
    ran_it = not asked or bool(application.interpreters)
    prefix = examined.prefix if examined else "the interpreter that was examined"
    claim(
        ran_it and not others,
        required=f"{prefix}" if asked else f"no Python but that of {prefix}",
        found=", ".join(sorted({f"{ran.prefix} ({ran.executable})" for ran in application.interpreters}))
        or f"no Python: {str(application.executable).rpartition('/')[2]}",
    )


def _is_examined(ran: Ran, examined: Interpreter | None) -> bool:
    """By the folder of its environment: all those made from one Python have the same program file."""
    if examined is None:
        return False
    own = {examined.prefix}
    if examined.prefix == examined.base_prefix:  # no environment, and PYTHONHOME can name any folder
        own.add(examined.real_path.rpartition("/")[0].rpartition("/")[0])
    return ran.prefix in own
