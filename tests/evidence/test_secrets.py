"""What looks like a secret, and its twins that do not."""

from __future__ import annotations

import string
from typing import Any

import pytest

from fixtures.evidence import secrets

# Put together here, so that no scanner of repositories takes this file for a leak.
LONG = (string.ascii_letters + string.digits) * 2
KINDS: dict[str, list[str]] = {
    "a private key": ["-----BEGIN " + kind + "PRIVATE KEY-----\nMIIE" for kind in ("", "RSA ", "OPENSSH ", "EC ")],
    "an AWS access key": ["AKIA" + "ABCDEFGH12345678", "key=" + "ASIA" + "ABCDEFGH12345678,"],
    "a Hugging Face token": ["hf_" + LONG[:34], "--x=" + "hf_" + LONG[:20]],
    "a GitHub token": ["ghp_" + LONG[:36], "gho_" + LONG[:36], "github_pat_" + LONG[:50]],
    "an API key": ["sk-" + LONG[:48], "sk-" + "proj-" + LONG[:30]],
    "a Slack token": ["xoxb-" + "123456789012-" + LONG[:10]],
    "a JSON web token": ["eyJ" + LONG[:20] + ".eyJ" + LONG[:20] + "." + LONG[:20]],
    "a password in an address": [
        "https://user:secret@host/path", "postgresql://admin:pw@10.0.0.1:5432/db", "HTTPS://u:p@h", "redis://:pw@h",
    ],
    "a GitLab token": ["glpat-" + LONG[:20]],
    "an npm token": ["npm_" + LONG[:36]],
    "a Google API key": ["AIza" + LONG[:35]],
    "a bearer token": ["Authorization: Bearer " + LONG[:30]],
    "a key in a variable": ["OPENROUTER_KEY=abc", "DB_PASS=abc"],
    "a secret given by name": [
        "--secret-key=abc", "--passphrase=abc", "--pass=abc", "OPENAI_KEY=abc", "--wandb-key=abc",
        "Name=a;AccountKey=abc",
        "--password=hunter2", "password: hunter2", "API_KEY=abc", "--api-key=abc", "x-auth-token: abc", "HF_TOKEN=abc",
        "client_secret=abc", "AWS_SECRET_ACCESS_KEY=abc",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in KINDS.items() for text in texts])
def test_it_is_recognised(kind: str, text: str) -> None:
    assert secrets.kind_of(text) is not None
    assert list(secrets.find({"application": {"command": ["{python}", text]}})) == [
        ("application.command.1", secrets.kind_of(text))
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_text_of_its_own(kind: str) -> None:
    assert kind in {secrets.kind_of(text) for text in KINDS[kind]}
    assert set(KINDS) == set(secrets.KINDS)


BY_NAME: dict[str, tuple[Any, str]] = {
    "a flag and its value": (["app", "--password", "hunter2"], ".2"),
    "a flag with a short name": (["app", "--token", "abc"], ".2"),
    "a flag of several words": (["app", "--hf-api-key", "abc"], ".2"),
    "a key": ({"references": {"password": "x"}}, "references.password"),
    "a key of several words": ({"a": {"db_password": "x"}}, "a.db_password"),
    "a key of credentials": ({"credentials": "x"}, "credentials"),
    "a key in capitals": ({"HF_TOKEN": "x"}, "HF_TOKEN"),
    "in depth": ([{"a": [{"secret": "x"}]}], ".0.a.0.secret"),
}


@pytest.mark.parametrize("case", BY_NAME)
def test_a_secret_is_recognised_by_what_it_is_called(case: str) -> None:
    value, place = BY_NAME[case]
    assert list(secrets.find(value)) == [(place, "a secret given by name")]


TWINS: list[Any] = [
    ["app", "--max-tokens", "512"], ["app", "--max-tokens=512"], ["app", "--max-new-tokens=512"],
    ["app", "--tokenizer", "bert-base-uncased"], ["app", "--tokenizer=bert-base-uncased"],
    ["app", "--pad-token", "<pad>"], ["app", "--eos-token=</s>"], ["app", "--mask_token=[MASK]"],
    ["app", "--token-limit=4096"], ["app", "--tokens", "4096"],
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ["token", "secret", "password", "credentials"], "token_classification", "secret", "password",
    "s3://bucket/path", "gs://bucket/a:b/c", "https://huggingface.co/bert-base-uncased", "https://host:8080/path",
    "https://host:8080/a@b", "ssh://user@host/path", "user@host", "user@host:/folder", "git@github.com:owner/name.git",
    "meta-llama/Llama-3.1-8B-Instruct", "sentence-transformers/all-MiniLM-L6-v2", "hf_model", "hf-internal/tiny",
    "sk-learn", "eyJ", "AKIA", "xoxb-", "ghp_short", "/home/renter/secrets/manifest.json", "data/password-resets",
    "{python}", "12:30", "a:b@c", {"max_tokens": "512", "tokenizer": "x", "token_type": "y", "keys": "z"},
    {"password": ""}, {"token": 5}, None, True, 1.5, [], {},
]  # fmt: skip


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: str(twin)[:40])
def test_its_twin_is_not_taken_for_one(twin: Any) -> None:
    assert list(secrets.find({"a": twin})) == []


def test_what_is_found_never_holds_the_value() -> None:
    for texts in KINDS.values():
        for text in texts:
            assert all(text not in f"{place} {kind}" for place, kind in secrets.find([text]))


def test_a_secret_used_as_a_key_is_found_and_not_shown() -> None:
    token = "hf_" + LONG[:34]
    found = list(secrets.find({"references": {token: "data"}}))
    assert [kind for _, kind in found] == ["a Hugging Face token"]
    assert token not in str(found)


def test_a_command_line_is_kept_without_its_secrets() -> None:
    given = [
        "pytest",
        "suites/gpu",
        "--password",
        "hunter2",
        "-o",
        "name=hf_" + LONG[:34],
        "--max-tokens",
        "512",
    ]
    kept = secrets.hidden(given)
    assert kept[:3] == given[:3]
    assert kept[-2:] == given[-2:]
    assert not [word for word in kept if "hunter2" in word or LONG[:34] in word]


@pytest.mark.parametrize("text", ["--sort-key=name", "--primary-key", "--two-pass=true", "keys=3"])
def test_a_word_that_only_sounds_like_one_is_none(text: str) -> None:
    assert secrets.kind_of(text) is None
