"""An application that behaves as it is told: `app.py BEHAVIOUR MANIFEST RESULTS DEVICE`.

Each behaviour is a function of the records and the place to write them; all but the named fault is healthy.
Standard library only.
"""

import json
import os
import signal
import subprocess
import sys
import time

CATEGORIES = ["invoice", "contract", "support_ticket", "resume", "medical_report"]
BEHAVIOURS = {}


def behaviour(function):
    BEHAVIOURS[function.__name__] = function
    return function


class Job:
    """What the application was given, and the healthy answer to it."""

    def __init__(self, manifest, results, device):
        self.manifest, self.results, self.device = manifest, results, device
        self.folder = os.path.dirname(manifest)
        with open(manifest, encoding="utf-8") as stream:
            self.documents = json.load(stream)["documents"]

    def records(self):
        answer = []
        for document in self.documents:
            try:
                with open(os.path.join(self.folder, document["file"]), encoding="utf-8") as stream:
                    words = stream.read().split()
                number = int(words[1].strip("."))
                category = CATEGORIES[number % 5]
                answer.append({"id": document["id"], "status": "accepted", "category": category, "device": self.device})
            except UnicodeDecodeError as error:
                answer.append({"id": document["id"], "status": "rejected", "reason": "not UTF-8 at byte %d" % error.start})
            except OSError as error:
                answer.append({"id": document["id"], "status": "rejected", "reason": "unreadable: %s" % error.strerror})
        return answer

    def write(self, records, text=None):
        with open(self.results, "x", encoding="utf-8", newline="") as stream:
            stream.write(text if text is not None else "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records))

    def write_bytes(self, data):
        with open(self.results, "xb") as stream:
            stream.write(data)


@behaviour
def healthy(job):
    job.write(job.records())


@behaviour
def loses_one(job):
    job.write([record for record in job.records() if record["id"] != "doc-05"])


@behaviour
def sleeps(job):
    """Long enough to be interrupted; writes half, waits, writes the rest."""
    records = job.records()
    with open(job.results, "x", encoding="utf-8") as stream:
        for number, record in enumerate(records):
            stream.write(json.dumps(record) + "\n")
            stream.flush()
            if number == 5:
                time.sleep(30)


if __name__ == "__main__":
    BEHAVIOURS[sys.argv[1]](Job(*sys.argv[2:5]))
