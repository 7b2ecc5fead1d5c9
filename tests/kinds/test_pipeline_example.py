"""The examples of the README for functions and classes, run as they stand there."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.evidence.parameters import Function
from tests.kinds.calling import call

EXAMPLES = Path(__file__).with_name("examples")
README = Path(__file__).resolve().parents[2] / "README.md"
HEADING = "A Hugging Face pipeline"
QUOTED = {
    "classify.py": "python",
    "callable.json": "json",
    "hf_classify.py": "python",
    "pipeline.json": "json",
}

#: a model of a few thousand numbers, with words of its own; LABEL_1 where the text has "agreement" in it
MODEL = """
import sys
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "agreement", "invoice", "word"]
folder = sys.argv[1]
with open(folder + "/vocab.txt", "w") as stream:
    stream.write("\\n".join(words))
tokenizer = BertTokenizerFast(folder + "/vocab.txt", model_max_length=16)
torch.manual_seed(1)
config = BertConfig(
    vocab_size=len(words), hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
    max_position_embeddings=16, num_labels=3,
)
model = BertForSequenceClassification(config)
optimizer = torch.optim.Adam(model.parameters(), 0.02)
texts = ["agreement word", "invoice word", "word agreement word", "word word invoice"]
batch, wanted = tokenizer(texts, padding=True, return_tensors="pt"), torch.tensor([1, 0, 1, 0])
for _ in range(60):
    optimizer.zero_grad()
    model(**batch, labels=wanted).loss.backward()
    optimizer.step()
model.save_pretrained(folder)
tokenizer.save_pretrained(folder)
"""


def _hugging_face() -> tuple[str | None, str]:
    """The interpreter that has transformers, or None and why there is none."""
    named = os.environ.get("GPU_PILOT_HF_PYTHON")
    if named:
        return named, ""
    if importlib.util.find_spec("transformers") and importlib.util.find_spec("torch"):
        return sys.executable, ""
    return (
        None,
        "this interpreter has no transformers with torch, and GPU_PILOT_HF_PYTHON names none that has",
    )


PYTHON, WHY_NONE = _hugging_face()


@functools.cache
def example(name: str) -> str:
    return (EXAMPLES / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", QUOTED)
def test_the_readme_quotes_the_examples(name: str) -> None:
    text = README.read_text(encoding="utf-8")
    if HEADING not in text:
        pytest.skip("README.md has no section with the examples yet")
    assert f"```{QUOTED[name]}\n{example(name)}```" in text


@pytest.mark.parametrize("name", ["callable.json", "pipeline.json"])
def test_the_configurations_are_what_the_parameters_ask_for(name: str) -> None:
    asked = Function.model_validate(json.loads(example(name)))
    assert (asked.batches, asked.gives) == (name == "pipeline.json", "text")


def test_the_function_of_the_readme_does_what_it_says(tmp_path: Path) -> None:
    asked = Function.model_validate_json(example("callable.json"))
    documents = {"doc-1": b"Amount due: 7", "doc-2": b"Clause 4", "doc-3": b"Dear Sir"}
    ran = call(tmp_path, example("classify.py"), documents, callable=named(asked))
    assert ran.categories() == ["invoice", "contract", None]
    assert ran.reason("doc-3") == "ValueError: no word of it says what it is"
    assert ran.status == 0


@pytest.mark.slow
@pytest.mark.skipif(PYTHON is None, reason=WHY_NONE)
def test_the_pipeline_of_the_readme_classifies_with_a_model_saved_and_loaded_offline(tmp_path: Path) -> None:
    """The longest document is longer than the model reads; one is empty, one no text; the batches are of two."""
    assert PYTHON is not None
    asked = Function.model_validate_json(example("pipeline.json"))
    model = tmp_path / "model"
    model.mkdir()
    offline = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    environ = {**os.environ, **offline}
    made = subprocess.run(
        [PYTHON, "-c", MODEL, str(model)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    documents = {
        "doc-1": b"word agreement",
        "doc-2": b"word invoice",
        "doc-3": b" ",
        "doc-4": b"agreement " + b"word " * 500,
        "doc-5": b"\xff\xfe",
        "doc-6": b"Invoice word word",
    }
    ran = call(
        tmp_path, example("hf_classify.py"), documents, python=PYTHON, environ={**offline, "CLASSIFIER": str(model)},
        callable=named(asked), batches=asked.batches, batch_size=2,
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert ran.categories() == ["contract", "invoice", None, "contract", None, "invoice"]
    assert (ran.reason("doc-3"), ran.reason("doc-5")) == ("ValueError: empty", "not valid UTF-8 at byte 0")
    accepted = [record for record in ran.records.values() if record["status"] == "accepted"]
    assert {record["device"] for record in accepted} == {"cpu"}
    assert all(0 < record["score"] <= 1 for record in accepted)


def named(asked: Function) -> str:
    """What the example names, in the module that the test writes."""
    return f"app:{asked.callable.partition(':')[2]}"
