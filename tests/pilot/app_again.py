"""An application that only shows what is wrong with it when it is run again.

`app_again.py BEHAVIOUR MANIFEST RESULTS DEVICE BATCH_SIZE [MORE...] [--resume]`. Results are written one line at a
time; with --resume they are added to those that are there.
"""

import json
import os
import sys
import time

from app import Job

BEHAVIOURS = {}


def behaviour(function):
    BEHAVIOURS[function.__name__] = function
    return function


class Again(Job):
    def __init__(self, manifest, results, device, batch_size, *more):
        super().__init__(manifest, results, device)
        self.batch_size, self.resume = int(batch_size), "--resume" in more
        self.more = [word for word in more if word != "--resume"]

    def stream(self, records, mode="a"):
        """One line at a time, each on the disk at once."""
        with open(self.results, mode, encoding="utf-8") as stream:
            for record in records:
                tell({"document": record["id"], "at": time.time()})
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
                stream.flush()

    def whole(self):
        """The whole lines of the results so far; a torn one is taken off the file."""
        if not os.path.exists(self.results):
            return []
        with open(self.results, "r+b") as stream:
            lines = stream.read().splitlines(keepends=True)
            kept = [line for line in lines if line.endswith(b"\n")]
            stream.truncate(sum(map(len, kept)))
        return [json.loads(line) for line in kept]

    def rest(self):
        done = {record["id"] for record in self.whole()}
        return [record for record in self.records() if record["id"] not in done]


def tell(line):
    path = os.environ.get("GPU_PILOT_TOLD")
    if path:
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")


@behaviour
def goes_on(job):
    """Healthy: what is done stays, a torn line is repaired, the rest is added."""
    job.stream(job.rest() if job.resume else job.records())


# -- order, names and batches ------------------------------------------------------------------------------


@behaviour
def labels_by_position(job):
    """The categories come back in the order of the files' names, and are put beside the manifest's order."""
    answers = iter(
        [
            record
            for record in sorted(job.records(), key=lambda one: job.path(one["id"]))
            if "category" in record
        ]
    )
    records = [
        record if "reason" in record else {**next(answers), "id": record["id"]} for record in job.records()
    ]
    job.stream(records, "x")


@behaviour
def labels_by_file_name(job):
    """It knows the documents by what their files were called when it was written."""
    records = []
    for record in job.records():
        if "category" in record and not os.path.basename(job.path(record["id"])).startswith("doc-"):
            record = {**record, "category": "invoice"}
        records.append(record)
    job.stream(records, "x")


@behaviour
def depends_on_the_batch(job):
    """Padding to the longest of the batch changes the last of it."""
    records = job.records()
    if job.batch_size != 4:
        records = [{**one, "category": "invoice"} if one["id"] in job.more else one for one in records]
    job.stream(records, "x")


@behaviour
def hesitates(job, ahead):
    """Its two best categories for doc-05 are `ahead` apart, and another batch turns them round."""
    records = []
    for record in job.records():
        scores = (
            {"invoice": 0.5, "contract": 0.5 - float(ahead)}
            if record["id"] == "doc-05"
            else {"a": 0.9, "b": 0.1}
        )
        if record["id"] == "doc-05" and job.batch_size != 4:
            record = {**record, "category": "contract"}
        records.append({**record, "scores": scores} if "category" in record else record)
    job.stream(records, "x")


@behaviour
def writes_when_it_was(job):
    """Healthy: what it adds to a record may differ from run to run."""
    job.stream([{**record, "at": time.time_ns()} for record in job.rest()])


@behaviour
def runs_once_only(job, lock):
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    goes_on(job)


# -- going on ----------------------------------------------------------------------------------------------


@behaviour
def does_everything_again(job):
    """Appends, and looks at nothing that is there but the torn line."""
    job.whole()
    job.stream(job.records())


@behaviour
def begins_anew(job):
    """All twelve are there in the end, and nothing was saved."""
    job.stream([{**record, "run": os.getpid()} for record in job.records()], "w")


@behaviour
def begins_anew_in_silence(job):
    """Every record is as it was in the end, one by one; only that the others were gone meanwhile gives it away."""
    with open(job.results, "w", encoding="utf-8") as stream:
        for record in job.records():
            time.sleep(0.05)
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            stream.flush()


@behaviour
def writes_only_at_its_end(job):
    text = "".join(json.dumps(record) + "\n" for record in job.records())
    time.sleep(0.2)
    job.write_text(text)


@behaviour
def forgets_what_was_done(job):
    """Writes only what this run has done."""
    rest = job.rest() if job.resume else job.records()
    job.stream(rest, "w")


@behaviour
def goes_on_behind_the_torn_line(job):
    """Counts lines rather than reading them: the torn one passes for done, and the next is written behind it."""
    done = 0
    if job.resume and os.path.exists(job.results):
        with open(job.results, "rb") as stream:
            done = len(stream.read().splitlines())
    job.stream(job.records()[done:])


@behaviour
def does_the_torn_one_again_and_leaves_it(job):
    """The torn line is redone on a line of its own, and stays."""
    torn, done = False, set()
    if job.resume:
        with open(job.results, "rb") as stream:
            lines = stream.read().splitlines(keepends=True)
        torn = not lines[-1].endswith(b"\n")
        done = {json.loads(line)["id"] for line in lines if line.endswith(b"\n")}
    if torn:
        with open(job.results, "a", encoding="utf-8") as stream:
            stream.write("\n")
    job.stream([record for record in job.records() if record["id"] not in done])


@behaviour
def computes_again_what_is_done(job):
    """The results are right, but nothing was saved: it tells that it began every document once more."""
    for document in job.documents if job.resume else []:
        tell({"document": document["id"], "at": time.time()})
    goes_on(job)


@behaviour
def goes_on_with_another_model(job):
    """What it does after an interruption it does differently."""
    rest = job.rest() if job.resume else job.records()
    job.stream([{**one, "category": "invoice"} if job.resume and "category" in one else one for one in rest])


@behaviour
def cannot_go_on(job):
    if job.resume:
        sys.exit("error: results exist already")
    goes_on(job)


@behaviour
def wants_all_twelve(job):
    """A list of the rest is nothing that it can be given."""
    if len(job.documents) != 12:
        sys.exit("error: expected 12 documents")
    goes_on(job)


@behaviour
def fills_up_to_twelve(job):
    """Pads a short list with what it has seen before."""
    records = job.records()
    known = {record["id"] for record in records}
    rest = [job.accepted(f"doc-{n:02}", "invoice") for n in range(1, 12) if f"doc-{n:02}" not in known]
    job.stream(records + (rest if len(records) < 12 else []))


if __name__ == "__main__":
    given = Again(*sys.argv[2:])
    BEHAVIOURS[sys.argv[1]](given, *given.more[: BEHAVIOURS[sys.argv[1]].__code__.co_argcount - 1])
