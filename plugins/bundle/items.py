"""What goes into the bundle, item by item, and why everything else does not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from fixtures.evidence import secrets
from fixtures.evidence import sums
from fixtures.evidence.burning import BurnIn
from fixtures.evidence.ladder import Health
from fixtures.evidence.models import Application
from fixtures.evidence.models import Copy
from fixtures.evidence.models import Documents
from fixtures.evidence.models import Hangup
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.models import Output
from fixtures.evidence.models import Reordered
from fixtures.evidence.models import Resumed
from fixtures.evidence.trial import Broken
from fixtures.evidence.trial import CHECKS
from fixtures.evidence.trial import Trial
from plugins.bundle.cleaning import Cleaner
from plugins.report import text
from plugins.verdict_file import Verdict

#: of one item; its head and its tail are kept
ITEM_BYTES = 256 * 1024
#: characters of one text in a JSON item
TEXT_CHARACTERS = 4000
MANIFEST, LEFT_OUT, SUMMARY = "manifest.json", "LEFT_OUT.txt", "SUMMARY.txt"

ALL_OF_IT = "nothing"
#: part of a path in the trial -> why what lies there is left out; the first that fits counts
REASONS: tuple[tuple[str, str], ...] = (
    ("/documents/", "the documents themselves; their identifiers are in documents.json"),
    ("/output", "what the application wrote: records are made of the documents"),
    (
        "documents.json",
        "the beginnings of the documents, their files' names and sums; the rest is in documents.json",
    ),
    ("evidence/inventory.json", ALL_OF_IT),
    ("evidence/launch.json", ALL_OF_IT),
    ("evidence/launch/", "raw lines and streams of the probe; what they say is in launch.json and logs/"),
    ("stdout.txt", "the whole stream; its end is in logs/"),
    ("stderr.txt", "the whole stream; its end is in logs/"),
    ("copy.json", "where the copy lies, and the names of all files; the rest is in copy.json"),
    (
        "evidence/",
        "records, paths of files and samples; the rest is in the item of the same name, if there is one",
    ),
    ("trial.json", "parameters, references and folders; the rest is in trial.json"),
    ("verdict.json", "the list of artefacts; the rest is in verdict.json"),
    ("checks.jsonl", "what it says is in verdict.json, or in checks.json where the trial has none"),
    ("plan.json", "the suite's own list of checks"),
    ("report.html", "it shows documents, records and streams"),
    ("junit.xml", "the same as verdict.json for other readers"),
    ("ctrf.json", "the same as verdict.json for other readers"),
    ("SHA256SUMS", "it names every file"),
    ("decision", "what a person decided, and why"),
    ("reread.json", "where and when it was judged again"),
)
#: names that are the suite's own, and so can be told
_OURS = re.compile(
    r"[A-Za-z0-9]+\.(?:json|jsonl|html|xml|md)|SHA256SUMS|evidence/[a-z]+\.json|evidence/[a-z/]+/std(?:out|err)\.txt"
)
OTHERWISE = "not known to this version of the bundle"


@dataclass(frozen=True)
class LeftOut:
    what: str
    why: str
    files: int = 1
    bytes: int | None = None

    def line(self) -> str:
        size = f", {self.bytes:,} bytes" if self.bytes is not None else ""
        return f"{self.what} ({text.plural(self.files, 'file')}{size}): {self.why}"


@dataclass
class Content:
    files: dict[str, bytes] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)


def gather(trial: Trial, verdict: Verdict | None, clean: Cleaner) -> Content:
    """Every item, then the list of what was left out, then the list of items."""
    content = Content(left_out=list(_of_the_folder(trial, clean)))
    for name, value in _json_items(trial, verdict, clean):
        _add_json(content, name, value)
    for name, log in _logs(trial, clean):
        _add(content, f"logs/{name}", log)
    if clean.unread:
        why = "their texts could not be read here, so only their beginnings were looked for in the logs and messages"
        content.left_out.append(LeftOut(f"{clean.unread} documents", why, clean.unread))
    _add(content, SUMMARY, _summary(trial, verdict, clean))
    lines = [one.line() for one in content.left_out]
    content.files[LEFT_OUT] = ("\n".join(lines) + "\n").encode("utf-8")
    content.files[MANIFEST] = _bytes(_manifest(trial, content, clean))
    return content


# -- the items ---------------------------------------------------------------------------------------------


def _json_items(trial: Trial, verdict: Verdict | None, clean: Cleaner) -> Iterator[tuple[str, Any]]:
    yield "trial.json", _trial(trial, clean)
    if verdict is None:
        yield "checks.json", _cleaned(_checks_so_far(trial), clean.text)
    else:
        yield "verdict.json", _verdict(verdict, clean)
    for name, take in EVIDENCE.items():
        if trial.has(name):
            yield f"{name}.json", _evidence(trial, name, take, clean)


def _trial(trial: Trial, clean: Cleaner) -> dict[str, Any]:
    record, application = trial.record, trial.record.parameters.application
    named = {
        "trial": record.trial,
        "continues": record.continues,
        "created": record.created,
        "suite": record.suite,
        "scope": record.scope,
        "device": record.device,
        "interpreter": record.interpreter,
        "order": record.order.model_dump(mode="json"),
        "application": {
            "kind": application.kind,
            "batch_size": application.batch_size,
            "deadline_s": application.deadline_s,
            "no_progress_s": application.no_progress_s,
        },
        "factors": record.factors.model_dump(mode="json"),
    }
    return {
        **_plain(_cleaned(named, clean.fact)),
        "command": _cleaned(secrets.hidden(record.command), clean.text),
    }


def _verdict(verdict: Verdict, clean: Cleaner) -> dict[str, Any]:
    """All checks; where they are too many for an item, those that did not pass."""
    dumped = verdict.model_dump(mode="json", exclude={"artefacts"})
    factors = {key: dumped.pop(key) for key in ("factors", "changed")}
    whole = {**_plain(_cleaned(dumped, clean.text)), **_plain(_cleaned(factors, clean.fact))}
    if len(_bytes(whole)) > ITEM_BYTES:
        for row in whole["criteria"]:
            row["checks_passed"] = sum(check["status"] == "passed" for check in row["checks"])
            row["checks"] = [check for check in row["checks"] if check["status"] != "passed"]
    return whole


def _checks_so_far(trial: Trial) -> list[dict[str, Any]]:
    """Of a trial that was interrupted: node ids, statuses and messages, as far as they were written."""
    found = []
    try:
        lines = (trial.path / CHECKS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            check = json.loads(line)
        except ValueError:
            continue  # the last line of a trial that was killed
        if isinstance(check, dict):
            found.append({key: check.get(key) for key in ("nodeid", "status", "message", "seconds")})
    return found


def _evidence(
    trial: Trial, name: str, take: Callable[[Trial, Cleaner], Any], clean: Cleaner
) -> dict[str, Any]:
    """What was observed, or why nothing was."""
    try:
        envelope = trial.envelope(name)
    except Broken as error:
        return {"unreadable": clean.text(str(error))}
    made = {"made": envelope.made, "seconds": envelope.seconds, "carried_from": envelope.carried_from}
    if envelope.observed is None:
        return {**made, "not_reached": _cleaned(envelope.not_reached, clean.text),
                "broken": clean.text(envelope.broken or "") or None}  # fmt: skip
    return {**made, "observed": take(trial, clean)}


def _inventory(trial: Trial, clean: Cleaner) -> Any:
    return _cleaned(_dump(trial.find("inventory", Inventory)), clean.fact)


def _launch(trial: Trial, clean: Cleaner) -> Any:
    seen = _dump(trial.find("launch", Launch))
    if isinstance(seen, dict):
        seen["end"].pop("stderr_tail")
    return _cleaned(seen, clean.fact)


def _documents(trial: Trial, clean: Cleaner) -> Any:
    seen = trial.find("documents", Documents)
    if seen is None:
        return None
    files = [
        {"id": one.id, "kind": one.kind, "inside": one.inside, "bytes": one.bytes, "error": one.error}
        for one in seen.files
    ]
    error = clean.text(seen.manifest_error) if seen.manifest_error else None
    return {"files": _cleaned(files, clean.text), "manifest_error": error, "unnamed": len(seen.unnamed)}


def _application(trial: Trial, clean: Cleaner) -> Any:
    return _run(trial.find("application", Application), clean)


def _reordered(trial: Trial, clean: Cleaner) -> Any:
    seen = trial.find("reordered", Reordered)
    return seen and {"batch_size": seen.batch_size, "run": _run(seen.run, clean)}


def _resumed(trial: Trial, clean: Cleaner) -> Any:
    seen = trial.find("resumed", Resumed)
    return seen and {
        "by": seen.by,
        "stopped": seen.stopped,
        "before": _run(seen.before, clean),
        "after": _run(seen.after, clean),
    }


def _hangup(trial: Trial, clean: Cleaner) -> Any:
    seen = trial.find("hangup", Hangup)
    return seen and {**_plain(_cleaned(_dump(seen, {"run"}), clean.text)), "run": _run(seen.run, clean)}


def _health(trial: Trial, clean: Cleaner) -> Any:
    return _cleaned(_dump(trial.find("health", Health)), clean.fact)


def _burn_in(trial: Trial, clean: Cleaner) -> Any:
    return _cleaned(_dump(trial.find("burn_in", BurnIn)), clean.fact)


def _copy(trial: Trial, clean: Cleaner) -> Any:
    seen = trial.find("copy", Copy)
    if seen is None:
        return None
    differing = sum(one.copy_sha256 != one.sha256 for one in seen.files)
    reread = seen.reread and {
        "exit_status": seen.reread.exit_status,
        "seconds": seen.reread.seconds,
        "error": seen.reread.error,
    }
    stated = {"configured": seen.target is not None, "same_file_system": seen.same_file_system,
              "error": seen.error, "files": len(seen.files), "differing": differing, "reread": reread}  # fmt: skip
    return _cleaned(stated, clean.text)


#: evidence that is in the bundle, and how it is taken; what is not here is left out
EVIDENCE: dict[str, Callable[[Trial, Cleaner], Any]] = {
    "inventory": _inventory, "launch": _launch, "documents": _documents, "application": _application,
    "reordered": _reordered, "resumed": _resumed, "hangup": _hangup, "health": _health, "burn_in": _burn_in,
    "copy": _copy,
}  # fmt: skip


def _run(ran: Application | None, clean: Cleaner) -> dict[str, Any] | None:
    """How a run went and what it took; nothing that it read or wrote."""
    if ran is None:
        return None
    whole = ran.model_dump(
        mode="json",
        include={
            "batch_size", "device", "interpreters", "ended", "error", "returncode", "signal", "seconds",
            "output_was_empty", "left_behind", "fell_to",
        },
    )  # fmt: skip
    results = ran.results
    return {
        **_plain(_cleaned(whole, clean.text)),
        "command": _cleaned(secrets.hidden(ran.command), clean.text),
        "memory": _cleaned(_dump(ran.memory, {"samples"}), clean.fact),
        "told": _cleaned(
            {
                "begun": len(ran.told.begun),
                "crashes": [_dump(one) for one in ran.told.crashes],
                "allocators": [_dump(one) for one in ran.told.allocators],
            },
            clean.text,
        ),
        "results": {
            "kind": results.kind,
            "error": results.error and clean.text(results.error),
            "bytes": results.bytes,
            "lines": len(results.lines) + results.lines_left_out,
        },
        "inputs_changed": len(ran.inputs_changed),
        "touched": len(ran.touched),
    }


def _logs(trial: Trial, clean: Cleaner) -> Iterator[tuple[str, str]]:
    """Ends of streams, as they are in the evidence, where they were freed of secrets on the machine itself."""
    launch = trial.find("launch", Launch)
    if launch and launch.end.stderr_tail.strip():
        yield "probe-stderr.txt", clean.text(launch.end.stderr_tail)
    resumed, hangup = trial.find("resumed", Resumed), trial.find("hangup", Hangup)
    reordered = trial.find("reordered", Reordered)
    runs = {
        "application": trial.find("application", Application),
        "reordered": reordered and reordered.run,
        "resumed-before": resumed and resumed.before,
        "resumed-after": resumed and resumed.after,
        "hangup": hangup and hangup.run,
    }
    for name, ran in runs.items():
        for stream in ("stdout", "stderr") if ran else ():
            output: Output = getattr(ran, stream)
            if end := output.tail or output.head:
                left = f"(the end of {output.bytes:,} bytes)\n" if output.bytes > len(end.encode()) else ""
                yield f"{name}-{stream}.txt", left + clean.text(end)


def _summary(trial: Trial, verdict: Verdict | None, clean: Cleaner) -> str:
    """What somebody reads first."""
    said = ["It was interrupted: there is no verdict."]
    if verdict is not None:
        said = [f"Decision: {verdict.decision}. {verdict.reason}"]
        if error := verdict.first_error:
            said.append(f"First error: {error.check} ({error.step or error.criterion}): {error.message}")
        said += [f"Failed: {check.id}" for check in verdict.checks() if check.status == "failed"]
    seen, observed = trial.find("inventory", Inventory), []
    if seen:
        observed = [f"Card {one.index}: {one.name} {one.uuid or ''} {one.pci or ''}" for one in seen.cards]
        host = seen.host
        observed.append(
            f"Driver: {seen.driver}. Kernel: {host.kernel}. Container: {host.container or 'none'}."
        )
    lines = [
        clean.fact(
            f"Trial {trial.name}, made {trial.record.created} by gpu-pilot, for the provider's support."
        ),
        *map(clean.text, said),
        *map(clean.fact, observed),
        f"What was left out, and why, is in {LEFT_OUT}.",
    ]
    return "\n".join(map(text.oneline, lines)) + "\n"


# -- what is left out --------------------------------------------------------------------------------------


def _of_the_folder(trial: Trial, clean: Cleaner) -> Iterator[LeftOut]:
    """Every file of the trial, by folder where several lie together: a file's name can be a document's."""
    groups: dict[tuple[str, str], list[int]] = {}
    for name in sums.files_below(trial.path):
        why = next((why for part, why in REASONS if part in name), OTHERWISE)
        if why == ALL_OF_IT:
            continue
        what = name if _OURS.fullmatch(name) else "/".join(Path(name).parts[:3][:-1] or ["."]) + "/"
        try:
            size = (trial.path / name).stat().st_size
        except OSError:
            size = 0
        groups.setdefault((what, why), []).append(size)
    for (what, why), sizes in groups.items():
        yield LeftOut(clean.text(sums.shown(what)), why, len(sizes), sum(sizes))


def _manifest(trial: Trial, content: Content, clean: Cleaner) -> dict[str, Any]:
    try:
        differing: int | None = len(sums.differences(trial.path))
    except OSError:
        differing = None
    return {
        "schema": "gpu-pilot/provider-bundle/1",
        "trial": clean.fact(trial.name),
        "sums": "there are none"
        if differing is None
        else f"{differing} files differ"
        if differing
        else "they agree",
        "items": [
            {"path": name, "sha256": sums.of_bytes(data), "bytes": len(data)}
            for name, data in sorted(content.files.items())
        ],
        "left_out": [
            {"what": one.what, "why": one.why, "files": one.files, "bytes": one.bytes}
            for one in content.left_out
        ],
    }


# -- sizes and texts ---------------------------------------------------------------------------------------


def _add_json(content: Content, name: str, value: Any) -> None:
    data = _bytes(value)
    if len(data) <= ITEM_BYTES:
        content.files[name] = data
    else:  # it is no JSON any more when it is cut
        _add(content, f"{name}.txt", data.decode("utf-8"))


def _add(content: Content, name: str, value: str) -> None:
    """A text; of a long one, head and tail."""
    data = text.visible(value).encode("utf-8", "backslashreplace")
    if len(data) > ITEM_BYTES:
        half = ITEM_BYTES // 2 - 100
        between = len(data) - 2 * half
        content.left_out.append(
            LeftOut(name, f"its middle: it is longer than {ITEM_BYTES:,} bytes", 1, between)
        )
        head, tail = (part.decode("utf-8", "ignore") for part in (data[:half], data[-half:]))
        data = f"{head}\n\n({between:,} bytes left out)\n\n{tail}".encode()
    content.files[name] = data


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """The same JSON with every text cleaned, made visible, and its middle left out where it is long."""
    if isinstance(value, str):
        return _short(text.visible(clean(value)))
    if isinstance(value, dict):
        return {_cleaned(str(key), clean): _named(key, _cleaned(item, clean)) for key, item in value.items()}
    return [_cleaned(item, clean) for item in value] if isinstance(value, list) else value


def _named(key: object, value: Any) -> Any:
    """A text whose name says that it is a secret is hidden, whatever it looks like."""
    name = str(key).rpartition(".")[2]  # of a factor's name the group stands before it
    found = isinstance(value, str) and next(secrets.find({name: value}), None)
    return f"({found[1]}, hidden)" if found else value


def _short(value: str) -> str:
    half = TEXT_CHARACTERS // 2
    if len(value) <= TEXT_CHARACTERS:
        return value
    return f"{value[:half]} ({len(value) - 2 * half:,} characters left out) {value[-half:]}"


def _dump(model: Any, exclude: set[str] | None = None) -> Any:
    return None if model is None else model.model_dump(mode="json", exclude=exclude)


def _plain(value: Any) -> dict[str, Any]:
    assert isinstance(value, dict)
    return value


def _bytes(value: Any) -> bytes:
    return (
        json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1).encode("utf-8", "backslashreplace")
        + b"\n"
    )
