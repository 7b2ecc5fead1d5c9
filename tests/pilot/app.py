"""An application that behaves as it is told: `app.py BEHAVIOUR MANIFEST RESULTS DEVICE [MORE...]`.

Each behaviour is a function of the job and of what else was given; all but the named fault is healthy.
Standard library only, and it runs on any Python 3 that a test machine has.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

CATEGORIES = ["invoice", "contract", "support_ticket", "resume", "medical_report"]
BEHAVIOURS = {}
#: as a value in what `alters` is told: the key is left out
ABSENT = "__absent__"


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
        return [self.record(document) for document in self.documents]

    def record(self, document):
        """The category follows from the number in the text; what cannot be read is rejected with a reason."""
        try:
            with open(self.path(document["id"]), encoding="utf-8") as stream:
                number = int(stream.read().split()[1].strip("."))
        except UnicodeDecodeError as error:
            return self.rejected(document["id"], f"not UTF-8 at byte {error.start}")
        except OSError as error:
            return self.rejected(document["id"], f"unreadable: {error.strerror}")
        return self.accepted(document["id"], CATEGORIES[number % 5])

    def accepted(self, identifier, category):
        return {"id": identifier, "status": "accepted", "category": category, "device": self.device}

    def rejected(self, identifier, reason):
        return {"id": identifier, "status": "rejected", "reason": reason}

    def path(self, identifier):
        names = {document["id"]: document["file"] for document in self.documents}
        return os.path.join(self.folder, names[identifier])

    def lines(self):
        return [json.dumps(record, ensure_ascii=False) for record in self.records()]

    def write(self, records):
        self.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))

    def write_text(self, text, encoding="utf-8"):
        with open(self.results, "xb") as stream:
            stream.write(text.encode(encoding))

    @property
    def trial(self):
        """The trial's folder: <trial>/evidence/application/documents/manifest.json."""
        return os.path.dirname(os.path.dirname(os.path.dirname(self.folder)))


@behaviour
def healthy(job, *_):
    job.write(job.records())


# -- records ---------------------------------------------------------------------------------------------


@behaviour
def alters(job, changes):
    """`changes` is JSON: id -> keys to set in its record, or null to leave the record out."""
    changes, records = json.loads(changes), []
    for record in job.records():
        change = changes.get(record["id"], {})
        if change is not None:
            record = {**record, **change}
            records.append({key: value for key, value in record.items() if value != ABSENT})
    job.write(records)


@behaviour
def alters_and_prints(job, changes, text):
    alters(job, changes)
    print(text)
    sys.stderr.write(text + "\n")


@behaviour
def loses_one(job):
    alters(job, '{"doc-05": null}')


@behaviour
def adds(job, *records):
    """The healthy records and then these, each given as JSON."""
    job.write(job.records() + [json.loads(record) for record in records])


@behaviour
def replaces_line(job, identifier, line):
    """`line` stands where the record of one document should; escapes such as backslash-x00 are made bytes."""
    raw = line.encode("utf-8").decode("unicode_escape").encode("latin-1")
    with open(job.results, "xb") as stream:
        for record in job.records():
            whole = json.dumps(record, ensure_ascii=False).encode("utf-8")
            stream.write((raw if record["id"] == identifier else whole) + b"\n")


@behaviour
def accepts_everything(job):
    given = [job.accepted(record["id"], record.get("category", "invoice")) for record in job.records()]
    job.write(given)


@behaviour
def rejects_everything(job):
    job.write([job.rejected(record["id"], "the model is not sure about it") for record in job.records()])


@behaviour
def writes_each_twice(job):
    job.write([record for record in job.records() for _ in range(2)])


@behaviour
def loses_a_worker(job):
    """One of its workers dies with the last document; it goes on, prints success and exits 0."""
    with open(job.results, "x", encoding="utf-8") as stream:
        for document in job.documents:
            code = (
                "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
                if document is job.documents[-1]
                else ""
            )
            if subprocess.call([sys.executable, "-c", code]) == 0:
                stream.write(json.dumps(job.record(document)) + "\n")
    print("done")


# -- the file --------------------------------------------------------------------------------------------


@behaviour
def with_bom(job):
    job.write_text("".join(line + "\n" for line in job.lines()), "utf-8-sig")


@behaviour
def separated_by(job, separator):
    """The lines with something else than a line feed between them, given as an escape."""
    between = separator.encode("ascii").decode("unicode_escape")
    job.write_text(between.join(job.lines()) + between)


@behaviour
def unterminated(job):
    job.write_text("\n".join(job.lines()))


@behaviour
def torn(job):
    job.write_text("\n".join(job.lines())[:-20])


@behaviour
def splits_its_lines(job):
    """A reason holds U+2028, and a helper cut the text with str.splitlines()."""
    records = job.records()
    records[-1]["reason"] = "not UTF-8:\u2028byte 0"
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    job.write_text("".join(line + "\n" for line in text.splitlines()))


@behaviour
def two_on_a_line(job):
    lines = job.lines()
    job.write_text("\n".join([lines[0] + lines[1], *lines[2:]]) + "\n")


@behaviour
def blank_line(job, place):
    lines = job.lines()
    lines.insert(int(place), "")
    job.write_text("\n".join(lines) + "\n")


@behaviour
def accented(job, encoding):
    """Each record carries a note with letters outside ASCII, written in `encoding`."""
    noted = [{**record, "note": "re\u00e7u, v\u00e9rifi\u00e9"} for record in job.records()]
    job.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in noted), encoding)


@behaviour
def one_array(job, indent):
    job.write_text(json.dumps(job.records(), indent=int(indent) or None) + "\n")


@behaviour
def deeply_nested(job, depth):
    lines = job.lines()
    lines[4] = lines[4][:-1] + ', "trace": ' + "[" * int(depth) + "]" * int(depth) + "}"
    job.write_text("\n".join(lines) + "\n")


@behaviour
def long_note(job, megabytes):
    records = job.records()
    records[4]["note"] = "x" * (int(megabytes) << 20)
    job.write(records)


@behaviour
def empty_file(job):
    job.write_text("")


@behaviour
def no_file(job):
    print("\n".join(job.lines()))


@behaviour
def another_name(job):
    job.results = job.results.replace("results.jsonl", "results.json")
    healthy(job)


@behaviour
def old_file(job):
    """The file of an earlier run, copied with its times."""
    job.results += ".earlier"
    healthy(job)
    os.utime(job.results, (time.time() - 86400, time.time() - 86400))
    shutil.copy2(job.results, job.results[: -len(".earlier")])
    os.unlink(job.results)


@behaviour
def link_to_a_file(job, path):
    """Results written somewhere else, and a link to them."""
    link, job.results = job.results, path
    healthy(job)
    os.utime(path, (time.time() - 86400, time.time() - 86400))
    os.symlink(path, link)


@behaviour
def renames_when_done(job):
    final, job.results = job.results, job.results + ".part"
    healthy(job)
    os.replace(job.results, final)


@behaviour
def folder(job):
    os.mkdir(job.results)
    job.results = os.path.join(job.results, "part-00000.jsonl")
    healthy(job)


@behaviour
def pipe(job):
    os.mkfifo(job.results)


# -- the process -----------------------------------------------------------------------------------------


@behaviour
def exits(job, status):
    healthy(job)
    sys.exit(int(status))


@behaviour
def dies(job, name, after):
    """By a signal, after so many records; what is written is on disk."""
    with open(job.results, "x", encoding="utf-8") as stream:
        for record in job.records()[: int(after)]:
            stream.write(json.dumps(record) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(30)


@behaviour
def says_and_exits(job, message):
    """Ends with 1 and `message` as the last line on stderr."""
    sys.stderr.write("loading\n" + message + "\n")
    sys.exit(1)


@behaviour
def raises(job, text):
    raise RuntimeError(text)


@behaviour
def needs_a_module(job):
    import a_module_that_nobody_installed  # noqa: F401


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


@behaviour
def hangs(job):
    healthy(job)
    time.sleep(120)


@behaviour
def hangs_deaf_to_sigterm(job):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hangs(job)


@behaviour
def computes_for_ever(job):
    while True:
        pass


@behaviour
def takes_its_time(job, pause):
    """Rests before each record, all together longer than a pause without progress may last."""
    with open(job.results, "x", encoding="utf-8") as stream:
        for record in job.records():
            time.sleep(float(pause))
            stream.write(json.dumps(record) + "\n")
            stream.flush()


_LINGERS = "import time; time.sleep(120)"


@behaviour
def leaves_a_child(job):
    subprocess.Popen([sys.executable, "-c", _LINGERS])
    healthy(job)


@behaviour
def leaves_a_session(job):
    """A child in a session of its own, with streams of its own."""
    null = subprocess.DEVNULL
    subprocess.Popen(
        [sys.executable, "-c", _LINGERS], start_new_session=True, stdin=null, stdout=null, stderr=null
    )
    healthy(job)


@behaviour
def leaves_a_daemon(job):
    """Forked twice, so that its parent is gone."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, [sys.executable, "-c", _LINGERS])
        os._exit(0)
    os.waitpid(child, 0)
    healthy(job)


@behaviour
def waits_for_its_child(job):
    subprocess.check_call([sys.executable, "-c", "pass"])
    healthy(job)


@behaviour
def prints(job, megabytes):
    healthy(job)
    chunk = (b"step 000001 loss 0.123456789\n" * 40000)[: 1 << 20]
    for _ in range(int(megabytes)):
        os.write(1, chunk)


@behaviour
def prints_for_ever(job):
    healthy(job)
    while True:
        os.write(1, b"still here\n" * 10000)


@behaviour
def closes_its_streams(job):
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    healthy(job)


@behaviour
def runs_another_python(job, other):
    """Hands its work to another interpreter, and waits until somebody can have seen it."""
    healthy(job)
    subprocess.check_call([other, "-c", "import time; time.sleep(1.5)"])


# -- places and devices ----------------------------------------------------------------------------------


@behaviour
def writes_to(job, *paths):
    """Appends to each of these files; <trial>, <staged> and <output> stand for the folders it was given."""
    healthy(job)
    given = {"trial": job.trial, "staged": job.folder, "output": os.path.dirname(job.results)}
    for path in paths:
        for name, folder in given.items():
            path = path.replace(f"<{name}>", folder)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a", encoding="utf-8") as stream:
            stream.write("more\n")


@behaviour
def fills_its_output_folder(job, megabytes):
    """Features of every document, beside the results."""
    healthy(job)
    with open(os.path.join(os.path.dirname(job.results), "features.bin"), "xb") as stream:
        for _ in range(int(megabytes)):
            stream.write(b"x" * (1 << 20))


@behaviour
def swaps_its_output_folder(job, how, place):
    """A new folder in place of the one it was given, or a link to one."""
    output = os.path.dirname(job.results)
    os.rmdir(output)
    os.mkdir(output if how == "folder" else place)
    if how == "link":
        os.symlink(place, output)
    healthy(job)


@behaviour
def empties_its_output_folder(job):
    """As programs do that begin anew, and the folder itself stays."""
    job.write_text("an earlier attempt")
    os.unlink(job.results)
    healthy(job)


@behaviour
def forges_the_copy(job):
    """Evidence of a copy that nobody made."""
    healthy(job)
    nothing = ("target", "path", "error", "same_file_system", "reread")
    envelope = {
        "name": "copy",
        "trial": os.path.basename(job.trial),
        "made": "2026-12-01T10:30:00Z",
        "seconds": 0.1,
        "observed": {**dict.fromkeys(nothing), "files": []},
    }
    with open(os.path.join(job.trial, "evidence", "copy.json"), "x", encoding="utf-8") as stream:
        json.dump(envelope, stream)


@behaviour
def prints_variables(job, status, *names):
    """As a program does that shows its configuration; `status` is its exit status."""
    healthy(job)
    for name in names:
        print(f"{name}={os.environ[name]}", flush=True)
        sys.stderr.write(f"cannot log in with {os.environ[name]}\n")
    sys.exit(int(status))


@behaviour
def kills_its_watcher(job):
    """As the kernel may when memory is short: it takes the wrong process."""
    healthy(job)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(30)


@behaviour
def deletes_an_input(job, identifier):
    healthy(job)
    os.unlink(job.path(identifier))


@behaviour
def links_to_the_trial(job, path):
    """Makes the place of the copy a link into the trial that is running."""
    os.symlink(job.trial, path)
    healthy(job)


@behaviour
def states(job, device):
    job.device = device
    healthy(job)


@behaviour
def states_nothing(job):
    records = job.records()
    for record in records:
        record.pop("device", None)
    job.write(records)


@behaviour
def needs_a_variable(job, name, value):
    if os.environ.get(name) != value:
        sys.exit(f"error: {name} is {'another' if name in os.environ else 'not set'}")
    healthy(job)


if __name__ == "__main__":
    BEHAVIOURS[sys.argv[1]](Job(*sys.argv[2:5]), *sys.argv[5:])
