"""Accepted + rejected = twelve; report and results read again from a copy."""

from __future__ import annotations

from fixtures.evidence.account import Account
from fixtures.evidence.models import Copy
from fixtures.evidence.models import Launch
from fixtures.evidence.models import Seal
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.trial import Trial
from plugins.criteria import check
from plugins.criteria import Claims

COPY = "the place of the copy (copy_to)"


@check(
    "end_of_trial.accounted", on_failure="fix", change="the application: every document ends in one outcome"
)
def test_accepted_and_rejected_add_up_to_the_expected_number(
    account: Account, parameters: Parameters, claim: Claims
) -> None:
    expected = parameters.documents.expected
    accepted, rejected = len(account.accepted), len(account.rejected)
    both = sorted(set(account.accepted) & set(account.rejected))
    claim(
        accepted + rejected == expected and not both,
        required=f"accepted + rejected = {expected}, over identifiers",
        found=f"{accepted} + {rejected} = {accepted + rejected}"
        + (f", {', '.join(both)} in both" if both else ""),
        documents=[*account.missing, *both],
    )


@check(
    "end_of_trial.references",
    on_failure="fix",
    change="the project folder: what the result is to be understood by",
)
def test_the_trial_holds_what_is_needed_to_understand_it(trial: Trial, launch: Launch, claim: Claims) -> None:
    record = trial.record
    project = record.factors.project
    missing = [
        f"{name} ({record.parameters.references.get(name, name)}: {value.removeprefix('unreadable: ')})"
        for name, value in record.references.items()
        if value.startswith("unreadable")
    ]
    if not record.references:
        missing.append("references: what the results rest on, a model or an index, by its sum")
    if not launch.distributions:
        missing.append("dependencies")
    missing += [
        name
        for name in ("parameters", "order", "manifest", "suite")
        if "unreadable" in project.get(name, "unreadable")
    ]
    if not record.command:
        missing.append("command")
    if not project.get("revision"):
        missing.append("revision")
    held = f"revision {project.get('revision')}, {len(launch.distributions)} distributions, " + ", ".join(
        record.references
    )
    claim(
        not missing,
        required="parameters, code revision, dependencies, data and model references, and the command",
        found=f"missing: {'; '.join(missing)}" if missing else held,
    )


@check("end_of_trial.copied", on_failure="fix", change=COPY)
def test_the_trial_was_copied_to_where_the_renter_keeps_it(copy: Copy, seal: Seal, claim: Claims) -> None:
    """Or fetched: a trial that is whole on another machine is its own copy."""
    if seal.closes and copy.target is None:
        claim(
            True, required="a copy of the whole trial", found=f"{seal.files} files, here on another machine"
        )
        return
    claim(
        copy.path is not None and copy.error is None and len(copy.files) > 0,
        required="a copy of the whole trial in copy_to",
        found=copy.error
        or (f"{len(copy.files)} files in {copy.path}" if copy.path else "no copy target configured"),
    )


def _need_copy(copy: Copy, claim: Claims) -> None:
    if copy.error or copy.path is None or not copy.files:
        claim.not_reached("end_of_trial.copied", copy.error or "there is no copy")


@check("end_of_trial.sums_agree", on_failure="fix", change=COPY)
def test_the_copy_read_back_is_byte_for_byte_the_trial(copy: Copy, seal: Seal, claim: Claims) -> None:
    if seal.closes and copy.target is None:
        claim(True, required="the same sha256 for every file", found=f"{seal.files} agree with SHA256SUMS")
        return
    _need_copy(copy, claim)
    differing = [file.path for file in copy.files if file.copy_sha256 != file.sha256]
    differing += seal.differences
    if seal.state == "missing":
        differing.append("no SHA256SUMS: the trial never ended, or lost them")
    claim(
        not differing,
        required="the same sha256 for every file",
        found="; ".join(differing[:8]) or f"{len(copy.files)} agree",
    )


@check("end_of_trial.judged_alike", on_failure="fix", change=COPY)
def test_the_copy_judged_again_comes_to_the_same(copy: Copy, trial: Trial, seal: Seal, claim: Claims) -> None:
    """That every outcome is the same is compared when all are known, by the verdict."""
    if seal.closes and copy.target is None:
        claim(True, required="judged again in a new process", found="judged here, from the folder alone")
        return
    _need_copy(copy, claim)
    reread = copy.reread
    if reread is None:
        claim(False, required="the copy, judged again in a new process", found="it was not judged")
        return
    claim(
        reread.error is None and reread.trial == trial.name and len(reread.outcomes) > 0,
        required=f"trial {trial.name}, judged again in a new process",
        found=reread.error
        or f"trial {reread.trial}, {len(reread.outcomes)} checks in {reread.seconds:.1f} s",
    )
