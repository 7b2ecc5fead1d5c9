"""config/pilot.json and config/order.json: each key wrong in each way, and the message that says so."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence import order
from fixtures.evidence import parameters
from fixtures.evidence.base import InputError

ROOT = Path(__file__).resolve().parents[2]
GOOD: dict[str, Any] = {
    "documents": {"manifest": "m.json", "expected": 12},
    "categories": ["invoice", "contract"],
    "application": {
        "kind": "command",
        "command": ["{python}", "app.py", "{manifest}", "{results}"],
        "python": None,
        "deadline_s": 600,
        "no_progress_s": 120.5,
        "batch_size": 4,
        "output_limit_mb": 512,
    },
    "copy_to": "../copies",
    "planned": {"documents": 50000, "longest_bytes": 400000},
    "references": {"model": "m.safetensors"},
}
ORDER: dict[str, Any] = {"card": "NVIDIA H200", "lots": 1, "cards": 1, "days": 3, "preparation": "PyTorch"}
GONE = object()


def changed(value: dict[str, Any], place: str, to: Any) -> dict[str, Any]:
    result = copy.deepcopy(value)
    *way, last = place.split(".")
    inner = result
    for key in way:
        inner = inner[key]
    if to is GONE:
        del inner[last]
    else:
        inner[last] = to
    return result


def refused(folder: Path, read: Any, value: Any) -> InputError:
    path = folder / "given.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read(path)
    problem = error.value
    assert problem.file == str(path)
    assert problem.found
    assert problem.wanted
    assert str(problem) == f"{path}: {problem.place + ': ' if problem.place else ''}".rstrip(" :") + (
        f": found {problem.found}; wanted {problem.wanted}"
    )
    return problem


WRONG: list[tuple[str, Any, str]] = [
    # key, value, what is found
    ("documents", GONE, "nothing"),
    ("documents", None, "None"),
    ("documents", [], "a list"),
    ("documents", "m", "'m'"),
    ("documents.manifest", "", "''"),
    ("documents.manifest", 5, "5"),
    ("documents.manifest", "a\0b", r"'a\x00b'"),
    ("documents.expected", "12", "'12'"),
    ("documents.expected", True, "True"),
    ("documents.expected", 12.5, "12.5"),
    ("documents.expected", 1, "1"),
    ("documents.expected", -12, "-12"),
    ("documents.expected", None, "None"),
    ("categories", GONE, "nothing"),
    ("categories", "invoice", "'invoice'"),
    ("categories", ["a"], "a list"),
    ("categories", ["a", ""], "''"),
    ("categories", ["a", 1], "1"),
    ("categories", ["a", "A "], "a list"),
    ("categories", {"a": 1, "b": 2}, "a dict"),
    ("categories", ["a", None], "None"),
    ("application", GONE, "nothing"),
    ("application.kind", GONE, "nothing"),
    ("application.kind", "shell", "'shell'"),
    ("application.command", GONE, "nothing"),
    ("application.command", [], "a list"),
    ("application.command", "app {manifest} {results}", "'app {manifest} {results}'"),
    ("application.command", ["app", "{manifest}"], "a list"),
    ("application.command", ["app", "{results}"], "a list"),
    ("application.command", ["app", "{results}", "{manifest}", "{gpu}"], "a list"),
    ("application.command", ["app", "{results}", "{manifest}", ""], "''"),
    ("application.command", ["app", "{results}", "{manifest}", 4], "4"),
    ("application.python", "", "''"),
    ("application.python", ["python3"], "a list"),
    ("application.deadline_s", "600", "'600'"),
    ("application.deadline_s", True, "True"),
    ("application.deadline_s", 0, "0"),
    ("application.deadline_s", -1, "-1"),
    ("application.deadline_s", 1e9, "1000000000.0"),
    ("application.no_progress_s", None, "None"),
    ("application.no_progress_s", "soon", "'soon'"),
    ("application.batch_size", 0, "0"),
    ("application.batch_size", 1.5, "1.5"),
    ("application.batch_size", False, "False"),
    ("application.output_limit_mb", 0, "0"),
    ("application.output_limit_mb", "1", "'1'"),
    ("application.results", {"fields": {"id": "name", "category": "name"}}, "a dict"),
    ("application.results", {"fields": {"category": "reason", "status": None}}, "a dict"),
    ("application.results", {"fields": {"status": None, "id": "category"}}, "a dict"),
    ("copy_to", "", "''"),
    ("copy_to", 1, "1"),
    ("copy_to", False, "False"),
    ("planned.documents", 0, "0"),
    ("planned.documents", GONE, "nothing"),
    ("planned.longest_bytes", "1", "'1'"),
    ("references", [], "a list"),
    ("references.model", 1, "1"),
    ("references.model", None, "None"),
]
UNKNOWN = ["extra", "documents.extra", "application.extra", "application.shell", "planned.extra"]


@pytest.mark.parametrize(("place", "value", "found"), WRONG)
def test_parameters_are_refused_with_place_found_and_wanted(
    place: str, value: Any, found: str, tmp_path: Path
) -> None:
    problem = refused(tmp_path, parameters.read, changed(GOOD, place, value))
    assert problem.place.startswith(place)
    assert problem.found == found


@pytest.mark.parametrize("place", UNKNOWN)
def test_an_unknown_key_is_refused_by_name(place: str, tmp_path: Path) -> None:
    problem = refused(tmp_path, parameters.read, changed(GOOD, place, 1))
    assert (problem.place, problem.found) == (place, "a key that is not known here")


WRONG_ORDER: list[tuple[str, Any, str]] = [
    ("card", GONE, "nothing"), ("card", "", "''"), ("card", 200, "200"),
    ("lots", 0, "0"), ("lots", 11, "11"), ("lots", "1", "'1'"), ("lots", True, "True"), ("lots", 1.5, "1.5"),
    ("cards", 0, "0"), ("cards", "1", "'1'"), ("cards", GONE, "nothing"), ("cards", None, "None"),
    ("days", 5, "5"), ("days", "3", "'3'"), ("days", 3.5, "3.5"),
    ("preparation", "Windows", "'Windows'"), ("preparation", None, "None"), ("preparation", "pytorch", "'pytorch'"),
    ("extra", 1, "a key that is not known here"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value", "found"), WRONG_ORDER)
def test_an_order_is_refused_with_place_found_and_wanted(
    place: str, value: Any, found: str, tmp_path: Path
) -> None:
    problem = refused(tmp_path, order.read, changed(ORDER, place, value))
    assert (problem.place, problem.found) == (place, found)


NO_JSON: dict[str, tuple[str, str]] = {
    "nothing": ("", "expecting value"),
    "a list": ("[]", "a list"),
    "null": ("null", "None"),
    "a key twice": ('{"documents": 1, "documents": 2}', "twice"),
    "NaN": ('{"documents": NaN}', "NaN"),
    "a comment": ("{} // no", "extra data"),
    "a byte order mark": ("\ufeff{}", "byte order mark"),
    "deep nesting": ("[" * 3000 + "]" * 3000, "nesting too deep"),
}


@pytest.mark.parametrize("read", [parameters.read, order.read])
@pytest.mark.parametrize("case", NO_JSON)
def test_what_is_no_strict_json_object_is_refused(case: str, read: Any, tmp_path: Path) -> None:
    text, words = NO_JSON[case]
    assert words in refused(tmp_path, read, text).found


@pytest.mark.parametrize("read", [parameters.read, order.read])
def test_what_cannot_be_read_is_refused(read: Any, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"gone\.json: found No such file or directory; wanted a readable file"
    ):
        read(tmp_path / "gone.json")
    for name, make in (("folder", os.mkdir), ("pipe", os.mkfifo)):
        make(tmp_path / name)
        with pytest.raises(InputError, match="found a folder, a pipe or a device; wanted a regular file"):
            read(tmp_path / name)
    (tmp_path / "latin.json").write_bytes(b'{"card": "\xe9"}')
    with pytest.raises(InputError, match="byte 10: found bytes that are not UTF-8; wanted UTF-8 text"):
        read(tmp_path / "latin.json")


def test_two_fields_of_one_name_are_named_with_their_place(tmp_path: Path) -> None:
    given = changed(
        GOOD, "application.results", {"fields": {"category": "label", "reason": "label", "status": None}}
    )
    problem = refused(tmp_path, parameters.read, given)
    assert (problem.place, "'label'" in problem.wanted) == ("application.results.fields", True)


def test_several_faults_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    twice = changed(changed(GOOD, "documents.expected", 1), "application.batch_size", 0)
    assert refused(tmp_path, parameters.read, twice).wanted.endswith("(and 1 more)")


HEALTHY: list[tuple[str, Any]] = [
    ("copy_to", None),
    ("copy_to", GONE),
    ("planned", None),
    ("planned", GONE),
    ("references", GONE),
    ("references", {}),
    ("documents.manifest", GONE),
    ("documents.expected", 2),
    ("application.python", "python3.12"),
    ("application.deadline_s", 0.5),
    ("application.deadline_s", GONE),
    ("application.batch_size", GONE),
    ("application.command", ["app", "--in={documents}", "--out={results}"]),
    ("application.command", ["app", "{manifest}", "{results}", "--max-tokens", "512"]),
    (
        "application.command",
        [
            "app",
            "{manifest}",
            "{results}",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ],
    ),
    ("application.results", {"fields": {"id": "name", "category": "id"}}),
    ("application.results", {"fields": {"status": None, "category": "status"}}),
    ("categories", ["token", "secret"]),
    ("categories", ["发票", "合同"]),
    ("references", {"data": "s3://bucket/path"}),
]


@pytest.mark.parametrize(("place", "value"), HEALTHY)
def test_parameters_are_accepted(place: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "pilot.json"
    path.write_text(json.dumps(changed(GOOD, place, value)), encoding="utf-8")
    assert parameters.read(path).categories


@pytest.mark.parametrize("card", ["AMD Instinct MI300X", None])
def test_an_order_is_accepted_also_before_the_card_is_written_down(card: str | None, tmp_path: Path) -> None:
    path = tmp_path / "order.json"
    path.write_text(json.dumps({**ORDER, "card": card}), encoding="utf-8")
    assert order.read(path).card == card


def test_the_files_of_the_project_are_accepted() -> None:
    assert parameters.read(ROOT / "config" / "pilot.json").documents.expected == 12
    assert order.read(ROOT / "config" / "order.json").card is None


# Put together here, so that no scanner of repositories takes this file for a leak.
TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEF12"
SECRETS: list[tuple[str, Any]] = [
    ("application.command", ["app", "{manifest}", "{results}", "--token", "hunter2hunter2"]),
    ("application.command", ["app", "{manifest}", "{results}", "--password=hunter2hunter2"]),
    ("application.command", ["app", "{manifest}", "{results}", TOKEN]),
    ("references", {"data": "https://renter:hunter2hunter2@host/data"}),
    ("references", {"password": "hunter2hunter2"}),
    ("references", {TOKEN: "data"}),
    ("copy_to", "sftp://renter:hunter2hunter2@host/copies"),
    # of the wrong type as well: the other message must not show it either
    ("application.deadline_s", TOKEN),
    ("application.kind", TOKEN),
    ("documents", "https://renter:hunter2hunter2@host/data"),
    (TOKEN, 1),
]


@pytest.mark.parametrize(("place", "value"), SECRETS)
def test_what_looks_like_a_secret_is_refused_and_never_shown(place: str, value: Any, tmp_path: Path) -> None:
    problem = refused(tmp_path, parameters.read, changed(GOOD, place, value))
    for secret in (TOKEN, "hunter2"):
        assert secret not in str(problem)


KNOWN = sorted(parameters.PLACEHOLDERS)


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_placeholder_is_put_in_wherever_it_stands(name: str) -> None:
    values = {**dict.fromkeys(KNOWN, "other"), name: "/a b/c"}
    assert parameters.expand([f"{{{name}}}", f"--x={{{name}}},{{{name}}}"], values) == [
        "/a b/c",
        "--x=/a b/c,/a b/c",
    ]


@pytest.mark.parametrize("name", ["gpu", "result", "pythons", "_x"])
def test_an_unknown_placeholder_is_an_error_that_names_the_known_ones(name: str) -> None:
    with pytest.raises(ValueError, match=rf"not {{{name}}}") as error:
        parameters.expand([f"--x={{{name}}}"], dict.fromkeys(KNOWN, ""))
    assert all(f"{{{known}}}" in str(error.value) for known in KNOWN)


BRACES = [
    '{"a": {"b": [1, 2]}}',
    "{}",
    "{0}",
    "${HOME}",
    "{A}",
    "{a b}",
    "{a-b}",
    "}{",
    "{{",
    '{"path": 1}',
    "{,}",
    "\\{",
]


@pytest.mark.parametrize("argument", BRACES)
def test_other_braces_stay_as_they_are(argument: str) -> None:
    assert parameters.expand([argument], dict.fromkeys(KNOWN, "x")) == [argument]


def test_a_placeholder_inside_json_is_put_in_and_the_json_survives() -> None:
    given = '{"out": "{results}", "opts": {"n": {"m": 1}}}'
    assert (
        json.loads(parameters.expand([given], {**dict.fromkeys(KNOWN, ""), "results": "/r"})[0])["out"]
        == "/r"
    )


def test_a_value_that_looks_like_a_placeholder_is_not_expanded_again() -> None:
    values = dict.fromkeys(KNOWN, "x") | {"manifest": "/renter/{results}/{device}.json"}
    assert parameters.expand(["{manifest}"], values) == ["/renter/{results}/{device}.json"]
