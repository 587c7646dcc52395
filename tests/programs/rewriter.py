"""A writer that is neither Sluice nor delta-rs, for tables with row tracking: it writes one data file anew with some rows changed, as the Delta
protocol lets it, and does not say that it kept row ids. Its commits are what the automatic feed must pair all the same (cdf.md §5.3)."""
import json
import os
import time
import urllib.parse
import uuid

import programs_model as model
from statements import Statement, kind

try:
    import pyarrow as pa
    import pyarrow.parquet
except ImportError:  # nothing is rewritten then
    pa = None

MATERIALIZED = "delta.rowTracking.materializedRow{}ColumnName"


class Log:
    """The newest version, read from its first commit on."""

    def __init__(self, path):
        self.path = path
        self.files, self.metadata, self.mark = {}, None, -1
        names = sorted(name for name in os.listdir(path / "_delta_log") if name.endswith(".json") and len(name) == 25)
        self.whole = int(names[0][:20]) == 0
        for line in [line for name in names for line in (path / "_delta_log" / name).read_text().splitlines()]:
            (action, body), = json.loads(line).items()
            if action in ("add", "remove"):
                self.files.pop(urllib.parse.unquote(body["path"]), None)
            if action == "add":
                self.files[urllib.parse.unquote(body["path"])] = body
            elif action == "metaData":
                self.metadata = body
            elif action == "domainMetadata" and body["domain"] == "delta.rowTracking" and not body["removed"]:
                self.mark = json.loads(body["configuration"])["rowIdHighWaterMark"]

    def physical_name(self, name):
        field = next(field for field in json.loads(self.metadata["schemaString"])["fields"] if field["name"] == name)
        return field["metadata"].get("delta.columnMapping.physicalName", name)

    def read(self, file):
        return pa.parquet.ParquetFile(self.path / file).read()

    def identities(self, add, table):
        """The row ids and row commit versions of a file's rows."""
        def values(what, default):
            name = self.metadata["configuration"][MATERIALIZED.format(what)]
            own = table[name].to_pylist() if name in table.column_names else [None] * len(table)
            return [default(place) if value is None else value for place, value in enumerate(own)]
        return (values("Id", lambda place: add["baseRowId"] + place), values("CommitVersion", lambda _: add["defaultRowCommitVersion"]))


def write(log, file, table, version, moment, tags):
    """The commit that has @table in place of @file."""
    add = log.files[file]
    name = f"{os.path.dirname(file)}/part-{uuid.uuid4()}.parquet".lstrip("/")
    pa.parquet.write_table(table, log.path / name)
    remove = {key: add[key] for key in ("path", "partitionValues", "size", "baseRowId", "defaultRowCommitVersion") if key in add}
    actions = [
        {"commitInfo": {"timestamp": int(time.time() * 1000), "operation": "UPDATE", "operationParameters": {}, "tags": tags,
                        "inCommitTimestamp": moment}},
        {"remove": remove | {"dataChange": True, "extendedFileMetadata": True, "deletionTimestamp": int(time.time() * 1000)}},
        {"add": {"path": urllib.parse.quote(name, safe="/="), "partitionValues": add["partitionValues"], "dataChange": True,
                 "size": os.stat(log.path / name).st_size, "modificationTime": int(time.time() * 1000),
                 "stats": json.dumps({"numRecords": len(table)}), "baseRowId": log.mark + 1, "defaultRowCommitVersion": version}},
        {"domainMetadata": {"domain": "delta.rowTracking", "removed": False,
                            "configuration": json.dumps({"rowIdHighWaterMark": log.mark + len(table)})}}]
    with open(log.path / "_delta_log" / f"{version:020}.json", "x") as out:
        out.writelines(json.dumps(action) + "\n" for action in actions)


@kind(2)
def rewrite_file(rnd, t):
    """The new file has the ids and versions of rows that did not change, or their ids alone, or neither."""
    if pa is None or not t.properties.tracked or any(column.generation and column.generation.reads == 1 for column in t.columns):
        return None
    log = Log(t.path)
    files = [file for file, add in log.files.items() if add.get("deletionVector") is None]
    if not log.whole or not files:
        return None
    file = rnd.choice(sorted(files))
    table = log.read(file)
    ids, versions = log.identities(log.files[file], table)
    column = next(column for column in t.columns if column.id == 1)
    uids, name = table[log.physical_name("uid")].to_pylist(), log.physical_name(column.name)
    changed = {uid for uid in uids if rnd.random() < 0.3}
    gone = {uid for uid in uids if uid not in changed and rnd.random() < 0.2}
    if len(gone) == len(uids):
        return None
    keeps = rnd.choice(["ids and versions", "ids", "nothing"])
    edit = model.Edit(t)
    edit.swaps_files, edit.hides_equal = True, keeps == "nothing"
    for uid in uids:
        given = {1: 7} if uid in changed else {}
        if uid in gone:
            edit.delete(uid)
        elif keeps == "nothing":
            edit.replace(uid, given)
        elif keeps == "ids" or uid in changed:
            edit.update(uid, given)
    if edit.violations():
        return None
    known = [log.physical_name(one.name) for one in t.columns]
    written = table.select([one for one in table.column_names if one in known])
    if name not in written.column_names:  # the file is older than the column
        return None
    place = written.column_names.index(name)
    values = [7 if uid in changed else value for uid, value in zip(uids, written[name].to_pylist())]
    written = written.set_column(place, written.schema.field(name), pa.array(values, pa.int32()))
    settings = log.metadata["configuration"]
    if keeps != "nothing":
        written = written.append_column(settings[MATERIALIZED.format("Id")], pa.array(ids, pa.int64()))
    if keeps == "ids and versions":
        kept = [None if uid in changed else version for uid, version in zip(uids, versions)]
        written = written.append_column(settings[MATERIALIZED.format("CommitVersion")], pa.array(kept, pa.int64()))
    written = written.filter(pa.array([uid not in gone for uid in uids]))
    tags = rnd.choice([{}, {"delta.rowTracking.preserved": "false"}])
    moment = max(int(time.time() * 1000), max(t.commit_times().values()) + 1)
    return Statement([lambda runner: write(log, file, written, t.version + 1, moment, tags)], edit, n_commits=(1, 1))
