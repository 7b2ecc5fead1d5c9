"""Twelve unique identifiers; readable files; one invalid case reserved."""

from __future__ import annotations

import unicodedata
from collections import defaultdict

from fixtures.evidence.account import repeated
from fixtures.evidence.models import Application
from fixtures.evidence.models import Documents
from fixtures.evidence.parameters import Parameters
from plugins.criteria import check
from plugins.criteria import Claims

MANIFEST = "the manifest"


def _need_manifest(documents: Documents, claim: Claims) -> None:
    if documents.manifest_error:
        claim.not_reached("inputs.manifest", documents.manifest_error)
    if not documents.entries:
        claim.not_reached("inputs.expected_number", "the manifest names no document")


def _folded(identifier: str) -> str:
    """What two identifiers have in common when only form, case or outer white space tells them apart."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", identifier).casefold()).strip()


@check("inputs.manifest", on_failure="fix", change=MANIFEST)
def test_the_manifest_can_be_read(documents: Documents, claim: Claims) -> None:
    claim(
        documents.manifest_error is None,
        required=f"{documents.manifest} as strict JSON with the keys of the README",
        found=documents.manifest_error or f"{len(documents.entries)} entries",
    )


@check("inputs.expected_number", on_failure="fix", change=MANIFEST)
def test_there_are_as_many_documents_as_expected(
    documents: Documents, parameters: Parameters, claim: Claims
) -> None:
    if documents.manifest_error:
        claim.not_reached("inputs.manifest", documents.manifest_error)
    expected, found = parameters.documents.expected, len(documents.entries)
    claim(found == expected, required=f"{expected} documents", found=f"{found} in the manifest")


@check("inputs.unique_identifiers", on_failure="fix", change=MANIFEST)
def test_every_identifier_is_unique(documents: Documents, claim: Claims) -> None:
    _need_manifest(documents, claim)
    ids = [entry.id for entry in documents.entries]
    twice = repeated(ids)
    empty = [identifier for identifier in ids if not identifier.strip()]
    claim(
        not twice and not empty,
        required=f"{len(ids)} different identifiers, none empty",
        found=f"{len(set(ids))} different" + (", an empty one among them" if empty else ""),
        documents=twice,
    )


@check("inputs.distinct_identifiers", on_failure="fix", change=MANIFEST)
def test_identifiers_differ_by_more_than_form_or_case(documents: Documents, claim: Claims) -> None:
    _need_manifest(documents, claim)
    groups: dict[str, set[str]] = defaultdict(set)
    for entry in documents.entries:
        groups[_folded(entry.id)].add(entry.id)
    alike = [sorted(group) for group in groups.values() if len(group) > 1]
    claim(
        not alike,
        required="identifiers that stay different after NFKC, case folding and stripping",
        found="; ".join(" = ".join(ascii(one) for one in group) for group in alike) or "all different",
        documents=[identifier for group in alike for identifier in group],
    )


@check("inputs.each_file_once", on_failure="fix", change=MANIFEST)
def test_every_file_is_named_once(documents: Documents, claim: Claims) -> None:
    _need_manifest(documents, claim)
    twice = set(repeated([entry.file for entry in documents.entries]))
    claim(
        not twice,
        required="a file of its own for each identifier",
        found=f"named more than once: {', '.join(sorted(twice))}" if twice else "each file once",
        documents=[entry.id for entry in documents.entries if entry.file in twice],
    )


@check("inputs.readable_files", on_failure="fix", change="the documents folder")
def test_every_file_is_regular_readable_and_inside_the_folder(documents: Documents, claim: Claims) -> None:
    _need_manifest(documents, claim)
    wrong = {}
    for file in documents.files:
        if not file.inside:
            wrong[file.id] = f"{file.file} leaves the folder"
        elif file.kind != "file":
            wrong[file.id] = f"{file.file} is: {file.kind}"
        elif file.error or file.sha256 is None:
            wrong[file.id] = f"{file.file}: {file.error}"
    claim(
        not wrong,
        required=f"{len(documents.files)} regular files inside {documents.folder}",
        found="; ".join(wrong.values()) or f"{len(documents.files)} regular files",
        documents=wrong,
    )


@check("inputs.sums", on_failure="fix", change="the documents: copy them again, or make the manifest anew")
def test_every_file_is_the_one_the_manifest_means(documents: Documents, claim: Claims) -> None:
    _need_manifest(documents, claim)
    read = {file.id: file for file in documents.files if file.sha256 is not None}
    if not read:
        claim.not_reached("inputs.readable_files", "no file could be read")
    differing = [
        entry.id
        for entry in documents.entries
        if entry.id in read and (read[entry.id].sha256, read[entry.id].bytes) != (entry.sha256, entry.bytes)
    ]
    claim(
        not differing,
        required="sha256 and size as in the manifest",
        found=f"{len(differing)} differ" if differing else f"{len(read)} agree",
        documents=differing,
    )


@check("inputs.several_lengths", on_failure="fix", change="the sample of documents")
def test_the_documents_have_several_lengths(documents: Documents, claim: Claims) -> None:
    _need_manifest(documents, claim)
    valid = {entry.id for entry in documents.entries if entry.valid}
    sizes = sorted(file.bytes for file in documents.files if file.bytes is not None and file.id in valid)
    if not sizes:
        claim.not_reached("inputs.readable_files", "no valid document could be read")
    claim(
        len(set(sizes)) >= 3 and sizes[-1] >= 4 * max(sizes[0], 1),
        required="at least three lengths, the longest at least four times the shortest",
        found=f"{len(set(sizes))} lengths from {sizes[0]} to {sizes[-1]} bytes",
    )


@check("inputs.invalid_reserved", on_failure="fix", change=MANIFEST)
def test_an_invalid_case_is_reserved_beside_valid_ones(documents: Documents, claim: Claims) -> None:
    _need_manifest(documents, claim)
    invalid = [entry.id for entry in documents.entries if not entry.valid]
    valid = len(documents.entries) - len(invalid)
    claim(
        bool(invalid) and valid > 0,
        required="at least one document reserved as invalid and at least one valid",
        found=f"{len(invalid)} invalid, {valid} valid",
    )


@check("inputs.categories_allowed", on_failure="fix", change=MANIFEST)
def test_every_expected_category_is_an_allowed_one(
    documents: Documents, parameters: Parameters, claim: Claims
) -> None:
    _need_manifest(documents, claim)
    foreign = {
        entry.id: entry.category
        for entry in documents.entries
        if entry.category is not None and (entry.category not in parameters.categories or not entry.valid)
    }
    claim(
        not foreign,
        required=f"for valid documents one of {', '.join(parameters.categories)}, for invalid ones none",
        found=", ".join(map(str, foreign.values())) or "expectations within that",
        documents=foreign,
    )


@check("inputs.nothing_unnamed", on_failure="fix", change="the documents folder")
def test_the_folder_holds_no_file_that_the_manifest_does_not_name(
    documents: Documents, claim: Claims
) -> None:
    _need_manifest(documents, claim)
    claim(
        not documents.unnamed,
        required="no other file, hidden ones included",
        found=", ".join(documents.unnamed[:20]) or "no other file",
    )


@check(
    "inputs.unchanged",
    on_failure="fix",
    change="whatever wrote to the inputs during the run: the application, or somebody with an editor",
)
def test_the_inputs_are_the_same_after_the_run(
    documents: Documents, application: Application, claim: Claims
) -> None:
    read = [file for file in documents.files if file.sha256 is not None]
    if not read:
        claim.not_reached("inputs.readable_files", "no file could be read")
    touched = application.inputs_changed
    names = {touch.path for touch in touched}
    claim(
        not touched,
        required="every input byte for byte as before",
        found="; ".join(f"{touch.path} {touch.change}" for touch in touched[:12]) or f"{len(read)} the same",
        documents=[file.id for file in read if any(name.endswith("/" + file.file) for name in names)],
    )
