"""Configurations that are refused before a trial begins, and those that look like them and are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.entries import raw
from tests.pilot.entries import Refusal
from tests.pilot.entries import Twin

PILOT, ORDER = "pilot.json", "order.json"
#: none of them opens anything; each is put together here, so that no scanner takes this file for a leak
KEY = "AKIA" + "QX5EXAMPLE7WXYZ2"
TOKEN = "hf" + "_" + "x9Yb3kQmTz7LwNvRpSdFgHjKlMnBvCxZaQ"
PASSWORD = "correct-horse-battery"


def _parameters(**keys: Any) -> Change:
    return lambda bench: bench.parameters.update(keys)


def _application(**keys: Any) -> Change:
    return lambda bench: bench.parameters["application"].update(keys)


def _arguments(*more: str) -> Change:
    return lambda bench: bench.parameters["application"]["command"].extend(more)


def _order(**keys: Any) -> Change:
    return lambda bench: bench.order.update(keys)


def _without(which: Callable[[Bench], dict[str, Any]], key: str) -> Change:
    def change(bench: Bench) -> None:
        del which(bench)[key]

    return change


def _categories(*named: str) -> Change:
    return _parameters(categories=list(named))


def _more_categories(*named: str) -> Change:
    return lambda bench: bench.parameters.update(categories=[*bench.parameters["categories"], *named])


NO_SECRET = "no secret in this file"
SHOWN = "(not shown)"

_PARAMETERS = [
    Refusal("parameters-that-are-no-json", raw(PILOT, b"documents: 12\n"), PILOT, "line 1 column 1",
        "expecting value", "strict JSON"),
    Refusal("parameters-with-a-key-twice", raw(PILOT, b'{"documents": {}, "documents": {}}'), PILOT, "",
        "the key 'documents' twice", "strict JSON"),
    Refusal("parameters-with-an-unknown-key", _parameters(catgories=["invoice"]), PILOT, "catgories",
        "a key that is not known here", "only the keys that README.md names"),
    Refusal("parameters-with-an-unknown-key-below", _application(dead_line_s=5), PILOT,
        "application.dead_line_s", "a key that is not known here", "only the keys"),
    Refusal("parameters-without-a-key", _without(lambda bench: bench.parameters, "categories"), PILOT,
        "categories", "nothing", "this key"),
    Refusal("a-number-written-as-text", _application(deadline_s="60"), PILOT, "application.deadline_s",
        "'60'", "a valid number"),
    Refusal("a-command-as-one-text", _application(command="python app.py {manifest} {results}"), PILOT,
        "application.command", "'python app.py {manifest} {results}'", "a valid array"),
    Refusal("an-unknown-placeholder", _arguments("{gpu}"), PILOT, "application.command", "a list",
        "not {gpu}", twin="braces-in-an-argument"),
    Refusal("categories-that-differ-by-case", _categories("invoice", "Invoice"), PILOT, "categories",
        "a list", "categories that differ by more than case", twin="a-category-called-token"),
]  # fmt: skip

_SECRETS = [
    Refusal("a-cloud-key", _arguments(KEY), PILOT, "application.command.6",
        f"what looks like an AWS access key {SHOWN}", NO_SECRET, KEY, twin="values-that-look-like-secrets"),
    Refusal("a-token-after-its-name", _arguments("--hub-token", PASSWORD), PILOT, "application.command.7",
        f"what looks like a secret given by name {SHOWN}", NO_SECRET, PASSWORD,
        twin="values-that-look-like-secrets"),
    Refusal("a-password-in-an-address", _parameters(copy_to=f"s3://me:{PASSWORD}@storage/copies"), PILOT,
        "copy_to", f"a password in an address {SHOWN}", NO_SECRET, PASSWORD,
        twin="values-that-look-like-secrets"),
    Refusal("a-secret-under-an-unknown-key", _parameters(api_key=PASSWORD), PILOT, "api_key",
        "a key that is not known here", "only the keys", PASSWORD),
    Refusal("a-secret-of-the-wrong-type", _application(deadline_s=TOKEN), PILOT, "application.deadline_s",
        f"what looks like a Hugging Face token {SHOWN}", "a valid number", TOKEN),
]  # fmt: skip

_ORDER = [
    Refusal("an-order-that-is-no-json", raw(ORDER, b"H200"), ORDER, "line 1 column 1", "expecting value",
        "strict JSON"),
    Refusal("an-order-with-an-unknown-key", _order(price=100), ORDER, "price", "a key that is not known here",
        "only the keys"),
    Refusal("an-order-of-cards-as-text", _order(cards="1"), ORDER, "cards", "'1'", "a valid integer"),
]  # fmt: skip

REFUSALS = [*_PARAMETERS, *_SECRETS, *_ORDER]

TWINS = [
    Twin("values-that-look-like-secrets", _arguments(
        "--max-tokens", "512", "--tokenizer", "bert-base", "--expect", "e3b0c44298fc1c149afbf4c8996fb924" * 2,
        "--index", "s3://bucket/path", "--host", "user@machine", "--model", "hf_internal/tiny", "--key", "id",
    )),
    Twin("braces-in-an-argument", _arguments('{"temperature": 0}', "{}", "{A}", "{x y}")),
    Twin("a-category-called-token", _more_categories("token", "secret", "password")),
]  # fmt: skip
