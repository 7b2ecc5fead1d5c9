"""Functions for the `callable` kind: what a renter has, and what can be wrong with it. Standard library only."""

import ctypes
import os
import subprocess
import sys
import time

CATEGORIES = ["invoice", "contract", "support_ticket", "resume", "medical_report"]


def number_of(text):
    return int(text.split()[1].strip("."))


def classify(text):
    return CATEGORIES[number_of(text) % 5]


class Classifier:
    """Constructed once; it is told the device, and tells the score as well."""

    def __init__(self, device):
        self.device = device
        print("weights loaded", flush=True)

    def __call__(self, text):
        return {"category": classify(text), "score": 0.9, "device": self.device}


def of_a_path(path):
    with open(path, encoding="utf-8") as stream:
        return classify(stream.read())


def of_bytes(data):
    return classify(data.decode("utf-8"))


async def awaited(text):
    return classify(text)


def of_many(texts):
    return [classify(text) for text in texts]


# -- what can be wrong -----------------------------------------------------------------------------------


def answers_nothing_for_5(text):
    return None if number_of(text) == 5 else classify(text)


def refuses_5(text):
    if number_of(text) == 5:
        raise ValueError("the document is too long")
    return classify(text)


def crashes_at_5(text):
    if number_of(text) == 5:
        ctypes.string_at(0)
    return classify(text)


def leaves_at_5(text):
    if number_of(text) == 5:
        os._exit(0)
    return classify(text)


def crashes_at_what_is_invalid(data):
    try:
        return classify(data.decode("utf-8"))
    except UnicodeDecodeError:
        ctypes.string_at(0)


def hangs_at_5(text):
    if number_of(text) == 5:
        time.sleep(120)
    return classify(text)


def out_of_memory_at_11(text):
    if number_of(text) == 11:
        raise type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.72 GiB"
        )
    return classify(text)


def loses_one_of_many(texts):
    return [classify(text) for text in texts][: len(texts) - (len(texts) > 1)]


def turns_many_round(texts):
    """Sorted by length, and never sorted back; the last batch holds one document less."""
    return [classify(text) for text in sorted(texts, key=len, reverse=True)]


class Remembers:
    """What it answers depends on what it was asked before."""

    def __init__(self):
        self.before = 0

    def __call__(self, text):
        number = number_of(text)
        follows, self.before = number == self.before + 1, number
        return CATEGORIES[number % 5] if follows else "invoice"


def leaves_a_child(text):
    if number_of(text) == 5:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], start_new_session=True)
    return classify(text)


def writes_beside(text):
    """A cache that belongs into no folder of documents."""
    with open(os.environ["BESIDE"], "a", encoding="utf-8") as stream:
        stream.write(text[:10])
    return classify(text)


def computes_for_ever(text):
    while number_of(text) == 5:
        pass
    return classify(text)


def on_the_cpu(text):
    return {"category": classify(text), "device": "cpu"}


def quotes_its_token(text):
    if number_of(text) == 5:
        raise PermissionError(f"401 for the token {os.environ['STORE_OF_MODELS']}")
    return classify(text)


def prints_and_forks(text):
    """Healthy, though noisy: output, a child that prints too, and a stdout of its own."""
    print("{'id': 'doc-01'}", flush=True)
    if os.fork() == 0:
        os.write(1, b'{"id": "doc-01", "status": "accepted"}\n')
        os._exit(0)
    os.wait()
    sys.stdout = sys.stderr
    return classify(text)
