"""Judging results of any size, beside the same claims made with pandas and pandera, polars, and DuckDB.

    python benchmarks/criteria.py [--most 1000000] [--rounds 3] [--formats jsonl,json,csv,tsv]

Every measurement is a process of its own: seconds from before the first byte of the manifest is read until every
claim is made, without the start of Python and the imports; and the process's peak memory. All read the same files
in the same run, one after the other, and the best of the rounds counts. On a machine that does other work only the
ratios mean anything. At the end: what each of them did not see in files that are wrong in one way each.

A library that is missing is named, and the others are measured.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
CATEGORIES = ["invoice", "contract", "support_ticket", "resume", "medical_report"]
STATUSES = ["accepted", "rejected"]
SIZES = (12, 1_000, 10_000, 100_000, 1_000_000)

FIELDS = ("id", "status", "category", "reason")
MUTE = ["", "error", "failed", "none", "null", "nan", "unknown", "rejected", "invalid"]
FORMATS = ("jsonl", "json", "csv", "tsv")
#: what has to be there for whom
NEEDS = {
    "gpu-pilot": ("msgspec",),
    "polars": ("polars",),
    "duckdb": ("duckdb",),
    "pandas": ("pandas", "pandera"),
}

Claims = dict[str, bool]


# ---- the files


def documents(count: int) -> Iterator[tuple[str, str | None]]:
    """Ids with their category, None for every fiftieth, which is invalid; the results stand in another order."""
    pick = random.Random(count)
    for number in range(count):
        yield f"doc-{number:07d}", None if number % 50 == 7 else pick.choice(CATEGORIES)


def records(count: int) -> list[dict[str, str]]:
    made = [
        {"id": id, "status": "rejected", "reason": f"not valid UTF-8 at byte {number % 97}"}
        if category is None
        else {"id": id, "status": "accepted", "category": category}
        for number, (id, category) in enumerate(documents(count))
    ]
    # as batches come back: nearly in order
    for at in range(0, count, 64):
        part = made[at : at + 64]
        random.Random(at).shuffle(part)
        made[at : at + 64] = part
    return made


def write(folder: Path, count: int, formats: list[str]) -> None:
    with (folder / "manifest.json").open("w") as stream:
        stream.write('{\n "documents": [\n')
        for number, (id, category) in enumerate(documents(count)):
            entry = {"id": id, "file": f"{id}.txt", "sha256": f"{number:064x}", "bytes": 1000 + number}
            entry |= {"valid": False} if category is None else {"valid": True, "category": category}
            stream.write((",\n" if number else "") + "  " + json.dumps(entry))
        stream.write("\n ]\n}\n")
    made = records(count)
    for format in formats:
        (folder / f"results.{format}").write_text(as_text(made, format))
        pilot(folder, format)


def as_text(made: list[dict[str, str]], format: str) -> str:
    if format == "jsonl":
        return "".join(json.dumps(record) + "\n" for record in made)
    if format == "json":
        return json.dumps(made)
    separator = "," if format == "csv" else "\t"
    rows = [separator.join(record.get(field, "") for field in FIELDS) for record in made]
    return "\n".join([separator.join(FIELDS), *rows, ""])


def pilot(folder: Path, format: str) -> None:
    application = {"kind": "command", "command": ["{python}", "app.py", "{manifest}", "{results}"]}
    configuration = {
        "documents": {},
        "categories": CATEGORIES,
        "application": {**application, "results": {"format": format}},
    }
    (folder / f"pilot.{format}").write_text(json.dumps(configuration))


# ---- the same claims, four times


def with_gpu_pilot(folder: Path, format: str) -> Callable[[], Claims]:
    from fixtures.evidence import parameters
    from fixtures.volume import judging

    asked = parameters.read(folder / f"pilot.{format}")
    results, manifest = folder / f"results.{format}", folder / "manifest.json"
    return lambda: {claim.id: claim.holds is True for claim in judging.judge(results, manifest, asked).claims}


def with_polars(folder: Path, format: str) -> Callable[[], Claims]:
    import polars as pl

    entry = pl.Struct({"id": pl.String, "valid": pl.Boolean, "category": pl.String})
    schema = dict.fromkeys(FIELDS, pl.String)
    path = folder / f"results.{format}"

    def judge() -> Claims:
        manifest = pl.read_json(folder / "manifest.json", schema={"documents": pl.List(entry)})
        manifest = manifest.explode("documents").unnest("documents")
        if format == "jsonl":
            results = pl.read_ndjson(path, schema=schema)
        elif format == "json":
            results = pl.read_json(path, schema=schema)
        else:
            separator = "," if format == "csv" else "\t"
            results = pl.read_csv(path, schema=schema, separator=separator)
        both = results.join(manifest, on="id", how="left", suffix="_wanted")
        accepted, rejected = pl.col("status") == "accepted", pl.col("status") == "rejected"
        reason = pl.col("reason").str.to_lowercase().str.strip_chars()
        mute = reason.is_null() | reason.is_in(MUTE) | ~reason.str.contains(r"\p{L}")
        wanted = pl.col("category_wanted")
        counted = both.select(
            statuses=(~pl.col("status").is_in(STATUSES) | pl.col("status").is_null()).sum(),
            invented=pl.col("valid").is_null().sum(),
            allowed=(accepted & ~pl.col("category").is_in(CATEGORIES).fill_null(False)).sum(),
            expected=(accepted & (pl.col("category") != wanted)).sum(),
            mute=(rejected & mute).sum(),
            refused=(rejected & pl.col("valid")).sum(),
            invalid=(accepted & ~pl.col("valid")).sum(),
        )
        claims = {name: value == 0 for name, value in counted.row(0, named=True).items()}
        claims["twice"] = results["id"].n_unique() == results.height
        claims["missing"] = manifest.join(results, on="id", how="anti").height == 0
        return claims

    return judge


def with_duckdb(folder: Path, format: str) -> Callable[[], Claims]:
    import duckdb

    columns = "{id: 'VARCHAR', status: 'VARCHAR', category: 'VARCHAR', reason: 'VARCHAR'}"
    path = str(folder / f"results.{format}")
    read = {
        "jsonl": f"read_json('{path}', format='newline_delimited', columns={columns})",
        "json": f"read_json('{path}', format='array', columns={columns})",
        "csv": f"read_csv('{path}', delim=',', header=true, columns={columns})",
        "tsv": f"read_csv('{path}', delim='\t', header=true, columns={columns})",
    }[format]
    entry = "STRUCT(id VARCHAR, valid BOOLEAN, category VARCHAR)[]"
    whole = f"columns={{documents: '{entry}'}}, maximum_object_size=1000000000"
    manifest = f"read_json('{folder / 'manifest.json'}', {whole})"
    mute, allowed = ", ".join(map(repr, MUTE)), ", ".join(map(repr, CATEGORIES))
    connection = duckdb.connect()

    def judge() -> Claims:
        connection.execute(f"CREATE TABLE m AS SELECT unnest(documents, recursive := true) FROM {manifest}")
        connection.execute(f"CREATE TABLE r AS SELECT * FROM {read}")
        counted = connection.execute(f"""
            SELECT count(*) FILTER (r.status IS NULL OR r.status NOT IN ('accepted', 'rejected')),
                count(*) FILTER (m.id IS NULL),
                count(*) FILTER (r.status = 'accepted' AND coalesce(r.category NOT IN ({allowed}), true)),
                count(*) FILTER (r.status = 'accepted' AND r.category <> m.category),
                count(*) FILTER (r.status = 'rejected' AND (r.reason IS NULL OR lower(trim(r.reason)) IN ({mute})
                    OR NOT regexp_matches(r.reason, '\\p{{L}}'))),
                count(*) FILTER (r.status = 'rejected' AND m.valid),
                count(*) FILTER (r.status = 'accepted' AND NOT m.valid),
                count(*) - count(DISTINCT r.id)
            FROM r LEFT JOIN m ON r.id = m.id""").fetchone()
        missing = connection.execute("SELECT count(*) FROM m ANTI JOIN r ON m.id = r.id").fetchone()
        assert counted is not None
        assert missing is not None
        return {str(number): count == 0 for number, count in enumerate([*counted, *missing])}

    return judge


def with_pandas(folder: Path, format: str) -> Callable[[], Claims]:
    import pandas as pd
    import pandera.pandas as pa

    schema = pa.DataFrameSchema(
        {
            "id": pa.Column(str, unique=True),
            "status": pa.Column(str, pa.Check.isin(STATUSES)),
            "category": pa.Column(str, pa.Check.isin(CATEGORIES), nullable=True),
        },
    )
    path = folder / f"results.{format}"

    def judge() -> Claims:
        manifest = pd.DataFrame(json.loads((folder / "manifest.json").read_text())["documents"])
        if format.startswith("json"):
            results = pd.read_json(path, lines=format == "jsonl", dtype=False)
        else:
            results = pd.read_csv(
                path, dtype=str, keep_default_na=False, sep="," if format == "csv" else "\t"
            )
            results = results.replace({"category": {"": None}, "reason": {"": None}})
        claims = {"schema": True}
        try:
            schema.validate(results, lazy=True)
        except pa.errors.SchemaErrors:
            claims["schema"] = False
        both = results.merge(manifest, on="id", how="left", suffixes=("", "_wanted"))
        accepted, rejected = both["status"] == "accepted", both["status"] == "rejected"
        reason = both["reason"].fillna("").str.lower().str.strip()
        valid = both["valid"].astype("boolean")
        wanted = both["category_wanted"]
        claims["invented"] = not valid.isna().any()
        claims["allowed"] = not (accepted & both["category"].isna()).any()
        claims["expected"] = not (accepted & wanted.notna() & (both["category"] != wanted)).any()
        claims["mute"] = not (rejected & (reason.isin(MUTE) | ~reason.str.contains("[a-z]"))).any()
        claims["refused"] = not (rejected & valid).fillna(False).any()
        claims["invalid"] = not (accepted & ~valid).fillna(False).any()
        claims["missing"] = bool(manifest["id"].isin(results["id"]).all())
        return claims

    return judge


JUDGES = {
    "gpu-pilot": with_gpu_pilot,
    "polars": with_polars,
    "duckdb": with_duckdb,
    "pandas": with_pandas,
}


# ---- one measurement


def peak_mib() -> float:
    """Since this process began its program; what its parent had does not count, as it would in ru_maxrss."""
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+)", status.read_text())):
        return int(found[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << 20 if sys.platform == "darwin" else 1 << 10
    )


def one(name: str, format: str, folder: Path) -> None:
    judge = JUDGES[name](folder, format)
    begun = time.perf_counter()
    claims = judge()
    seconds = time.perf_counter() - begun
    print(json.dumps({"seconds": seconds, "mib": peak_mib(), "holds": all(claims.values())}))


def measured(name: str, format: str, folder: Path) -> dict[str, Any] | None:
    """What one process said; None where it broke off, which is a way to see that something is wrong."""
    command = [sys.executable, __file__, "--one", name, format, str(folder)]
    end = subprocess.run(command, capture_output=True, text=True)
    if end.returncode:
        return None
    found: dict[str, Any] = json.loads(end.stdout.splitlines()[-1])
    return found


# ---- what they do not see

RECORD = json.dumps(records(12)[0])
ROW = as_text(records(12)[:1], "csv").splitlines()[1]
#: format, what is replaced in right results for twelve documents, and what by
WRONG: dict[str, tuple[str, str, str]] = {
    "a key twice": ("jsonl", RECORD, RECORD.replace("{", '{"category": "resume", "status": "rejected", ', 1)),
    "a key twice, in an array": ("json", RECORD, RECORD.replace("{", '{"category": "resume", ', 1)),
    "NaN": ("jsonl", RECORD, RECORD[:-1] + ', "score": NaN}'),
    "1e999": ("jsonl", RECORD, RECORD[:-1] + ', "score": 1e999}'),
    "half a surrogate pair": ("jsonl", RECORD, RECORD[:-1] + ', "note": "\\ud800"}'),
    "an empty line": ("jsonl", RECORD, "\n" + RECORD),
    "two records on a line": ("jsonl", "}\n{", "} {"),
    "a torn line more": ("jsonl", RECORD, RECORD[:20] + "\n" + RECORD),
    "a byte order mark": ("jsonl", "", "\ufeff"),
    "a byte order mark in CSV": ("csv", "", "\ufeff"),
    "a field too many": ("csv", ROW, ROW + ",more"),
    "a field too few": ("csv", ROW, ROW.removesuffix(",")),
    "an empty row": ("csv", ROW, "\n" + ROW),
    "a column twice": ("csv", "id,status,category,reason", "id,status,category,reason,reason"),
    "a NUL": ("csv", "not valid", "not\0valid"),
    "a quote never closed": ("csv", "not valid UTF-8 at", '"not valid UTF-8 at'),
    "a carriage return more": ("csv", ROW, ROW + "\r\r"),
}


def unseen(names: list[str]) -> None:
    print("\nnot seen, in results that are wrong in one way (x: called right):\n")
    print(f"{'':<28}" + "".join(f"{name:>12}" for name in names))
    for what, (format, old, new) in WRONG.items():
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            write(folder, 12, [format])
            path = folder / f"results.{format}"
            right = path.read_text()
            assert old in right, what
            path.write_bytes(right.replace(old, new, 1).encode())
            said = [measured(name, format, folder) for name in names]
            seen = ["x" if found is not None and found["holds"] else "" for found in said]
            print(f"{what:<28}" + "".join(f"{mark:>12}" for mark in seen))


def speeds(names: list[str], formats: list[str], most: int, rounds: int) -> None:
    print(f"{'documents':>10} {'format':<7}" + "".join(f"{name:>37}" for name in names))
    for count in [size for size in SIZES if size <= most]:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            write(folder, count, formats)
            for format in formats:
                found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
                for _ in range(rounds):
                    for name in names:
                        said = measured(name, format, folder)
                        if said is None or not said["holds"]:
                            sys.exit(f"{name}, {format}: right results were not called right")
                        found[name].append(said)
                print(
                    f"{count:>10} {format:<7}" + "".join(_cells(found, name, count) for name in names),
                    flush=True,
                )


def _cells(found: dict[str, list[dict[str, Any]]], name: str, count: int) -> str:
    seconds = min(one["seconds"] for one in found[name])
    ratio = ""
    if "polars" in found:
        ratio = f"{seconds / min(one['seconds'] for one in found['polars']):.2f}x"
    mib = max(one["mib"] for one in found[name])
    return f"{count / seconds:>12.0f}/s{seconds:7.2f} s{mib:6.0f} M{ratio:>7}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Judging results of any size, beside others")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="documents in the largest file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--one", nargs=3, metavar=("NAME", "FORMAT", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.one[0], given.one[1], Path(given.one[2]))
        return
    missing = {
        name: [one for one in needed if not importlib.util.find_spec(one)] for name, needed in NEEDS.items()
    }
    for name, needed in missing.items():
        if needed:
            print(f"{name}: not measured as it should be, pip install {' '.join(needed)}")
    names = [name for name in NEEDS if name == "gpu-pilot" or not missing[name]]
    speeds(names, given.formats.split(","), given.most, given.rounds)
    print("\nM: peak memory in mebibytes; x: the time as a multiple of polars' in this run")
    unseen(names)


if __name__ == "__main__":
    main()
