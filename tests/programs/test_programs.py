#!/usr/bin/env python3
"""Random programs of statements over one table against a model of it. See README.md.

usage: test_programs.py [--programs N] [--seed S] [--jobs N] [--statements MIN-MAX] [--foreign]
       test_programs.py --program NAME [--keep 0,3,…] [--statements MIN-MAX] [--foreign]
"""
import argparse
import collections
import dataclasses
import datetime
import decimal
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "model")]
import expressions  # noqa: E402
import foreign  # noqa: E402
import programs_model as model  # noqa: E402
import rewriter  # noqa: E402, F401
import statements  # noqa: E402

RUN_STATEMENTS = pathlib.Path(os.environ.get("SLUICE_BUILD", ROOT / "build")) / "tests/programs/run-statements"
# What reads of versions may say when clean-up has taken something that they need.
GONE = ("DELTA_CHANGE_DATA_FILE_NOT_FOUND", "DELTA_FILE_NOT_FOUND_DETAILED", "FILE_NOT_FOUND", "DELTA_VERSION_NOT_FOUND",
        "DELTA_TRUNCATED_TRANSACTION_LOG")
SCHEMA = ("DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA", "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE",
          "DELTA_CHANGELOG_SCHEMA_CHANGE_IN_RANGE")


WITHOUT = frozenset(os.environ.get("PROGRAMS_WITHOUT", "").split(","))  # kinds of statements that are left out


class Failure(Exception):
    """@what: one of a few words, the same for the same fault; the rest is detail."""

    def __init__(self, what, detail=""):
        super().__init__(f"{what}\n{detail}")
        self.what = what


class Problem(Exception):
    def __init__(self, condition, message):
        super().__init__(message)
        self.condition = condition


class Engine:
    """One process with the engine open; any number of programs run in it."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.process = None
        self.environment = dict(os.environ)
        self.start()

    def start(self):
        """In UTC, whatever the machine's time zone is."""
        self.process = subprocess.Popen([RUN_STATEMENTS, self.directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=self.environment)
        self.answer(None)
        self.answer("SET TIME ZONE 'UTC'")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def kill(self):
        self.stop()
        self.start()

    def kill_after(self, request, seconds):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        time.sleep(seconds)
        self.kill()

    def reopen(self):
        self.answer(None)
        self.answer("SET TIME ZONE 'UTC'")

    def answer(self, request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.process.wait()
            code = self.process.returncode
            self.start()
            raise Failure("the engine's process died", f"exit code {code}: {request}")
        answer = json.loads(line)
        if "condition" in answer:
            raise Problem(answer["condition"], answer["message"])
        return answer["rows"]


# ---- one program ----

def generation_of(rnd, type_):
    """What a column of @type_ may be generated from; None: nothing is drawn for such a type."""
    if type_ == "INT":
        return rnd.choice([model.Generation("CAST(uid % 3 AS INT)", lambda v: v["uid"] % 3, "uid"),
                           model.Generation("a + 1", lambda v: None if v.get(1) is None else v[1] + 1, 1)])
    if type_ == "BIGINT":
        return model.Generation("uid * 2", lambda v: v["uid"] * 2, "uid")
    if type_ == "STRING":
        return model.Generation("CASE WHEN a > 1 THEN 'x' ELSE 'a b' END", lambda v: "x" if (v.get(1) or 0) > 1 else "a b", 1)
    if type_ == "BOOLEAN":
        return model.Generation("a <=> 1", lambda v: v.get(1) == 1, 1)
    return None


def with_rules(rnd, column):
    """@column, NOT NULL, with a default or generated."""
    if column.id == "uid":
        return dataclasses.replace(column, not_null=rnd.random() < 0.2)
    kind = rnd.random()
    if kind < 0.25:
        # '' would be NULL in a partition
        column = dataclasses.replace(column, default=rnd.choice([value for value in expressions.VALUES[column.type] if value != ""]))
    elif kind < 0.5 and column.id != 1:
        column = dataclasses.replace(column, generation=generation_of(rnd, column.type))
    return dataclasses.replace(column, not_null=rnd.random() < 0.2)


def options_of(rnd, with_foreign):
    """What the table is like. @with_foreign: only what delta-rs writes."""
    mapping = rnd.choice(["none", "none", "name", "id"])
    has_rules = rnd.random() < 0.4
    properties = model.Properties(legacy=rnd.random() < 0.5, tracked=rnd.random() < 0.6 and not with_foreign, mapped=mapping != "none", vectors=rnd.random() < 0.5)
    names = ["a b", "ü,;{}", "C", "d"] if properties.mapped else ["b", "C", "d_1", "_e"]
    columns = [model.Column("uid", "uid", "BIGINT"), model.Column(1, "a", "INT")]
    for name in names[:rnd.randint(1, 4)]:
        columns.append(model.Column(len(columns), name, rnd.choice(list(expressions.VALUES))))
    partition = None
    if rnd.random() < 0.5:
        partition = model.Column(len(columns), "p", rnd.choice(list(expressions.PARTITION_VALUES)))
        columns.insert(rnd.randint(0, len(columns)), partition)
    elif rnd.random() < 0.3:
        rnd.shuffle(columns)
    if has_rules:
        columns = [with_rules(rnd, column) for column in columns]
        if with_foreign:
            columns = [dataclasses.replace(column, default=None, generation=None) for column in columns]
        partition = next((column for column in columns if partition and column.id == partition.id), None)
        if any(column.default is not None for column in columns):
            properties = dataclasses.replace(properties, features=frozenset([statements.DEFAULTS]))
    settings = {
        "delta.enableChangeDataFeed": properties.legacy, "delta.enableRowTracking": properties.tracked,
        "delta.enableDeletionVectors": properties.vectors, "delta.columnMapping.mode": mapping,
        "delta.checkpointInterval": rnd.choice([2, 3, 5, 10]),
    }
    if rnd.random() < 0.2 and not with_foreign:
        settings["delta.enableInCommitTimestamps"] = True
        properties = dataclasses.replace(properties, stamped=True)
    if rnd.random() < 0.2:
        settings["delta.checkpointPolicy"] = "v2"
    if rnd.random() < 0.2 and not with_foreign:
        settings["delta.enableTypeWidening"] = True
    if rnd.random() < 0.2:
        settings["delta.dataSkippingNumIndexedCols"] = rnd.choice([0, 1])
    return columns, properties, partition, settings


class Program:
    """A table and the statements drawn for it; statement i depends on its own seed and on the table as it is then. @with_foreign: delta-rs
    writes too."""

    def __init__(self, seed, n_statements=None, with_foreign=False):
        self.seed = seed
        rnd = random.Random(seed)
        self.columns, self.properties, self.partition, self.settings = options_of(rnd, with_foreign)
        self.kinds, self.with_foreign = statements.KINDS, with_foreign
        if with_foreign:
            self.kinds = {name: kind for name, kind in self.kinds.items() if name not in foreign.EXCLUDED} | foreign.FOREIGN
        names, weights = zip(*((name, weight) for name, (weight, _) in self.kinds.items()))
        chosen = rnd.choices(names, weights, k=rnd.randint(*(n_statements or (5, 30))))
        self.statements = [(name, f"{seed}/{index}") for index, name in enumerate(chosen)]

    def create(self, name):
        return statements.create_sql("CREATE TABLE", name, self.columns, self.partition, self.settings)


class Run:
    """One program on one table."""

    def __init__(self, engine, program, name):
        self.engine, self.program, self.name = engine, program, name
        self.path = engine.directory / name
        self.log = []  # what ran, as text
        self.counts = collections.Counter()
        self.rnd = random.Random(f"checks of {program.seed}")
        self.table = None
        self.row_ids = collections.defaultdict(dict)  # epoch → (uid, life) → row id
        self.times = {}  # version → _commit_timestamp

    # what statements may do beside SQL
    def reopen(self):
        self.engine.reopen()

    def kill(self):
        self.engine.kill()

    def kill_after(self, text, seconds):
        """Ends the process while a statement runs, or just before or after it."""
        self.log.append(f"{text};  -- killed after {seconds * 1000:.1f} ms")
        self.engine.kill_after(text, seconds)

    def age(self):
        """The commits of until now were made two months ago."""
        log = self.path / "_delta_log"
        for number in range(self.table.first, self.table.version + 1):
            if (log / f"{number:020}.json").exists():
                os.utime(log / f"{number:020}.json", (time.time() - 60 * 86400 + number,) * 2)
        self.table.aged = self.table.version
        self.times.clear()
        self.engine.reopen()

    def first_in_log(self):
        """The oldest version that the log's files can tell."""
        names = os.listdir(self.path / "_delta_log")
        commits = {int(name[:20]) for name in names if name.endswith(".json") and len(name) == 25}
        checkpoints = {int(name[:20]) for name in names if ".checkpoint." in name and not name.startswith(".")}
        first = self.table.version
        while first > 0 and first in commits and first - 1 in commits | checkpoints:
            first -= 1
        return min([first] if first == 0 else [one for one in checkpoints if one >= first], default=first)

    def delta_rs(self, part):
        import deltalake
        self.log.append(f"-- delta-rs: {part.text}")
        try:
            part.go(deltalake.DeltaTable(str(self.path)))
        except Exception as error:
            raise Problem("DELTA_RS", str(error)) from None

    def sql(self, text):
        self.log.append(text + ";")
        return self.engine.answer(text)

    def version_in_log(self):
        return max(int(name[:20]) for name in os.listdir(self.path / "_delta_log") if name.endswith(".json") and len(name) == 25)

    def run(self, keep=None):
        self.sql(self.program.create(self.name))
        self.table = model.Table(self.program.columns, self.program.properties, self.program.partition)
        self.table.name = self.name
        self.table.settings, self.table.first_properties = self.program.settings, self.program.properties
        self.table.widens = "delta.enableTypeWidening" in self.program.settings
        self.table.path = self.path
        self.table.commit_times, self.table.with_foreign = self.commit_times, self.program.with_foreign
        for index, (kind, seed) in enumerate(self.program.statements):
            if keep is None or index in keep:
                self.step(kind, random.Random(seed))
        self.check_history()
        self.check_other_readers()

    def step(self, kind, rnd):
        table = self.table
        statement = None if kind in WITHOUT else self.program.kinds[kind][1](rnd, table)
        if statement is None:
            return
        self.counts[kind] += 1
        try:
            rows = []
            for part in statement.run:
                if isinstance(part, str):
                    rows = self.sql(part)
                elif isinstance(part, statements.Foreign):
                    self.delta_rs(part)
                else:
                    self.log.append(f"-- {kind}")
                    part(self)
        except Problem as problem:
            if problem.condition not in statement.errors + statement.may:
                raise Failure(f"{kind}: unexpected {problem.condition}", str(problem)) from None
            self.counts["refused as it must be"] += 1
            statement = dataclasses.replace(statement, edit=None, errors=(problem.condition,))
        else:
            if statement.errors:
                raise Failure(f"{kind}: succeeds where it must fail", f"one of {statement.errors} was due")
        self.commit(kind, statement, rows)
        statement.after(table)
        table.first = self.first_in_log()
        if table.first > table.aged:
            raise Failure("clean-up went too far", f"the log begins at {table.first}; {table.aged} must be there")
        self.check_contents(table.version, f"after {kind}")
        if self.rnd.random() < 0.3:
            self.check_feed(table.version, table.version, f"after {kind}")

    def commit(self, kind, statement, rows):
        table, edit = self.table, statement.edit
        n_commits = self.version_in_log() - table.version
        changes = edit is not None and not statement.errors and (edit.changes or edit.columns != table.columns)
        allowed = statement.n_commits or ((1, 1) if changes else (0, 1))
        if edit is None or statement.errors:
            allowed = (0, 0)
        if not allowed[0] <= n_commits <= allowed[1]:
            raise Failure(f"{kind}: {n_commits} commits", f"{allowed[0]} to {allowed[1]} were due")
        if edit is not None:
            if edit.properties.stamped != table.properties.stamped:
                self.times.clear()  # a replaced or restored table, too: all commits are known by their files again
            table.commit(edit, n_commits)
        if statement.affected is not None and not statement.errors and rows[0]["num_affected_rows"] != statement.affected:
            raise Failure(f"{kind}: num_affected_rows", f"{rows[0]}, {statement.affected} were due")

    # ---- checks ----

    def read(self, sql, certain, gone=GONE):
        """Rows; None where the engine says that what it needs is gone, which @certain forbids."""
        try:
            return self.engine.answer(sql)
        except Problem as problem:
            if certain or problem.condition not in gone:
                raise Failure(f"a read fails: {problem.condition}", f"{sql}\n{problem}") from None
            self.counts[f"reads that answered {problem.condition}"] += 1
            return None

    def check_contents(self, version, when, as_of=None):
        table = self.table
        found = table.versions[version]
        hidden = ", _metadata.row_id AS `+id`, _metadata.row_commit_version AS `+at`" if found.properties.tracked else ""
        if as_of is None:
            as_of = "" if version == table.version else f"VERSION AS OF {version}"
        rows = self.read(f"SELECT *{hidden} FROM {self.name} {as_of}", table.is_certain(version))
        if rows is None:
            return
        self.counts["contents compared"] += 1
        got = {row["uid"]: {name: value for name, value in row.items() if not name.startswith("+")} for row in rows}
        wanted = table.contents(version)
        if got != wanted or len(rows) != len(wanted):
            raise Failure("other contents", f"version {version} {when}\n{difference(got.items(), wanted.items())}\n{len(rows)} rows")
        if hidden:
            self.check_row_ids(version, rows, when)

    def check_row_ids(self, version, rows, when):
        found = self.table.versions[version]
        ids = self.row_ids[found.properties.epoch]
        for row in rows:
            uid, id_, at, known = row["uid"], row["+id"], row["+at"], found.rows[row["uid"]].changed_at
            one = uid, found.rows[uid].life
            if id_ is None or ids.setdefault(one, id_) != id_:
                raise Failure("other row id", f"uid {uid} at version {version} {when}: {id_}, it was {ids[one]}")
            if known is None:
                self.learn(uid, at, found.properties.epoch)
            elif known != at:
                raise Failure("other row commit version", f"uid {uid} at version {version} {when}: {at}, not {known}")
        if len(set(ids.values())) != len(ids):
            raise Failure("a row id of two rows", f"version {version} {when}: {ids}")

    def learn(self, uid, at, epoch):
        """The version that gave a row of before row tracking its id."""
        for version in self.table.versions:
            row = version.rows.get(uid)
            if row is not None and row.changed_at is None and version.properties.epoch == epoch:
                version.rows[uid] = dataclasses.replace(row, changed_at=at)

    def commit_times(self):
        """version → Moment of those in the log: that of the commit's file, or what the commit says (cdf.md §7.6)."""
        log = self.path / "_delta_log"
        names = sorted(name for name in os.listdir(log) if name.endswith(".json") and len(name) == 25)
        properties = {row["key"]: row["value"] for row in self.engine.answer(f"SHOW TBLPROPERTIES {self.name}")}
        stamped = None  # since which version commits say it
        if properties.get("delta.enableInCommitTimestamps") == "true":
            stamped = int(properties.get("delta.inCommitTimestampEnablementVersion", 0))
        times, last = {}, 0
        for name in names:
            version = int(name[:20])
            if stamped is None or version < stamped:
                last = max(os.stat(log / name).st_mtime_ns // 1000000, last + 1)
                times[version] = model.Moment(last)
            else:
                first = json.loads((log / name).read_text().split("\n", 1)[0])
                times[version] = model.Moment(first["commitInfo"]["inCommitTimestamp"])
        return {version: at for version, at in times.items() if version >= self.table.first}

    def check_feed(self, start, end, when, read=None):
        """@read: another SELECT of the same feed."""
        table = self.table
        sql = read or f"SELECT * FROM table_changes('{self.name}', {start}, {end})"
        mode = table.feed_mode(start, end)
        if mode is None:
            if self.read(sql, False, ("DELTA_MISSING_CHANGE_DATA",) + (() if table.feed_is_certain(start) else GONE)) is not None:
                raise Failure("a feed that is not there", f"{sql} {when}")
            return
        rows = self.feed_rows(sql, start, end, mode)
        if rows is not None:
            self.compare_feeds(f"another {mode} feed", f"{sql} {when}", rows, table.feed(start, end), start, end, mode)

    def feed_rows(self, sql, start, end, mode):
        """(version, type, uid, values) of a feed's rows; None where they cannot be read."""
        table = self.table
        certain, additive = table.feed_is_certain(start), table.feed_schema_is_additive(start, end, mode)
        rows = self.read(sql, certain and additive, (() if certain else GONE) + (() if additive else SCHEMA))
        if rows is None:
            return None
        self.counts[f"{mode} feeds compared"] += 1
        got = []
        for row in rows:
            version, type_ = row.pop("_commit_version"), row.pop("_change_type")
            self.check_time(version, row.pop("_commit_timestamp"))
            got.append((version, type_, row["uid"], row))
        return got

    def compare_feeds(self, what, detail, got, wanted, start, end, mode):
        got, wanted = (self.table.normalized_feed(changes, start, end, mode) for changes in (got, wanted))
        if got != wanted:
            raise Failure(what, f"{detail}\n{difference(got, wanted)}")

    def check_time(self, version, text):
        if self.times.get(version) is None:
            self.times = self.commit_times()
        if text != model.moment_text(self.times[version], "T") + "000Z":
            raise Failure("another commit timestamp", f"version {version}: {text}, not {model.moment_text(self.times[version])}")

    def check_changes(self, start, end, when):
        """CHANGES FROM …, by what becomes of rows that only moved and of updates."""
        rnd, table = self.rnd, self.table
        how = rnd.choice(["none", "dropCarryovers", "netChanges", "netChanges"])
        paired = how != "none" and rnd.random() < 0.5
        mode = table.feed_mode(start, end)
        if how == "netChanges":  # what a row was is only known by its id
            mode = "automatic" if all(version.properties.tracked for version in table.versions[start:end + 1]) else None
        sql = (f"SELECT * FROM {self.name} CHANGES FROM VERSION {self.bound(start, -1)} TO VERSION {self.bound(end, 1)} "
               f"WITH (deduplicationMode = '{how}', computeUpdates = {str(paired).lower()})")
        if mode is None:
            missing = (("DELTA_CHANGELOG_REQUIRES_ROW_TRACKING", "DELTA_CHANGELOG_ROW_TRACKING_DISABLED_IN_RANGE") if how == "netChanges"
                       else ("DELTA_MISSING_CHANGE_DATA",))
            if self.read(sql, False, missing + GONE) is not None:
                raise Failure("changes that are not there", f"{sql} {when}")
            return
        rows = self.feed_rows(sql, start, end, mode)
        if rows is None:
            return
        wanted = list(table.net_changes(start, end)) if how == "netChanges" else table.feed(start, end)
        if not paired:
            wanted = [(version, SPLIT.get(type_, type_), uid, values) for version, type_, uid, values in wanted]
        if how == "none" and mode == "automatic":
            rows = without_moved(rows, wanted)
        self.compare_feeds(f"other changes: {how}", f"{sql} {when}", rows, wanted, start, end, mode)

    def bound(self, version, outwards):
        """@version as an inclusive bound, or the one beside it as one that is not."""
        beside = version + outwards
        if self.rnd.random() < 0.7 or not self.table.first <= beside <= self.table.version:
            return version
        return f"{beside} EXCLUSIVE"

    def draw_moment(self, times):
        """At, just before or just after a commit, or far off."""
        if self.rnd.random() < 0.1:
            return model.Moment(self.rnd.choice([min(times.values()) - 86400000, max(times.values()) + 86400000]))
        return model.Moment(self.rnd.choice(list(times.values())) + self.rnd.choice([-1, 0, 0, 1]))

    def check_travel(self, when):
        """A version by a moment."""
        times = self.commit_times()
        moment = self.draw_moment(times)
        version = model.at_or_before(times, moment)
        as_of = self.rnd.choice(["TIMESTAMP AS OF {}", "FOR SYSTEM_TIME AS OF {}", "WITH (timestampAsOf = {})"]).format(self.spelled(moment))
        if isinstance(version, int):
            self.check_contents(version, when, as_of)
        else:
            self.must_fail(f"SELECT * FROM {self.name} {as_of}", {version}, when)

    def check_feed_by_bounds(self, when):
        """The feed between versions and moments, some of them out of range."""
        rnd, times = self.rnd, self.commit_times()

        def draw_bound(odds):
            if rnd.random() < odds:
                return self.draw_moment(times)
            return rnd.choice([*times, *times, max(times) + 1])
        start, end = draw_bound(0.7), None if rnd.random() < 0.2 else draw_bound(0.7)
        lenient = rnd.random() < 0.3
        found = model.feed_range(times, start, end, lenient)
        sql = self.feed_sql(start, end)
        self.engine.answer(f"SET spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled = {str(lenient).lower()}")
        when += f", out of range {'allowed' if lenient else 'refused'}"
        if isinstance(found, set):
            self.must_fail(sql, found, when)
        elif found:
            self.check_feed(*found, when, sql)
        elif self.read(sql, False, (*SCHEMA, "DELTA_MISSING_CHANGE_DATA")):
            raise Failure("rows of no version", f"{sql} {when}")
        self.counts["bounds of feeds looked up"] += 1

    def feed_sql(self, start, end):
        """table_changes() or its like in options."""
        if self.rnd.random() < 0.6:
            bounds = ", ".join(map(self.spelled, [start] if end is None else [start, end]))
            return f"SELECT * FROM table_changes('{self.name}', {bounds})"
        options = [(name + ("Timestamp" if isinstance(bound, model.Moment) else "Version"), self.spelled(bound))
                   for name, bound in (("starting", start), ("ending", end)) if bound is not None]
        return f"SELECT * FROM {self.name} WITH (readChangeFeed = true, {', '.join(f'{key} = {value}' for key, value in options)})"

    def spelled(self, bound):
        if not isinstance(bound, model.Moment):
            return str(bound)
        text = model.moment_text(bound)
        return f"'{self.rnd.choice([text, text + 'Z', text.replace(' ', 'T') + '+00:00'])}'"

    def must_fail(self, sql, conditions, when):
        try:
            self.engine.answer(sql)
        except Problem as problem:
            if problem.condition not in conditions:
                raise Failure(f"another error: {problem.condition}", f"{sql} {when}: one of {conditions} was due\n{problem}") from None
            self.counts["refused as it must be"] += 1
        else:
            raise Failure("a read succeeds where it must fail", f"{sql} {when}: one of {conditions} was due")

    def check_history(self):
        table = self.table
        for version in range(table.version):
            self.check_contents(version, "at the end")
        for _ in range(8):
            start = self.rnd.randint(table.first, table.version)
            check = self.check_feed if self.rnd.random() < 0.7 else self.check_changes
            check(start, self.rnd.randint(start, min(table.version, start + self.rnd.choice([0, 2, 5, 30]))), "at the end")
        times = self.commit_times()
        for row in self.engine.answer(f"DESCRIBE HISTORY {self.name}"):
            if row["version"] in times:
                self.check_time(row["version"], row["timestamp"])
        for _ in range(3):
            self.check_travel("at the end")
            self.check_feed_by_bounds("at the end")

    def check_other_readers(self):
        for name, read in other_readers().items():
            if exception_of(name, self) is None:
                self.check_other_reader(name, read)

    def check_other_reader(self, name, read):
        try:
            rows = read(self.path)
        except Exception as error:
            raise Failure(f"{name} fails", str(error)) from None
        got = {row["uid"]: row for row in rows}
        wanted = self.table.contents(self.table.version)
        self.counts[f"read by {name}"] += 1
        if got != wanted or len(rows) != len(wanted):
            raise Failure(f"{name} reads other rows", f"{difference(got.items(), wanted.items())}\n{len(rows)} rows")


SPLIT = {"update_preimage": "delete", "update_postimage": "insert"}


def without_moved(rows, wanted):
    """@rows without deletes and inserts of equal rows that are not @wanted."""
    surplus = collections.Counter(map(repr, rows)) - collections.Counter(map(repr, wanted))
    kept = []
    for row in rows:
        version, type_, uid, values = row
        other = repr((version, "insert" if type_ == "delete" else "delete", uid, values))
        if surplus[repr(row)] > 0 and surplus[repr(row)] == surplus[other]:
            continue
        kept.append(row)
    return kept


def difference(got, wanted):
    got, wanted = list(got), list(wanted)
    lines = [f"  got     {one}" for one in got if one not in wanted] + [f"  wanted  {one}" for one in wanted if one not in got]
    return "\n".join(lines[:40]) or f"  the same, but not as often: got {len(got)}, wanted {len(wanted)}"


# ---- delta-rs and DuckDB ----

READERS = None


def other_readers():
    """name → function of a path: rows as dicts. Empty without the Python packages."""
    global READERS
    if READERS is None:
        try:
            import duckdb
            import deltalake
            import duckdb_extension_delta
            import pyarrow
        except ImportError:
            READERS = {}
            return READERS
        connection = duckdb.connect()
        extension = next(pathlib.Path(duckdb_extension_delta.__file__).parent.rglob("*.duckdb_extension"))
        connection.execute(f"LOAD '{extension}'")

        def read_delta_rs(path):
            table = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(path)))
            return plain(pyarrow.table(table.execute("SELECT * FROM t").read_all()))

        def read_duckdb(path):
            return plain(connection.sql(f"SELECT * FROM delta_scan('{path}')").to_arrow_table())
        READERS = {"delta-rs": read_delta_rs, "duckdb": read_duckdb}
    return READERS


def plain(arrow):
    return [{name: plain_value(value) for name, value in row.items()} for row in arrow.to_pylist()]


def plain_value(value):
    """As the model has it."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return str(value) if isinstance(value, (datetime.date, decimal.Decimal)) else value


def exception_of(reader, run):
    """Why @reader does not read this table, or None."""
    table = run.table
    if reader == "delta-rs" and table.widens:
        return "Unsupported table features required: [TypeWidening]"
    if reader == "delta-rs" and "vacuumProtocolCheck" in table.properties.features:
        return "Unsupported table features required: [VacuumProtocolCheck]"
    if reader == "delta-rs" and foreign.has_hidden_nulls(table):
        return "Column is declared as non-nullable but contains null values: those of rows that deletion vectors hide"
    if reader == "duckdb" and table.partition is not None and any(version.properties.mapped for version in table.versions) \
            and table.columns[0].id != table.partition.id:
        return "mapped, and the partition column is not the first: NULL, or another column's values"
    return None


# ---- many programs ----

def run_program(engine, program, name, keep=None, keep_table=False):
    """(failure or None, the run)."""
    run = Run(engine, program, name)
    try:
        run.run(keep)
        return None, run
    except Failure as failure:
        return failure, run
    except Problem as problem:
        return Failure(f"unexpected {problem.condition}", str(problem)), run
    finally:
        try:
            engine.answer("RESET")
            if not keep_table:
                engine.answer(f"DROP TABLE IF EXISTS {name}")
                shutil.rmtree(run.path, ignore_errors=True)
        except (Problem, Failure):
            pass


def shrink(engine, program, failure, seconds=60):
    """The fewest statements found that fail in the same way: (their indexes, failure, run)."""
    best = list(range(len(program.statements)))
    found = None
    deadline = time.monotonic() + seconds
    size = max(1, len(best) // 2)
    while time.monotonic() < deadline:
        for first in range(0, len(best), size):
            candidate = best[:first] + best[first + size:]
            now, run = run_program(engine, program, f"s{random.getrandbits(48)}", set(candidate))
            if now is not None and now.what == failure.what:
                best, found = candidate, (now, run)
                break
        else:
            if size == 1:
                break
            size //= 2
            continue
        size = min(size, max(1, len(best) // 2))
    return best, found


def report(engine, program, failure, run):
    kept, found = shrink(engine, program, failure)
    shown_failure, shown_run = found or (failure, run)
    lines = [f"FAIL program {program.seed}: {shown_failure}", f"  again: --program {program.seed} --keep {','.join(map(str, kept))}"]
    return "\n".join(lines + [f"    {line}" for line in shown_run.log])


def work(seeds, how, shrinks):
    """(seed, report or None, counts) of each program."""
    found = []
    with tempfile.TemporaryDirectory(prefix="sluice-programs-") as directory:
        engine = Engine(directory)
        for number, seed in enumerate(seeds):
            program = Program(seed, **how)
            try:
                failure, run = run_program(engine, program, f"t{number}")
                text = None
                if failure is not None:
                    text = report(engine, program, failure, run) if shrinks else f"FAIL program {seed}: {failure}"
                found.append((seed, failure and failure.what, text, run.counts))
            except Exception:
                found.append((seed, "the test itself", f"FAIL program {seed}: {traceback.format_exc()}", collections.Counter()))
        engine.stop()
    return found


def use_readers():
    """Goes on in the Python that has delta-rs and DuckDB, where there is one."""
    python = ROOT / ".deps/venv/bin/python"
    if not other_readers() and python.exists() and "PROGRAMS_PYTHON" not in os.environ:
        os.execve(python, [str(python), *sys.argv], os.environ | {"PROGRAMS_PYTHON": str(python)})
    if not other_readers():
        print("delta-rs and DuckDB (tools/python-packages) are not there: they read nothing")
        if os.environ.get("SLUICE_REQUIRE_INTEROP") == "1":
            sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--statements", default="5-30")
    parser.add_argument("--foreign", action="store_true", help="delta-rs writes too")
    parser.add_argument("--program", help="the name of one program, as a failure tells it")
    parser.add_argument("--keep", help="with --program: the indexes of the statements that run")
    options = parser.parse_args()
    use_readers()
    how = {"n_statements": tuple(map(int, options.statements.split("-"))), "with_foreign": options.foreign}
    if options.foreign and not other_readers():
        return 77
    if options.program is not None:
        return run_one(options, how)
    print(f"seed {options.seed}", flush=True)
    started = time.monotonic()
    seeds = [f"{options.seed}.{number}" for number in range(options.programs)]
    size = max(1, min(20, len(seeds) // options.jobs))
    chunks = [seeds[first:first + size] for first in range(0, len(seeds), size)]
    counts, failures = collections.Counter(), collections.Counter()
    with multiprocessing.Pool(options.jobs) as pool:
        for found in pool.imap_unordered(work_chunk, [(chunk, how) for chunk in chunks]):
            for _, what, text, run_counts in found:
                counts += run_counts
                if what is not None:
                    failures[what] += 1
                    print(text, flush=True)
    for name, count in sorted(counts.items()):
        print(f"{count:8} {name}")
    for what, count in failures.most_common():
        print(f"{count:8} FAILED: {what}")
    print(f"{len(seeds)} programs, {sum(failures.values())} failures, {time.monotonic() - started:.1f} s")
    return 1 if failures else 0


def work_chunk(arguments):
    seeds, how = arguments
    return work(seeds, how, True)


def run_one(options, how):
    keep = None if options.keep is None else {int(index) for index in options.keep.split(",") if index}
    with tempfile.TemporaryDirectory(prefix="sluice-programs-") as directory:
        engine = Engine(directory)
        failure, run = run_program(engine, Program(options.program, **how), "t", keep)
        engine.stop()
    print("\n".join(run.log))
    print("no failure" if failure is None else failure)
    return 0 if failure is None else 1


if __name__ == "__main__":
    sys.exit(main())
