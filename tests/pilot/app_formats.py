"""An application that writes its results in another form: `app_formats.py FORM MANIFEST RESULTS DEVICE [MORE...]`.

MORE are pairs `old=new`: replaced in what is written, so that one word says what is wrong.
"""

import csv
import io
import json
import sys

from app import Job

FORMS = {}


def form(function):
    FORMS[function.__name__] = function
    return function


def rows(job, names=("id", "status", "category", "reason")):
    keys = ("id", "status", "category", "reason")
    return [
        {name: record.get(key, "") for name, key in zip(names, keys, strict=True)} for record in job.records()
    ]


def delimited(records, delimiter=",", **more):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(records[0]), delimiter=delimiter, **more)
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


@form
def comma(job):
    return delimited(rows(job))


@form
def tab(job):
    return delimited(rows(job), "\t", lineterminator="\n")


@form
def own_words(job):
    """Columns and words of its own, and one column more."""
    words = {"accepted": "ok", "rejected": "failed"}
    records = rows(job, ("name", "state", "label", "error"))
    return delimited([{**record, "state": words[record["state"]], "seconds": "0.1"} for record in records])


@form
def without_a_status(job):
    records = rows(job)
    for record in records:
        del record["status"]
    return delimited(records)


@form
def array(job):
    return json.dumps(job.records(), indent=1)


@form
def by_identifier(job):
    records = job.records()
    return json.dumps({"run": {"documents": {record.pop("id"): record for record in records}}})


@form
def truth_values(job):
    return "".join(
        json.dumps({**record, "status": record["status"] == "accepted"}) + "\n" for record in job.records()
    )


if __name__ == "__main__":
    job = Job(*sys.argv[2:5])
    text = FORMS[sys.argv[1]](job)
    for word in sys.argv[5:]:
        old, _, new = word.partition("=")
        assert old in text or not text, old
        text = text.replace(old, new)
    with open(job.results, "x", encoding="utf-8", newline="") as stream:
        stream.write(text)
