"""What was read, as the evidence that the catalogue judges. What no text says stays unknown, and no step is invented.

All texts are taken to be of one machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import Literal

from fixtures.evidence.ladder import CardState
from fixtures.evidence.ladder import Driver
from fixtures.evidence.ladder import HostSeen
from fixtures.evidence.ladder import KernelLog
from fixtures.evidence.ladder import Said
from fixtures.evidence.models import Card
from fixtures.evidence.models import Host
from fixtures.evidence.models import Interpreter
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.models import ProcessEnd
from fixtures.evidence.models import Step
from fixtures.evidence.models import StepName
from fixtures.evidence.models import STEPS
from fixtures.evidence.models import Torch
from fixtures.evidence.models import TorchDevice
from fixtures.readings import collect_env
from fixtures.readings import errors
from fixtures.readings import kernel_log
from fixtures.readings.reading import Reading
from plugins.catalogue import Seen

Place = Literal["root", "container"]
AMD = ("rocminfo", "rocm-smi", "amd-smi")
NOT_AVAILABLE = "torch.cuda.is_available() gives False"


def seen(readings: Sequence[Reading], place: Place | None = None) -> Seen:
    """The machine that they speak of. `place` is where it was seen, where that is known."""
    return Seen(_inventory(readings, place), _launch(readings, place))


def is_warning(said: Said) -> bool:
    """Whether it is shown to the catalogue only, and is no error by itself."""
    return said.source == errors.WARNING


def vendors(readings: Sequence[Reading]) -> set[str]:
    """nvidia, amd: of whose cards anything speaks."""
    found: set[str] = {_vendor(state, reading) for reading in readings for state in reading.states}
    for reading in readings:
        built = reading.torch
        found |= {"nvidia"} if built.get("cuda") or "nvidia" in reading.modules else set()
        found |= {"amd"} if built.get("hip") or "amdgpu" in reading.modules else set()
        found |= {"amd"} if reading.kind in AMD else set()
        found |= {"nvidia"} if reading.kind.startswith("nvidia-smi") else set()
        for said in reading.said:
            text = said.text.lower()
            found |= (
                {"amd"}
                if any(word in text for word in ("/dev/kfd", "hip error", "rocm", "amdgpu"))
                else set()
            )
            found |= {"nvidia"} if any(word in text for word in ("cuda error", "nvidia", "nvml")) else set()
    return found


# -- the inventory ----------------------------------------------------------------------------------------


def _inventory(readings: Sequence[Reading], place: Place | None) -> Inventory:
    return Inventory(
        cards=_cards(readings),
        driver=_first(reading.driver_version for reading in readings),
        witnesses=[],
        host=Host(
            system="unknown",
            kernel=_first(reading.host.get("kernel") for reading in readings) or "unknown",
            machine="unknown",
            cpus=None,
            memory_bytes=None,
            boot_id=None,
            container="container" if place == "container" else None,
        ),
    )


def _cards(readings: Sequence[Reading]) -> list[Card]:
    """One for each number; a fact of the first source that has it."""
    found: dict[int, dict[str, Any]] = {}
    for state, reading in [(state, one) for one in readings for state in one.states]:
        if state.index is None:
            continue
        card = found.setdefault(state.index, {"vendor": _vendor(state, reading), "source": state.source})
        for field in ("name", "uuid", "pci", "memory_bytes"):
            if card.get(field) is None:
                card[field] = getattr(state, field)
    return [Card(index=index, **card) for index, card in sorted(found.items())]


def _vendor(state: CardState, reading: Reading) -> Literal["nvidia", "amd"]:
    """collect_env lists NVIDIA's cards by nvidia-smi; with a torch for ROCm it asks that."""
    amd = (
        state.source in AMD or (state.architecture or "").startswith("gfx") or bool(reading.torch.get("hip"))
    )
    return "amd" if amd else "nvidia"


# -- the launch -------------------------------------------------------------------------------------------


def _launch(readings: Sequence[Reading], place: Place | None) -> Launch:
    torch = _torch(readings)
    available = _last(reading.available for reading in readings)
    said = _said(readings, available)
    variables = _merged(reading.variables for reading in readings)
    return Launch(
        asked_interpreter="",
        asked_real_path="",
        asked_device="auto",
        device="cuda" if torch and torch.cuda else "rocm" if torch and torch.hip else None,
        steps=_steps(readings, said, torch, available),
        interpreter=_interpreter(readings),
        distributions=_merged(reading.distributions for reading in reversed(readings)),
        torch=torch,
        devices=[TorchDevice(**{**_NO_DEVICE, **one}) for reading in readings for one in reading.devices],
        computations=[],
        end=ProcessEnd(returncode=None, signal=None, timed_out=False, seconds=0.0, stderr_tail=""),
        cuda_driver=_first(reading.cuda_driver for reading in readings),
        variables=variables or None,
        driver=_driver(readings),
        states=[state for reading in readings for state in reading.states],
        said=said,
        host=_host(readings, place),
    )


_NO_DEVICE: dict[str, Any] = {"memory_bytes": None, "capability": None, "uuid": None}


def _torch(readings: Sequence[Reading]) -> Torch | None:
    """None where it is not known what it was built for: that would look as if it were for the CPU alone."""
    for reading in readings:
        if "hip" in reading.torch:
            return Torch(**{"file": "", "git": None, **reading.torch})
    version = _first(reading.distributions.get("torch") for reading in readings)
    built = collect_env.build_of(version) if version else None
    if version is None or built is None:
        return None
    return Torch(version=version, file="", git=None, cuda=built["cuda"], hip=built["hip"])


def _interpreter(readings: Sequence[Reading]) -> Interpreter | None:
    found = _merged(reading.interpreter for reading in readings)
    if not found:
        return None
    unknown = dict.fromkeys(("executable", "real_path", "prefix", "base_prefix"), "")
    return Interpreter(**{**unknown, "implementation": "unknown", **found})


def _driver(readings: Sequence[Reading]) -> Driver | None:
    modules = _merged(reading.modules for reading in readings)
    pci = [one for reading in readings for one in reading.pci]
    nodes = [one for reading in readings for one in reading.nodes]
    version = _first(reading.driver_version for reading in readings)
    if not (modules or pci or nodes or version):
        return None
    loaded = next((modules[name] for name in ("nvidia", "amdgpu") if modules.get(name)), None)
    return Driver(pci=pci or None, modules=modules or None, nodes=nodes, module_version=loaded or version)


def _host(readings: Sequence[Reading], place: Place | None) -> HostSeen | None:
    facts = _merged(reading.host for reading in readings)
    logs = [reading for reading in readings if reading.kind == kernel_log.KIND]
    if logs:
        facts["kernel_log"] = KernelLog(error=None, events=[one for log in logs for one in log.events])
    if place == "container":
        facts["container"] = "container"
    if place == "root":
        facts["root"] = True
    return HostSeen(**facts) if facts else None


def _said(readings: Sequence[Reading], available: bool | None) -> list[Said]:
    """In the order of the ladder; what a parser of its own has read is not repeated as a line of a log."""
    own = [one for reading in readings if reading.kind != errors.KIND for one in reading.said]
    general = [one for reading in readings if reading.kind == errors.KIND for one in reading.said]
    known = [_flat(one.text) for one in own]
    known += [_flat(event.text) for reading in readings for event in reading.events]
    found = list({_flat(one.text): one for one in reversed(own)}.values())[::-1]
    for one in general:
        flat = _flat(one.text)
        if not any(flat in other or other in flat for other in known):
            known.append(flat)
            found.append(one)
    if available is False and not any(
        one.step in ("import", "device") and not is_warning(one) for one in found
    ):
        found.append(Said(step="device", source="torch", text=NOT_AVAILABLE))
    return sorted(found, key=lambda one: STEPS.index(one.step) if one.step in STEPS else len(STEPS))


def _steps(
    readings: Sequence[Reading], said: Sequence[Said], torch: Torch | None, available: bool | None
) -> list[Step]:
    """Those of which anything is known: ok where a text shows it, failed where an error was said there."""
    shown: set[StepName] = set()
    if any(reading.interpreter for reading in readings):
        shown.add("interpreter")
    if any("version" in reading.torch for reading in readings):
        shown.add("import")
    if available:
        shown |= {"driver", "import", "device"}
    found = []
    for name in STEPS:
        first = next((one for one in said if one.step == name and not is_warning(one)), None)
        if first:
            status: Literal["crashed", "failed"] = "crashed" if first.number_of == "signal" else "failed"
            found.append(Step(name=name, status=status, seconds=0.0, error=first.text))
        elif name in shown:
            found.append(Step(name=name, status="ok", seconds=0.0))
    return found


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def _first(values: Iterable[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def _last(values: Iterable[Any]) -> Any:
    return next((value for value in reversed(list(values)) if value is not None), None)


def _merged(many: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Of a name that is there twice the last."""
    return {name: value for one in many for name, value in one.items()}
