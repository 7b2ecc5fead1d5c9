"""Trials made by hand: real models, written into a real folder, without an instrument or a check."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fixtures.evidence import models as m
from fixtures.evidence.base import Model
from fixtures.evidence.order import Order
from fixtures.evidence.parameters import Command
from fixtures.evidence.parameters import Documents as DocumentParameters
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.parameters import Planned
from fixtures.evidence.trial import Envelope
from fixtures.evidence.trial import Factors
from fixtures.evidence.trial import RECORD
from fixtures.evidence.trial import Record
from fixtures.evidence.trial import Trial
from plugins.verdict import Claim
from plugins.verdict import decide
from plugins.verdict import Facts
from plugins.verdict import Outcome
from plugins.verdict import PlannedCheck
from plugins.verdict_file import Artefact
from plugins.verdict_file import Changed
from plugins.verdict_file import DocumentCounts
from plugins.verdict_file import FailureDecision
from plugins.verdict_file import Verdict

NAME = "20261201T103000Z-7f3a"
CATEGORIES = ["invoice", "contract", "support_ticket", "resume", "medical_report"]
SUM = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
TEXTS = {
    "doc-01": (
        "fr",
        "resume",
        "Maëlle GOURVENNEC\nCheffe de cuisine, restauration collective et traiteur\n34 ans, permis B",
    ),
    "doc-02": (
        "en",
        "support_ticket",
        "[#48213] Checkout page fails for customers in Ireland & Malta\nQueue: Storefront",
    ),
    "doc-03": (
        "zh",
        "medical_report",
        "右膝关节MRI平扫:内侧半月板后角见斜行线状高信号,达关节面,符合III级损伤;" * 3,
    ),
    "doc-04": ("it", "invoice", "FALEGNAMERIA SORGATO & FIGLI s.n.c.\nVia dei Conciatori 27, 36061 Valdorsa"),
    "doc-05": (
        "es",
        "contract",
        "CONTRATO DE ARRENDAMIENTO DE LOCAL DE NEGOCIO\n\nEn la ciudad de Villamarta, a 3 de julio",
    ),
    "doc-06": ("fr", "medical_report", "CENTRE HOSPITALIER DE BRÉVENNES\nService de pneumologie, unité B2"),
    "doc-07": ("vi", "invoice", "HÓA ĐƠN GIÁ TRỊ GIA TĂNG\nNgày 14 tháng 5 năm 2023, Công ty TNHH Bến Lụa"),
    "doc-08": (
        "en",
        "contract",
        "MASTER SERVICES AGREEMENT between Lumen & Loom Textiles and Harrow Freight. " * 4,
    ),
    "doc-09": ("zh", "resume", "个人简历\n姓名:林书意\n求职意向:结构工程师"),
    "doc-10": ("it", "support_ticket", "Oggetto: la stampante di rete non risponde dopo l'aggiornamento"),
    "doc-11": ("es", "invoice", "FACTURA 2023/0418\nTalleres Roblemar, S.L."),
}
#: criterion and id, title, what a failure means
CHECKS: list[tuple[str, str, FailureDecision, list[str]]] = [
    ("launch.interpreter", "The application's interpreter starts", "fix", ["launch"]),
    (
        "launch.device",
        "The device that was asked for is the one that is used",
        "fix",
        ["launch", "inventory"],
    ),
    ("launch.compute", "A small computation agrees with float64 on the CPU", "reconfigure", ["launch"]),
    ("inputs.sums", "Every document is the one that the manifest describes", "fix", ["documents"]),
    ("results.complete", "Every document has exactly one result", "fix", ["documents", "application"]),
    ("results.allowed_category", "Every accepted document has one allowed category", "fix", ["application"]),
    ("failures.rejected", "The document that is not valid is rejected with a reason", "fix", ["application"]),
    ("failures.exit", "The application ends by itself with status 0", "fix", ["application"]),
    ("memory.headroom", "The peak leaves a tenth of the card's memory free", "reconfigure", ["application"]),
    ("end_of_trial.copy", "The copy of the trial has the same sums", "fix", ["copy"]),
    ("end_of_trial.left_behind", "No process of the application is left behind", "fix", ["application"]),
]


def plan() -> list[PlannedCheck]:
    return [
        PlannedCheck(
            id=id,
            nodeid=f"suites/gpu/test_{id.partition('.')[0]}.py::test_{id.partition('.')[2]}",
            title=title,
            criterion=id.partition(".")[0].replace("_", " "),  # type: ignore[arg-type]
            step=id.partition(".")[2] if id.startswith("launch.") else None,
            on_failure=meaning,
            change="the application",
            evidence=evidence,
        )
        for id, title, meaning, evidence in CHECKS
    ]


def verdict(
    *,
    scope: str = "rental",
    failing: dict[str, Claim] | None = None,
    not_reached: tuple[str, ...] = (),
    **facts: Any,
) -> Verdict:
    """The verdict of real checks, all passed but those that are named."""
    outcomes = []
    for check in plan():
        claim = (failing or {}).get(check.id)
        if check.id in not_reached:
            said = "not reached: compute: no device to compute on"
            outcomes.append(
                Outcome(nodeid=check.nodeid, status="not_reached", claims=[], message=said, step="device")
            )
        elif claim:
            message = f"required {claim.required}; found {claim.found}"
            outcomes.append(
                Outcome(nodeid=check.nodeid, status="failed", claims=[claim], message=message, seconds=0.01)
            )
        else:
            held = Claim(holds=True, required="what was agreed", found="what was agreed", documents=[])
            outcomes.append(
                Outcome(nodeid=check.nodeid, status="passed", claims=[held], message=None, seconds=0.002)
            )
    standing: dict[str, Any] = {
        "trial": NAME,
        "scope": scope,
        "plan": plan(),
        "outcomes": outcomes,
        "factors": {
            "machine.driver": "580.95.05",
            "environment.torch": "2.13.0+cu130",
            "project.config": SUM,
        },
        "artefacts": [
            Artefact(path=f"evidence/{n}.json", sha256=SUM, bytes=1834) for n in ("launch", "application")
        ],
        "timing": {"start": 0.6, "launch": 3.4, "pilot": 21.7, "copy": 1.25, "report": 0.05},
        "documents": counts(),
        "repeat": "pytest suites/gpu",
        "rerun": f"pytest suites/gpu --continue {NAME}",
    }
    return decide(Facts(**{**standing, **facts}))


def counts(missing: list[str] | None = None, invented: list[str] | None = None) -> DocumentCounts:
    gone = missing or []
    return DocumentCounts(
        expected=12,
        accepted=[id for id in TEXTS if id not in gone],
        rejected=["doc-12"],
        missing=gone,
        duplicated=[],
        invented=invented or [],
    )


def record(**other: Any) -> Record:
    standing: dict[str, Any] = {
        "trial": NAME,
        "continues": None,
        "suite": "gpu",
        "scope": "rental",
        "device": "auto",
        "created": "2026-12-01T10:30:00Z",
        "project": "/home/renter/gpu-pilot",
        "folder": "/home/renter/gpu-pilot",
        "command": ["pytest", "suites/gpu"],
        "copy_to": "../gpu-pilot-copies",
        "interpreter": "/home/renter/venv/bin/python",
        "parameters": Parameters(
            documents=DocumentParameters(),
            categories=CATEGORIES,
            application=Command(kind="command", command=["{python}", "app.py", "{manifest}", "{results}"]),
            planned=Planned(documents=50000, longest_bytes=400000),
        ),
        "order": Order(card="NVIDIA H200", lots=1, cards=1, days=3, preparation="PyTorch"),
        "references": {"model": f"data/model/model.safetensors, {SUM}"},
        "factors": Factors(machine={}, environment={}, project={}),
    }
    return Record(**{**standing, **other})


def inventory(**other: Any) -> m.Inventory:
    card = m.Card(
        index=0,
        vendor="nvidia",
        name="NVIDIA H200",
        uuid="GPU-6d3c9a52-11aa-4c0e-9d5e-2f1f3f0f6b7a",
        pci="0000:41:00.0",
        memory_bytes=150_754_820_096,
        source="nvml",
    )
    standing: dict[str, Any] = {
        "cards": [card],
        "driver": "580.95.05",
        "witnesses": [
            m.Witness(name="nvml", answered=True, detail="1 card, driver 580.95.05"),
            m.Witness(name="amdsmi", answered=False, detail="no module named amdsmi"),
            m.Witness(name="pci", answered=True, detail="1 NVIDIA device on the bus"),
        ],
        "host": m.Host(
            system="Linux",
            kernel="6.8.0-79-generic",
            machine="x86_64",
            cpus=16,
            memory_bytes=137_438_953_472,
            boot_id="4f7a2f0e-0c0d-4b43-9e0b-0a4f5f9d3a10",
            container="docker",
        ),
    }
    return m.Inventory(**{**standing, **other})


def launch(**other: Any) -> m.Launch:
    steps = m.STEPS
    standing: dict[str, Any] = {
        "asked_interpreter": "/home/renter/venv/bin/python",
        "asked_real_path": "/usr/bin/python3.11",
        "asked_device": "auto",
        "device": "cuda",
        "steps": [m.Step(name=step, status="ok", seconds=0.3) for step in steps],
        "interpreter": m.Interpreter(
            executable="/home/renter/venv/bin/python",
            real_path="/usr/bin/python3.11",
            version="3.11.7",
            prefix="/home/renter/venv",
            base_prefix="/usr",
            implementation="CPython",
        ),
        "distributions": {"torch": "2.13.0+cu130", "numpy": "2.3.4", "safetensors": "0.7.0"},
        "torch": m.Torch(
            version="2.13.0+cu130",
            file="/home/renter/venv/lib/python3.11/site-packages/torch/__init__.py",
            cuda="13.0",
            hip=None,
            git="abcdef0",
        ),
        "devices": [
            m.TorchDevice(
                index=0, name="NVIDIA H200", memory_bytes=150_119_251_968, capability="9.0", uuid=None
            )
        ],
        "computations": [
            m.Computation(
                device="cuda:0",
                operation=operation,
                dtype="float32",
                finite=True,
                error=error,
                tolerance=1e-5,
                reference_norm=61.2,
            )
            for operation, error in (("matmul 256 x 256", 3.1e-7), ("sum over rows", 8.4e-8))
        ],
        "end": m.ProcessEnd(returncode=0, signal=None, timed_out=False, seconds=3.1, stderr_tail=""),
    }
    return m.Launch(**{**standing, **other})


def documents(**other: Any) -> m.Documents:
    entries = [
        m.ManifestEntry(
            id=id, file=f"{id}.txt", sha256=SUM, bytes=1800, valid=True, category=category, language=language
        )
        for id, (language, category, _) in TEXTS.items()
    ]
    entries.append(
        m.ManifestEntry(
            id="doc-12",
            file="doc-12.txt",
            sha256=SUM,
            bytes=641,
            valid=False,
            language="en",
            reason="not valid UTF-8",
        )
    )
    files = [
        m.DocumentFile(
            id=entry.id,
            file=entry.file,
            kind="file",
            inside=True,
            error=None,
            bytes=entry.bytes,
            sha256=SUM,
            beginning=TEXTS.get(entry.id, ("", "", "Quarterly stat\ufffdement of \ufffd\ufffd account"))[2],
        )
        for entry in entries
    ]
    standing: dict[str, Any] = {
        "folder": "/home/renter/gpu-pilot/data/pilot",
        "manifest": "/home/renter/gpu-pilot/data/pilot/manifest.json",
        "manifest_sha256": SUM,
        "manifest_error": None,
        "entries": entries,
        "files": files,
        "unnamed": [],
    }
    return m.Documents(**{**standing, **other})


def lines(records: list[dict[str, Any]]) -> list[m.Line]:
    return [
        m.Line(number=n, record=record, problem=None, text=str(record)[:200])
        for n, record in enumerate(records, 1)
    ]


def answers(without: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """What a right application writes, less some documents."""
    accepted: list[dict[str, Any]] = [
        {"id": id, "status": "accepted", "category": category, "confidence": 0.97}
        for id, (_, category, _) in TEXTS.items()
    ]
    rejected = {"id": "doc-12", "status": "rejected", "reason": "not valid UTF-8 at byte 17"}
    return [one for one in [*accepted, rejected] if one["id"] not in without]


def output(text: str, file: str = "evidence/application/stderr.txt") -> m.Output:
    size = len(text.encode("utf-8", "replace"))
    return m.Output(file=file, bytes=size, head=text[:4096], tail=text[-4096:])


def application(records: list[dict[str, Any]] | None = None, **other: Any) -> m.Application:
    written = lines(answers() if records is None else records)
    gib = 1024**3
    samples = [
        m.Sample(
            at=i * 0.25,
            resident_bytes=int(gib * 2.4 * (1 - math.exp(-i / 12))),
            card_bytes=int(gib * 6.1 * min(1, max(0, i - 8) / 20)),
        )
        for i in range(80)
    ]
    standing: dict[str, Any] = {
        "command": [
            "/home/renter/venv/bin/python",
            "-m",
            "fixtures.classifier",
            "classify",
            "--device",
            "cuda",
            "--batch-size",
            "4",
        ],
        "batch_size": 4,
        "device": "cuda",
        "folder": "/home/renter/gpu-pilot",
        "executable": "/home/renter/venv/bin/python",
        "interpreters": [m.Ran(executable="/usr/bin/python3.11", prefix="/home/renter/venv")],
        "ended": "exit",
        "error": None,
        "returncode": 0,
        "signal": None,
        "seconds": 20.3,
        "output_was_empty": True,
        "output_files": ["results.jsonl"],
        "left_behind": [],
        "results": m.Results(
            kind="file",
            error=None,
            bytes=1044,
            sha256=SUM,
            written_during_run=True,
            lines=written,
            lines_left_out=0,
        ),
        "stdout": output("12 documents, 11 accepted, 1 rejected\n", "evidence/application/stdout.txt"),
        "stderr": output("loading weights\n"),
        "inputs_changed": [],
        "touched": [],
        "memory": m.Memory(
            peak_resident_bytes=int(gib * 2.4),
            cards=[
                m.CardMemory(
                    index=0,
                    name="NVIDIA H200",
                    total_bytes=150_754_820_096,
                    before_bytes=500_000_000,
                    peak_bytes=7_049_000_000,
                    processes_seen=True,
                )
            ],
            cards_unread=None,
            interval_s=0.25,
            samples=samples,
        ),
    }
    return m.Application(**{**standing, **other})


def copy(**other: Any) -> m.Copy:
    standing: dict[str, Any] = {
        "target": "../gpu-pilot-copies",
        "path": f"/mnt/other/gpu-pilot-copies/{NAME}",
        "error": None,
        "same_file_system": False,
        "files": [m.Copied(path="verdict.json", sha256=SUM, bytes=9000, copy_sha256=SUM)],
        "reread": m.Reread(
            trial=NAME, exit_status=0, seconds=1.1, error=None, outcomes={"a": "passed", "b": "passed"}
        ),
    }
    return m.Copy(**{**standing, **other})


def trial(path: Path, evidence: Mapping[str, Model | Envelope], record_: Record | None = None) -> Trial:
    """A trial folder that holds `evidence`; an Envelope is stored as it is."""
    made = record_ or record()
    (path / "evidence").mkdir(parents=True)
    (path / RECORD).write_text(made.model_dump_json(), encoding="utf-8")
    new = Trial(path, made, judging=True)
    for name, value in evidence.items():
        stored = (
            value if isinstance(value, Envelope) else envelope(name, observed=value.model_dump(mode="json"))
        )
        new.envelope_path(name).write_text(stored.model_dump_json(), encoding="utf-8")
    return new


def envelope(name: str, **outcome: Any) -> Envelope:
    seconds = {"inventory": 0.04, "launch": 3.1, "documents": 0.02, "application": 20.4, "copy": 1.2}
    return Envelope(
        name=name, trial=NAME, made="2026-12-01T10:30:04Z", seconds=seconds.get(name, 1.0), **outcome
    )


def everything() -> dict[str, Model | Envelope]:
    return {
        "inventory": inventory(),
        "launch": launch(),
        "documents": documents(),
        "application": application(),
        "copy": copy(),
    }


def go(path: Path) -> tuple[Verdict, Trial]:
    return verdict(), trial(path, everything())


def rehearsal(path: Path) -> tuple[Verdict, Trial]:
    """A run on the CPU that passed: no card, no copy named."""
    evidence = {
        **everything(),
        "inventory": inventory(cards=[], driver=None),
        "launch": launch(asked_device="cpu", device="cpu", devices=[]),
        "application": application(
            device="cpu",
            memory=m.Memory(
                peak_resident_bytes=412_000_000,
                cards=[],
                cards_unread="no card was found",
                interval_s=0.25,
                samples=[
                    m.Sample(at=i / 4, resident_bytes=min(412, 90 + 20 * i) * 1_000_000, card_bytes=None)
                    for i in range(30)
                ],
            ),
        ),
    }
    return verdict(scope="rehearsal"), trial(path, evidence, record(scope="rehearsal", device="cpu"))


def fix(path: Path) -> tuple[Verdict, Trial]:
    """A rental whose application was killed before it had done its whole job; continues an earlier trial."""
    missing = ["doc-08", "doc-11"]
    claim = Claim(
        holds=False,
        required="12 documents with exactly one result",
        found="10: doc-08 and doc-11 are missing",
        documents=missing,
        change="the batch size",
        advice="lower application.batch_size from 4 to 1",
    )
    stderr = (
        "".join(f"step {i}: reading doc-{i:02}\n" for i in range(1, 400))
        + "torch.OutOfMemoryError: CUDA out of memory\n"
    )
    records = [
        *answers(without=tuple(missing)),
        {"id": "doc-99", "status": "accepted", "category": "invoice"},
    ]
    records[0] = {
        "id": "doc-01",
        "status": "accepted",
        "category": "contract",
        "confidence": 0.41,
        "pages": [1, 2],
    }
    evidence = {
        **everything(),
        "application": application(
            records,
            ended="signal",
            returncode=-9,
            signal="SIGKILL",
            stderr=output(stderr),
            left_behind=[m.LeftBehind(pid=4711, name="python", command="python -m worker --rank 1")],
        ),
    }
    del evidence["copy"]
    failing = {
        "results.complete": claim,
        "failures.exit": Claim(holds=False, required="exit status 0", found="SIGKILL", documents=[]),
    }
    decided = verdict(
        failing=failing,
        not_reached=("end_of_trial.copy",),
        documents=counts(missing, ["doc-99"]),
        continues="20261130T170000Z-11aa",
        changed=[
            Changed(factor="environment.torch", before="2.12.1+cu128", after="2.13.0+cu130"),
            Changed(factor="machine.driver", before="570.1", after="580.95.05"),
        ],
        carried={"launch.interpreter": "20261130T170000Z-11aa"},
    )
    return decided, trial(path, evidence, record(continues="20261130T170000Z-11aa"))


def reconfigure(path: Path) -> tuple[Verdict, Trial]:
    """A rental that stopped at the launch: nothing of the application was ever seen."""
    steps = [
        m.Step(name="interpreter", status="ok", seconds=0.02),
        m.Step(name="environment", status="ok", seconds=0.1),
        m.Step(name="driver", status="ok", seconds=0.1),
        m.Step(name="import", status="ok", seconds=2.2),
        m.Step(name="device", status="ok", seconds=0.4),
        m.Step(name="compute", status="crashed", seconds=0.1, error="killed by SIGSEGV"),
        m.Step(name="extensions", status="not_reached", seconds=0.0),
        m.Step(name="host", status="ok", seconds=0.2),
    ]
    end = m.ProcessEnd(
        returncode=1, signal=None, timed_out=False, seconds=2.9, stderr_tail="Fatal Python error\n"
    )
    why = {"step": "compute", "why": "the computation was killed by SIGSEGV"}
    evidence: dict[str, Model | Envelope] = {
        "inventory": inventory(),
        "launch": launch(steps=steps, computations=[], end=end),
        "documents": documents(),
        "application": envelope("application", not_reached=why),
        "copy": envelope(
            "copy", broken="Traceback (most recent call last):\n  File x\nOSError: no space left"
        ),
    }
    claim = Claim(
        holds=False, required="an error of at most 1e-5", found="no result: killed by SIGSEGV", documents=[]
    )
    open_checks = tuple(
        id for id, *_ in CHECKS if id.partition(".")[0] in ("results", "failures", "memory", "end_of_trial")
    )
    decided = verdict(failing={"launch.compute": claim}, not_reached=open_checks, documents=None)
    return decided, trial(path, evidence)


SAMPLES = {"go": go, "rehearsal": rehearsal, "fix": fix, "reconfigure": reconfigure}
