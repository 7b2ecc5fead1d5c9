"""A catalogue of our own, so that the command is tested whatever the real one holds."""

from __future__ import annotations

from fixtures.evidence.models import StepName
from plugins.catalogue import Answer
from plugins.catalogue import Fault
from plugins.catalogue.fault import Signature
from plugins.catalogue.signatures import said


def fault(
    name: str,
    step: StepName,
    signature: Signature,
    *,
    root: str = "fix",
    container: str = "reconfigure",
    blocks: bool = True,
) -> Fault:
    return Fault(
        id=name,
        step=step,
        signature=signature,
        cause=f"the cause of {name}",
        root=Answer(root, f"{name}: what root changes"),  # type: ignore[arg-type]
        container=Answer(container, f"{name}: what a container changes"),  # type: ignore[arg-type]
        confirm=f"how {name} is confirmed",
        source="https://example.org",
        blocks=blocks,
    )


TANGLED = fault("TST-01", "driver", said(r"tangled wires"))
SLOW = fault("TST-02", "host", said(r"slow fan"), blocks=False)
OLD = fault("TST-03", "import", said(r"rusty torch"), root="fix", container="fix")
EVERYWHERE = (TANGLED, OLD, SLOW)
