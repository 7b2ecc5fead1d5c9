"""Does the application's interpreter reach a computing card at all, and the one that was bought?

A successful import of torch proves no GPU computation; a simple computation validates no extension.
"""

from __future__ import annotations

from typing import Any

from fixtures.evidence.models import Application
from fixtures.evidence.models import Interpreter
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.models import Ran
from fixtures.evidence.parameters import asks_for_python
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.rules import counted
from fixtures.evidence.rules import need_rung
from fixtures.evidence.rules import rung
from fixtures.evidence.trial import Trial
from plugins.catalogue.diagnosis import Diagnosis
from plugins.criteria import check
from plugins.criteria import Claims


@check("launch.interpreter", on_failure="fix", change="the interpreter", step="interpreter")
def test_the_interpreter_that_runs_is_the_one_asked_for(
    launch: Launch, machine: Diagnosis, claim: Claims
) -> None:
    seen = launch.interpreter
    asked_for = seen is not None and seen.real_path == launch.asked_real_path
    claim(
        asked_for,
        required=f"{launch.asked_interpreter} ({launch.asked_real_path})",
        found=f"{seen.real_path}, Python {seen.version}, prefix {seen.prefix}"
        if seen
        else rung(launch, "interpreter"),
        faults=machine.known("launch.interpreter", "interpreter", holds=asked_for),
    )


@check(
    "launch.environment", on_failure="fix", change="the environment of that interpreter", step="environment"
)
def test_the_environment_of_that_interpreter_can_be_listed(
    launch: Launch, machine: Diagnosis, claim: Claims
) -> None:
    need_rung(launch, "environment")
    listed = len(launch.distributions)
    claim(
        rung(launch, "environment") == "ok",
        required="its installed distributions, listed",
        found=f"{listed} distributions" if listed else rung(launch, "environment"),
        faults=machine.of("launch.environment"),
    )


@check(
    "launch.requirements",
    on_failure="fix",
    change="the packages of the application's environment",
    step="environment",
    needs="requirements",
)
def test_the_environment_is_the_one_that_was_written_down(launch: Launch, claim: Claims) -> None:
    need_rung(launch, "environment")
    held = launch.requirements
    if held is None:
        claim.not_reached("launch: environment", "it was not held against the file of exact versions")
    wrong = [held.problem] if held.problem else []
    wrong += [f"{name}: wanted {wanted}, found nothing" for name, wanted in held.missing.items()]
    wrong += [f"{name}: {how}" for name, how in held.other.items()]
    claim(
        not wrong,
        required=f"the versions of {held.file}",
        found="; ".join(wrong) or f"these, and {len(held.extra)} packages that it does not name",
        change="application.requirements: the file that it names" if held.problem else None,
        advice=f"pip install -r {held.file} with the application's interpreter"
        if wrong and not held.problem
        else None,
    )


@check(
    "launch.torch_imports",
    on_failure="fix",
    change="the torch installation of that interpreter",
    step="import",
)
def test_torch_imports_in_that_interpreter(launch: Launch, machine: Diagnosis, claim: Claims) -> None:
    need_rung(launch, "import")
    torch = launch.torch
    build = torch and (f"CUDA {torch.cuda}" if torch.cuda else f"HIP {torch.hip}" if torch.hip else "CPU")
    imported = torch is not None and rung(launch, "import") == "ok"
    faults = machine.known("launch.torch_imports", "import", holds=imported)
    claim(
        imported,
        required="an import of torch without an error",
        found=f"torch {torch.version} for {build} in {torch.file}" if torch else rung(launch, "import"),
        advice=None
        if faults
        else _without(launch)
        or f"install torch for {launch.asked_interpreter}, or name in application.python one that has it",
        faults=faults,
    )


def _without(launch: Launch) -> str | None:
    """What to do where torch imports as soon as some variables are not set."""
    freed = [one.without for one in launch.retried if one.step == "import" and one.error is None]
    return (
        f"it imports without {' and '.join(freed[0])}: unset it, or take out what comes first there"
        if freed
        else None
    )


def _absent(launch: Launch, inventory: Inventory) -> dict[str, Any]:
    """What to say instead when the machine shows no card at all: to no library, on no bus, and to no witness."""
    if launch.asked_device == "cpu" or inventory.cards or any(state.name for state in launch.states):
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
def test_the_driver_answers(launch: Launch, inventory: Inventory, machine: Diagnosis, claim: Claims) -> None:
    need_rung(launch, "driver")
    answers = rung(launch, "driver") == "ok"
    faults = machine.known("launch.driver", "driver", holds=answers)
    cards = counted(len(inventory.cards), "card")
    claim(
        answers,
        required=f"a driver for {launch.asked_device}",
        found=f"{rung(launch, 'driver')}; driver {inventory.driver or 'not seen'}, {cards}",
        faults=faults,
        **_absent(launch, inventory),
    )


@check("launch.device", on_failure="fix", change="what the process can see of the cards", step="device")
def test_the_asked_for_device_exists(
    launch: Launch, inventory: Inventory, machine: Diagnosis, claim: Claims
) -> None:
    need_rung(launch, "device")
    wanted = (launch.asked_device,) if launch.asked_device != "auto" else ("cuda", "rocm")
    names = ", ".join(device.name for device in launch.devices)
    there = launch.device in wanted and rung(launch, "device") == "ok"
    claim(
        there,
        required=" or ".join(wanted),
        found=f"{launch.device}: {names or 'the processor'}" if launch.device else rung(launch, "device"),
        faults=machine.known("launch.device", "device", holds=there),
        **_absent(launch, inventory),
    )


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


@check(
    "launch.clean_end", on_failure="fix", change="the torch installation of that interpreter", step="compute"
)
def test_the_process_that_computed_ended_by_itself(launch: Launch, claim: Claims) -> None:
    """A crash while the interpreter shuts down loses what an application has not written yet."""
    need_rung(launch, "compute")
    failure = launch.first_failure()
    if failure is not None:
        claim.not_reached(f"launch: {failure.name}", failure.error or failure.status)
    end = launch.end
    # the probe says with 1 that a step beside these went wrong, an extension's for instance
    usual = 0 if all(step.status == "ok" for step in launch.steps) else 1
    claim(
        end.returncode == usual and not end.timed_out,
        required="an end by itself",
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


@check(
    "launch.extensions",
    on_failure="fix",
    change="the extensions that the application needs",
    step="extensions",
    needs="extensions",
)
def test_every_extension_that_the_application_needs_does_its_work(
    launch: Launch, parameters: Parameters, machine: Diagnosis, claim: Claims
) -> None:
    """An import proves no kernel: each does one real operation on the card."""
    need_rung(launch, "extensions")
    wanted = [one.module for one in parameters.application.extensions]
    wrong = []
    for name in dict.fromkeys(wanted):
        tried = [one for one in launch.extensions if one.name == name]
        if len(tried) < wanted.count(name):  # it may be asked for with several snippets
            wrong.append(f"{name}: never tried")
        for one in tried:
            undone = not one.imported or (one.operation is not None and not one.ran)
            if undone or one.error or one.ended:
                what = (one.operation or "after its import") if one.imported else "import"
                wrong.append(f"{name}: {what}: {one.ended or one.error or 'no word'}")
    done = (
        f"{one.name} {one.version or ''}".strip() + f": {one.operation or 'imported'}"
        for one in launch.extensions
    )
    claim(
        bool(wanted) and not wrong,
        required=", ".join(wanted),
        found="; ".join(wrong) or "; ".join(done),
        faults=machine.known("launch.extensions", "extensions", holds=not wrong),
    )


@check("launch.host", on_failure="fix", change="what the machine gives the application", step="host")
def test_the_machine_gives_the_application_what_it_needs(
    launch: Launch, machine: Diagnosis, claim: Claims
) -> None:
    """Memory, shared memory, open files, places to write, locale, clock and the health of the cards."""
    need_rung(launch, "host")
    host, observed = launch.host, rung(launch, "host")
    if host is None:
        claim.not_reached("launch: host", "nothing was seen of it" if observed == "ok" else observed)
    if observed == "ok" and not host.places:
        claim.not_reached("launch: host", "no place that will be written was looked at")
    faults = machine.of("launch.host")
    # a cache that cannot be written may be one that is only read
    unwritable = [
        f"{place.role} {place.path}: " + ("no such folder" if place.errno is None else f"errno {place.errno}")
        for place in host.places
        if (place.errno is not None and place.role in ("output", "copy", "TMPDIR"))
        # Python takes another folder in silence, and other programs fail
        or (place.role == "TMPDIR" and not place.exists)
    ]
    claim(
        observed == "ok" and not unwritable,
        required="room to write at every place, memory, open files, and cards in health",
        found=(observed if observed != "ok" else "; ".join(unwritable[:4]))
        or f"{len(host.places)} places looked at",
        faults=faults,
    )
