"""ORD, DRV, TOR, ROC at the edges: old and new words of one fault, numbers, and the healthy twin beside each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.order import Order
from plugins.catalogue import Seen
from plugins.catalogue.signatures import cuda_error
from tests.catalogue.patched import evidence
from tests.catalogue.patched import failing
from tests.catalogue.patched import machine
from tests.catalogue.patched import named
from tests.catalogue.patched import Patch
from tests.catalogue.patched import recorded
from tests.catalogue.patched import saying
from tests.catalogue.patched import states

#: a launch whose torch sees nothing
NOTHING: Patch = {"device": None, "devices": [], "computations": [], "transfers": [], "second": []}


def ordering(seen: Seen, **order: Any) -> Seen:
    healthy = recorded("h100-sxm", "root").order
    return Seen(seen.inventory, seen.launch, Order.model_validate_json(json.dumps(healthy | order)))


@pytest.mark.parametrize(
    ("text", "id"),
    [
        # old and new words, other cases, other spacing
        ("Error 802: system not yet initialized", "DRV-02"),
        (
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error  802:  System Not Yet Initialized",
            "DRV-02",
        ),
        ("cuInit gives 802 CUDA_ERROR_SYSTEM_NOT_READY", "DRV-02"),
        ("Error 803: system has unsupported display driver / cuda driver combination", "DRV-03"),
        ("cuda error: 803", "DRV-03"),
        ("Error 804: forward compatibility was attempted on non supported HW", "DRV-04"),
        ("forward compatibility was attempted on non supported\n hardware", "DRV-04"),
        ("Failed to initialize NVML: Driver/library version mismatch", "DRV-05"),
        ("nvmlInit: Driver / Library Version Mismatch (NVML 18)", "DRV-05"),
        ("Failed to initialize NVML: Unknown Error", "DRV-06"),
        ("The NVIDIA driver on your system is too old (found version 12040)", "DRV-01"),
        ("CUDA driver version is insufficient for CUDA runtime version", "DRV-01"),
        ("CUDA error 35", "DRV-01"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "DRV-10"),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", "DRV-09"),
        ("AssertionError: libcuda.so cannot found!", "DRV-09"),
        ("No devices were found", "ORD-03"),
        ("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8", "ORD-07"),
        ("unsatisfied condition: CUDA >= 12.8, please update your driver", "ORD-07"),
        ('could not select device driver "" with capabilities: [[gpu]]', "DRV-08"),
        ("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable", "DRV-12"),
        ("RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable", "DRV-12"),
        ("Cannot re-initialize CUDA in forked subprocess", "DRV-13"),
        ("AssertionError: Torch not compiled with CUDA enabled", "TOR-01"),
        ("Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9}", "TOR-05"),
        ("Could not load library libcudnn_cnn_infer.so.8. Error: libnvrtc.so", "TOR-05"),
        ("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", "TOR-06"),
        ("libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by x.so)", "TOR-07"),
        (
            "libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /v/torch/lib/libtorch_python.so)",
            "TOR-07-TORCH",
        ),
        ("nvidia-container-cli: initialization error: nvml error: driver not loaded", "DRV-10"),
        ("Failed to initialize NVML: could not load NVML library.", "DRV-09"),
        (
            "nv-fabricmanager[1]: fabric manager NVIDIA GPU driver interface version 530.30.02 don't match",
            "DRV-02",
        ),
        ("A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.0", "TOR-08"),
        ("CUDA error: device-side assert triggered", "TOR-10"),
        ("Unable to open /dev/kfd read-write: No such file or directory", "ROC-01"),
        ("Unable to open /dev/kfd read-write: Permission denied", "ROC-02"),
        ("Unable to open /dev/kfd read-write: Invalid argument", "ROC-03"),
    ],
)
def test_a_text_that_people_paste_names_its_fault(text: str, id: str) -> None:
    assert named(machine(launch=saying(text))) == [id]


@pytest.mark.parametrize(
    "text",
    [
        "forward compatibility (cuda-compat) libraries are installed and not used",
        "UserWarning: NVML 802 MiB reserved",
        "took 803 ms",
        "the run ended with status 35",
        "driver version 550.90.07 is compatible",
        "Successfully opened /dev/kfd",
        "loaded library libcudnn_ops.so.9",
        "libstdc++.so.6: version `GLIBCXX_3.4.30' found",
        "version 12.4 not found on the mirror, using 12.4.1",
        "torch compiled with CUDA enabled",
        "process forked; CUDA was initialized in the child",
        "no devices were found to be unhealthy",
    ],
)
def test_like_words_on_a_healthy_machine_name_none(text: str) -> None:
    assert named(machine(launch=saying(text))) == []


def cuda(code: int, nodes: Any = None, nvml: Patch | None = None) -> Patch:
    """A driver whose cuInit gives `code`; `nvml` is what its library gives then."""
    driver: Patch = {"cuda": {"code": code, "name": None, "count": None}, "nvml": nvml or {}}
    return {**NOTHING, "driver": driver | ({"nodes": nodes} if nodes is not None else {})}


def nodes(base: str = "h100-sxm", **errnos: int | None) -> list[Patch]:
    """The nodes of a healthy machine, some of which cannot be opened."""
    found: list[Patch] = evidence(base, "launch", "driver", "nodes")
    return [one | {"errno": errnos.get(one["path"].rpartition("/")[2].replace("-", "_"))} for one in found]


@pytest.mark.parametrize(
    ("code", "id"), [(35, "DRV-01"), (46, "DRV-12"), (802, "DRV-02"), (803, "DRV-03"), (804, "DRV-04")]
)
def test_a_number_of_cuda_alone_names_its_fault(code: int, id: str) -> None:
    assert named(machine(launch=cuda(code))) == [id]


@pytest.mark.parametrize("code", [2, 100, 101, 304, 999])
def test_a_number_that_has_many_causes_names_none_by_itself(code: int) -> None:
    assert named(machine(launch=cuda(code))) == []


def test_an_unknown_error_is_uvm_only_where_uvm_is_missing() -> None:
    assert named(machine(launch=cuda(999, nodes(nvidia_uvm=2)))) == ["DRV-07"]
    assert named(machine(launch=cuda(999, nodes(nvidia_uvm=13)))) == ["DRV-07"]
    assert named(machine(launch=cuda(999, nodes(nvidia_uvm=1)))) == ["DRV-06"]  # forbidden by the container
    assert named(machine(launch=cuda(999, nvml={"code": 999, "name": "Unknown Error"}))) == ["DRV-06"]
    assert named(machine(launch=cuda(0, nodes(nvidia_uvm=2)))) == []  # made when it is first used


def test_an_803_is_the_host_s_where_nvml_is_of_another_version_too() -> None:
    assert named(machine(launch=cuda(803, nvml={"code": 18}))) == ["DRV-05"]
    assert named(machine(launch=cuda(803, nvml={"code": 0}))) == ["DRV-03"]
    two = {"driver": {"module_version": "550.90.07", "library_version": "550.120", "nvml": {"code": 18}}}
    assert named(machine(launch=two)) == ["DRV-05"]
    # the name of a library that nothing asked, beside an NVML that answers
    assert (
        named(machine(launch={"driver": {"module_version": "550.90.07", "library_version": "550.120"}})) == []
    )


def test_a_compute_mode_that_lets_one_process_in() -> None:
    for mode in ("Exclusive_Process", "E. Process", "Exclusive Process", "Prohibited", "EXCLUSIVE_PROCESS"):
        assert named(machine(**states("h100-sxm", compute_mode=mode))) == ["DRV-12"], mode
    for mode in ("Default", "default", None):
        assert named(machine(**states("h100-sxm", compute_mode=mode))) == [], mode


def test_a_busy_card_without_a_licence_is_no_compute_mode() -> None:
    busy = saying(
        "CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        "compute",
        number=46,
        number_of="cuda",
    )
    unlicensed = states("h100-sxm", virtual="VGPU", licence="Unlicensed (Restricted)")
    assert named(machine(launch=unlicensed["launch"] | busy, inventory=unlicensed["inventory"])) == ["ORD-06"]
    unread = states("h100-sxm", virtual="VGPU", licence=None)
    assert named(machine(launch=unread["launch"] | busy, inventory=unread["inventory"])) == ["ORD-06"]
    licensed = states("h100-sxm", virtual="VGPU", licence="Licensed (Expiry: 2026-12-31 0:0:0 GMT)")
    assert named(machine(**licensed)) == []
    passed_through = states("h100-sxm", virtual="Pass-Through")
    assert named(machine(launch=passed_through["launch"] | busy, inventory=passed_through["inventory"])) == [
        "DRV-12"
    ]


@pytest.mark.parametrize(
    ("value", "hides"),
    [
        ("", True),
        ("  ", True),
        ("-1", True),
        ("1", True),
        ("3,0", True),
        ("GPU-00000000-0000", True),
        ("0,0", True),
        ("0", False),
        ("GPU-14ddc0f6", False),  # a beginning is enough
        ("MIG-4bd1ae4c-36ff-5b3a-9d8e-1c2f6a7b8c90", False),  # nothing is known of slices here
    ],
)
def test_a_list_of_cards_that_hides_them(value: str, hides: bool) -> None:
    launch = cuda(100) | {"variables": {"CUDA_VISIBLE_DEVICES": value}}
    assert named(machine(launch=launch)) == (["DRV-11"] if hides else [])
    healthy = machine(launch={"variables": {"CUDA_VISIBLE_DEVICES": value}})
    assert named(healthy) == [], "torch sees every card all the same"


def test_a_list_whose_value_is_not_shown_is_known_by_what_torch_sees_without_it() -> None:
    retried = {"step": "device", "without": ["CUDA_VISIBLE_DEVICES"], "error": None, "count": 1}
    variables = {"CUDA_VISIBLE_DEVICES": None}
    assert named(machine(launch=cuda(100) | {"variables": variables, "retried": [retried]})) == ["DRV-11"]
    # NVML counts the card whatever CUDA says, so that this proves nothing
    assert named(
        machine(launch=cuda(802) | {"variables": {"CUDA_VISIBLE_DEVICES": "0"}, "retried": [retried]})
    ) == ["DRV-02"]
    assert named(machine(launch=cuda(100) | {"variables": variables})) == []


def test_a_driver_of_the_same_major_release_is_new_enough() -> None:
    def served(driver: str | None, built: str, **more: Any) -> Patch:
        return {"cuda_driver": driver, "torch": {"cuda": built}} | more

    assert named(machine(launch=served("12.2", "12.8"))) == []
    assert named(machine(launch=served("12.2", "12.8", **NOTHING))) == []
    assert named(machine(launch=served("12.8", "13.0", **NOTHING))) == ["DRV-01"]
    assert named(machine(launch=served(None, "13.0", **NOTHING))) == []
    # torch computes: whatever the header of nvidia-smi says, something makes it possible
    assert named(machine(launch=served("12.8", "13.0"))) == []


def test_a_card_that_another_module_drives() -> None:
    pci = evidence("rtx-4090", "launch", "driver", "pci")
    for module in ("nouveau", None, "vfio-pci"):
        launch = cuda(100) | {
            "driver": {"pci": [pci[0] | {"module": module}], "cuda": {"code": 100, "count": None}}
        }
        assert named(machine("rtx-4090", launch=launch)) == ["DRV-10"], module
    # beside the card of this container the host lends another one to a virtual machine
    neighbour = pci[0] | {"address": "0000:02:00.0", "module": "vfio-pci"}
    assert named(machine("rtx-4090", "container", launch={"driver": {"pci": [*pci, neighbour]}})) == []
    sound = pci[0] | {"address": "0000:01:00.1", "class": "0x040300", "module": "snd_hda_intel"}
    assert named(machine("rtx-4090", launch={"driver": {"pci": [*pci, sound]}})) == []


def test_leftovers_of_nvidia_beside_a_card_of_amd() -> None:
    pci = evidence("mi300x", "launch", "driver", "pci")
    screen = {
        "address": "0000:01:00.0",
        "vendor": "0x10de",
        "device": "0x1cb1",
        "class": "0x030000",
        "module": "nouveau",
    }
    assert named(machine("mi300x", launch={"driver": {"pci": [*pci, screen]}})) == []
    assert named(machine("mi300x", launch={"driver": {"pci": [*pci, screen]}, "asked_device": "auto"})) == []
    libraries = {
        "library_version": "550.120",
        "nvml": {"error": None, "code": 9, "name": "Driver Not Loaded"},
    }
    assert named(machine("mi300x", launch={"driver": libraries})) == []


def test_a_library_that_is_missing_beside_a_card_that_is_there() -> None:
    missing = {
        "error": "libcuda.so.1: cannot open shared object file: No such file or directory",
        "code": None,
    }
    unfit = {"error": "libcuda.so.1: invalid ELF header", "code": None}

    def library(error: Patch, found: list[Patch]) -> Patch:
        return {"driver": {"cuda": error | {"name": None, "count": None}, "nodes": found}} | NOTHING

    assert named(machine(launch=library(missing, nodes()))) == ["DRV-09"]
    assert named(machine(launch=library(unfit, nodes()))) == []
    assert (
        named(machine(launch=library(missing, nodes(nvidiactl=13)))) == []
    )  # what cannot be used is another fault


def test_what_is_wrong_with_a_card_is_nothing_to_the_processor() -> None:
    launch = cuda(802) | {"asked_device": "cpu", "device": "cpu", "variables": {"CUDA_VISIBLE_DEVICES": ""}}
    assert named(machine(launch=launch)) == []
    empty = {"driver": {"pci": []}, "asked_device": "cpu", "device": "cpu"} | {"devices": []}
    assert named(machine(launch=empty, inventory={"cards": []})) == []


def test_a_card_that_fell_off_is_not_one_that_never_came() -> None:
    driver = {"pci": [], "cuda": {"code": 100, "count": None}, "nvml": {"count": 0}}
    none = {**NOTHING, "driver": driver, "states": []}
    unlisted: Patch = {"cards": [], "states": []}
    assert named(machine(launch=none, inventory=unlisted)) == ["ORD-03"]
    event = {
        "kind": "fell_off",
        "number": 79,
        "pci": "0000:53:00",
        "text": "NVRM: GPU has fallen off the bus.",
    }
    log = {"kernel_log": {"error": None, "events": [event]}}
    assert "ORD-03" not in named(machine(launch=none, inventory=unlisted | log))


# -- the order ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "ids"),
    [
        ("H100 SXM", []),
        ("H100", []),
        ("H100 PCIe", ["ORD-01"]),
        ("H100 NVL", ["ORD-01"]),
        ("H100 80GB", []),
        ("A100", []),  # another model: the check of the model says so by itself
        (None, []),
    ],
)
def test_the_variant_is_held_against_the_order(card: str | None, ids: list[str]) -> None:
    assert named(ordering(machine(), card=card)) == ids


def test_without_an_order_nothing_is_held_against_one() -> None:
    seen = machine()
    bare = Seen(seen.inventory, seen.launch)
    assert named(bare) == []


def test_less_memory_than_was_ordered_on_one_card() -> None:
    device = evidence("h100-sxm", "launch", "devices")[0]
    small = machine(launch={"devices": [device | {"memory_bytes": 64 << 30}]})
    assert named(small) == ["ORD-02"]
    assert named(machine(launch={"devices": [device | {"memory_bytes": 74 << 30}]})) == []  # within 8 %
    assert named(machine(launch={"devices": [device | {"memory_bytes": None}]})) == []


def test_cards_that_are_not_alike() -> None:
    def two(**second: Any) -> Seen:
        device = evidence("rtx-4090", "launch", "devices")[0]
        return machine(
            "rtx-4090", launch={"devices": [device, device | {"index": 1, "uuid": "GPU-b"} | second]}
        )

    assert named(two()) == []
    assert named(two(memory_bytes=23 << 30)) == []  # a screen on the second, or error correction
    assert named(two(memory_bytes=None)) == []
    assert named(two(memory_bytes=12 << 30)) == ["ORD-09"]
    assert named(two(name="NVIDIA GeForce RTX 3090", memory_bytes=None)) == ["ORD-09"]


def test_a_slice_that_torch_does_not_count() -> None:
    failed = {
        "name": "device",
        "status": "failed",
        "seconds": 0.1,
        "error": "sees no card (device_count 0, ...)",
    }
    steps = [failed if one["name"] == "device" else one for one in evidence("h100-sxm", "launch", "steps")]
    sliced = states("h100-sxm", mig=True, mig_devices=["MIG 3g.40gb"])
    launch = sliced["launch"] | NOTHING | {"steps": steps}
    assert named(machine(launch=launch, inventory=sliced["inventory"])) == ["ORD-05"]
    none = {"driver": {"cuda": {"count": 0}}}  # CUDA does not see it either
    assert named(machine(launch=launch | none, inventory=sliced["inventory"])) == []
    assert named(machine(launch=NOTHING | {"steps": steps})) == []  # nothing is divided
    assert named(machine(**sliced)) == []


def test_a_slice_is_no_fault_where_a_slice_was_ordered() -> None:
    device = evidence("h100-sxm", "launch", "devices")[0] | {"name": "NVIDIA H100 80GB HBM3 MIG 3g.40gb"}
    seen = machine(launch={"devices": [device]})
    assert named(seen) == ["ORD-04"]
    assert named(ordering(seen, card="H100 MIG 3g.40gb")) == []


@pytest.mark.parametrize(
    ("compute", "memory", "ids"),
    [
        ("SPX", "NPS1", []),
        ("spx", None, []),
        ("N/A", "N/A", []),
        (None, None, []),
        ("CPX", "NPS4", ["ORD-08"]),
        ("DPX", "NPS1", ["ORD-08"]),
        ("SPX", "NPS4", ["ORD-08"]),
    ],
)
def test_a_partition_is_told_by_its_mode(compute: str | None, memory: str | None, ids: list[str]) -> None:
    modes = states("mi300x", partition_compute=compute, partition_memory=memory)
    assert named(machine("mi300x", **modes)) == ids


def test_a_card_chosen_by_its_number() -> None:
    def listed(first: str, second: str, chosen: str, torch: str, **variables: str) -> Seen:
        state = evidence("rtx-4090", "launch", "states")[0]
        device = evidence("rtx-4090", "launch", "devices")[0] | {"uuid": torch}
        two = [state | {"index": 0, "uuid": first}, state | {"index": 1, "uuid": second}]
        launch = {
            "states": two,
            "devices": [device],
            "variables": {"CUDA_VISIBLE_DEVICES": chosen} | variables,
        }
        inventory = Inventory.model_validate_json(
            json.dumps(recorded("rtx-4090", "root").evidence["inventory"] | {"states": []})
        )
        patched = machine("rtx-4090", launch=launch)
        return Seen(inventory, Launch.model_validate(patched.launch.model_dump()), patched.order)

    assert named(listed("GPU-a", "GPU-b", "1", "GPU-a")) == ["ORD-10"]
    assert named(listed("GPU-a", "GPU-b", "1", "GPU-b")) == []
    assert named(listed("GPU-a", "GPU-b", "1", "GPU-a", CUDA_DEVICE_ORDER="PCI_BUS_ID")) == []
    assert named(listed("GPU-a", "GPU-b", "GPU-a", "GPU-a")) == []


# -- torch and ROCm -------------------------------------------------------------------------------------


def test_a_build_for_the_processor_matters_where_a_card_is() -> None:
    cpu = {"torch": {"cuda": None, "version": "2.6.0+cpu", "architectures": None}}
    assert named(machine(launch=cpu)) == ["TOR-01"]
    assert named(machine(launch=cpu | {"asked_device": "cpu"})) == []
    assert named(machine(launch=cpu | {"asked_device": "auto"}, inventory={"cards": []})) == []


def test_a_build_for_the_other_vendor() -> None:
    assert named(machine("mi300x", launch={"torch": {"cuda": "12.6", "hip": None}})) == ["ROC-05"]
    rocm = {"torch": {"cuda": None, "hip": "6.3.42134", "architectures": None}, "asked_device": "auto"}
    assert named(machine(launch=rocm)) == ["ROC-05"]


@pytest.mark.parametrize(
    ("base", "compiled", "ids"),
    [
        ("h100-sxm", ["sm_80", "sm_86"], ["TOR-02"]),
        ("h100-sxm", ["sm_80", "compute_80"], []),
        ("h100-sxm", ["sm_100", "sm_120"], ["TOR-03"]),
        ("rtx-4090", ["sm_75", "sm_80", "sm_86", "sm_90"], []),
        ("mi300x", ["gfx90a", "gfx942"], []),
        ("mi300x", ["gfx90a", "gfx1100"], ["TOR-02"]),
        ("h100-sxm", None, []),
    ],
)
def test_the_card_runs_what_torch_holds(base: str, compiled: list[str] | None, ids: list[str]) -> None:
    assert named(machine(base, launch={"torch": {"architectures": compiled}})) == ids


def test_a_missing_kernel_is_torch_s_only_where_torch_holds_none() -> None:
    text = "CUDA error: no kernel image is available for execution on the device"
    known = saying(text, "compute", number=209, number_of="cuda")
    assert named(machine(launch=known)) == []  # the card runs what is in torch: an extension's
    assert named(machine(launch=known | {"torch": {"architectures": None}})) == ["TOR-02"]
    assert named(machine(launch=known | {"torch": {"architectures": ["sm_120"]}})) == ["TOR-03"]


def test_an_import_that_works_without_the_variable() -> None:
    def retried(without: list[str], error: str | None) -> Patch:
        one = {"step": "import", "without": without, "error": error, "count": None}
        return {"torch": None, "retried": [one]} | NOTHING

    assert named(machine(launch=retried(["LD_LIBRARY_PATH"], None))) == ["TOR-04"]
    assert named(machine(launch=retried(["LD_PRELOAD", "LD_LIBRARY_PATH"], None))) == []  # either of them
    assert named(machine(launch=retried(["LD_LIBRARY_PATH"], "ImportError: the same"))) == []
    assert named(machine(launch=retried(["PYTHONPATH"], None))) == []


def test_numpy_2_beside_a_torch_for_numpy_1() -> None:
    error = {
        "torch": {
            "version": "2.2.2+cu121",
            "metadata_version": "2.2.2",
            "numpy_error": "RuntimeError: Numpy is not available",
        }
    }
    assert named(machine(launch=error | {"distributions": {"numpy": "2.1.3"}})) == ["TOR-08"]
    assert named(machine(launch=error | {"distributions": {"numpy": "1.26.4"}})) == []
    newer = {"torch": error["torch"] | {"version": "2.6.0", "metadata_version": "2.6.0"}}
    assert named(machine(launch=newer | {"distributions": {"numpy": "2.1.3"}})) == []


@pytest.mark.parametrize(
    ("version", "metadata", "ids"),
    [
        ("2.6.0+cu124", "2.6.0+cu124", []),
        ("2.6.0+cu124", "2.6.0", []),  # as the usual index has it
        ("2.6.0+cu124", None, []),
        ("2.6.0+cu124", "2.8.0", ["TOR-09"]),
    ],
)
def test_the_torch_that_runs_is_the_one_that_pip_reports(
    version: str, metadata: str | None, ids: list[str]
) -> None:
    assert named(machine(launch={"torch": {"version": version, "metadata_version": metadata}})) == ids


def test_two_folders_of_the_same_torch_are_one() -> None:
    def twice(*versions: str) -> Patch:
        one = {"name": "torch", "versions": list(versions), "folders": ["/a", "/b"]}
        return {"duplicates": [one]}

    assert named(machine(launch=twice("2.6.0+cu124", "2.8.0"))) == ["TOR-09"]
    assert named(machine(launch=twice("2.6.0+cu124", "2.6.0"))) == []


def test_the_number_of_opening_kfd_tells_three_faults_apart() -> None:
    for number, id in ((2, "ROC-01"), (13, "ROC-02"), (1, "ROC-02"), (22, "ROC-03")):
        launch = {"driver": {"nodes": nodes("mi300x", kfd=number)}} | NOTHING
        assert named(machine("mi300x", launch=launch)) == [id]
    assert named(machine("mi300x", launch={"driver": {"nodes": nodes("mi300x")}})) == []
    # where NVIDIA's cards were asked for, AMD's node is missing as it must be
    absent = {"path": "/dev/kfd", "errno": 2, "mode": None, "gid": None}
    assert named(machine(launch={"driver": {"nodes": [*nodes(), absent]}})) == []


@pytest.mark.parametrize(
    ("variables", "ids"),
    [
        ({}, []),
        ({"HSA_OVERRIDE_GFX_VERSION": "9.4.2"}, ["ROC-04"]),
        ({"HSA_OVERRIDE_GFX_VERSION": None}, ["ROC-04"]),
        ({"ROCR_VISIBLE_DEVICES": "0"}, []),
        ({"HIP_VISIBLE_DEVICES": "0"}, []),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"}, []),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, ["ROC-09"]),
        ({"ROCR_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "1"}, ["ROC-09"]),
        ({"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "0,1"}, []),
        ({"HIP_VISIBLE_DEVICES": ""}, ["ROC-10"]),
    ],
    ids=str,
)
def test_variables_of_rocm(variables: dict[str, str | None], ids: list[str]) -> None:
    assert named(machine("mi300x", launch={"variables": variables})) == ids


def test_an_override_on_a_card_of_a_desktop_is_a_workaround_that_may_work() -> None:
    variables = {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}
    other = {"name": "AMD Radeon RX 6700 XT"}
    device = evidence("mi300x", "launch", "devices")[0] | other | {"capability": "gfx1030"}
    card = evidence("mi300x", "inventory", "cards")[0] | other
    launch = {"variables": variables, "devices": [device], "states": []}
    inventory = {"cards": [card], "states": []}
    assert named(machine("mi300x", launch=launch, inventory=inventory)) == []
    failed = launch | saying("HIP error: invalid device function", "compute")
    assert named(machine("mi300x", launch=failed, inventory=inventory)) == ["ROC-04"]


def test_extensions_made_for_cuda_on_a_card_of_amd() -> None:
    absent = failing("flash_attn", "ModuleNotFoundError: No module named 'flash_attn'")
    assert named(machine("mi300x", launch=absent)) == ["ROC-06"]
    assert "ROC-06" not in named(machine(launch=absent))
    native = failing(
        "bitsandbytes", "RuntimeError: Configured ROCm binary not found at libbitsandbytes_rocm63.so"
    )
    assert named(machine("mi300x", launch=native)) == ["ROC-07"]
    assert "ROC-07" not in named(machine(launch=native))


def test_a_wrapper_s_last_words_are_read_from_stderr() -> None:
    def ended(text: str) -> Patch:
        return {"interpreter": None, "end": {"returncode": 125, "stderr_tail": text}} | NOTHING

    words = 'docker: could not select device driver "" with capabilities: [[gpu]].\nSee docker run --help'
    assert named(machine(launch=ended(words))) == ["DRV-08"]
    assert named(machine(launch=ended("docker: invalid reference format.\nSee help"))) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CUDA error: 35", True),
        ("cuInit gives 35", True),
        ("cudaGetDeviceCount() returned: Error 35: driver is too old", True),
        ("OpenSSL error 35", False),
        ("rsync error: 35", False),
        ("CUDA error: 350", False),
    ],
)
def test_a_small_number_is_cudas_only_where_cuda_is_spoken_of(text: str, found: bool) -> None:
    assert bool(cuda_error(35)(machine(launch=saying(text)))) == found


@pytest.mark.parametrize(
    ("state", "computes", "ids"),
    [
        ("In Progress", False, ["DRV-02"]),
        ("Not Started", False, ["DRV-02"]),
        ("In Progress", True, []),
        ("Completed", False, []),
        ("N/A", False, []),
        (None, False, []),
    ],
)
def test_a_card_that_waits_for_its_fabric_cannot_be_used(
    state: str | None, computes: bool, ids: list[str]
) -> None:
    waiting = states("h100-sxm", fabric_state=state)
    idle: Patch = {} if computes else NOTHING | {"steps": []}
    assert named(machine(launch=waiting["launch"] | idle, inventory=waiting["inventory"])) == ids


@pytest.mark.parametrize(
    ("facts", "more", "ids"),
    [
        ({"mig": True, "mig_devices": []}, {}, ["ORD-04-EMPTY"]),
        ({"mig": True, "mig_devices": ["MIG 3g.40gb"]}, {}, []),
        ({"mig": True, "mig_devices": None}, {}, []),  # the list was not read
        ({"mig": False, "mig_devices": []}, {}, []),
        ({"mig": True, "mig_devices": []}, {"driver": {"cuda": {"count": 1}}}, []),
    ],
)
def test_a_card_to_be_divided_that_was_not_divided_computes_nothing(
    facts: Patch, more: Patch, ids: list[str]
) -> None:
    divided = states("h100-sxm", **facts)
    nothing = NOTHING | {"driver": {"cuda": {"count": 0}}} | more
    assert named(machine(launch=divided["launch"] | nothing, inventory=divided["inventory"])) == ids


@pytest.mark.parametrize(
    ("licence", "name", "virtual", "ids"),
    [
        ("Unlicensed (Restricted)", None, None, ["ORD-06"]),  # the section alone
        ("Unlicensed (Restricted)", "NVIDIA A40-48Q", None, ["ORD-06"]),
        ("Unlicensed (Restricted)", "NVIDIA A40", "None", []),  # a whole card needs none
        ("Licensed (Expiry: Permanent)", None, None, []),
    ],
)
def test_only_a_vgpu_has_a_licence_to_lose(
    licence: str, name: str | None, virtual: str | None, ids: list[str]
) -> None:
    one = {"source": "nvidia-smi -q", "name": name, "virtual": virtual, "licence": licence}
    assert named(machine(launch={"states": [one]}, inventory={"states": []})) == ids


def test_where_rocminfo_lists_a_card_it_could_not_tell_of_the_module() -> None:
    text = saying("ROCk module is NOT loaded, possibly no GPU devices", "driver")
    assert named(machine("mi300x", launch=text | NOTHING | {"states": []})) == ["ROC-01-MODULE"]
    assert named(machine("mi300x", launch=text)) == []


def test_a_function_that_the_card_has_not_is_one_that_torch_was_not_compiled_for() -> None:
    text = saying("HIP error: invalid device function", "compute")
    unknown = {"torch": {"architectures": None}}
    assert named(machine("mi300x", launch=text | unknown)) == ["TOR-02"]
    assert named(machine("mi300x", launch=text)) == []  # torch holds code for it: an extension's


@pytest.mark.parametrize("witnessed", [True, False])
def test_cards_that_a_witness_lists_are_there_though_the_bus_is_hidden(witnessed: bool) -> None:
    launch: Patch = {**NOTHING, "driver": {"pci": [], "cuda": {"count": None}, "nvml": {"count": None}}}
    states = evidence("h100-sxm", "launch", "states") if witnessed else []
    hidden = machine(launch={**launch, "states": states}, inventory={"cards": [], "states": []})
    assert ("ORD-03" in named(hidden)) is not witnessed
