#!/usr/bin/env python3
"""What the peers of bench/run do, each in a process of its own, and the making of its inputs. Prints one JSON object.

usage: peers.py make-cdc DIR ROWS BATCHES CHANGES | make-history DIR KEYS BATCHES CHANGES | make-json DIR ROWS FILES | make-log DIR COMMITS [FILES]
       peers.py cdc-deltalake DIR TABLE BATCHES [--legacy-feed] [--newest] | cdc-duckdb DIR DATABASE BATCHES [--newest] | cdc2-duckdb DIR DATABASE BATCHES
       peers.py cdc3-duckdb DIR DATABASE BATCHES | cdc-polars DIR FILE BATCHES
       peers.py make-dml DIR ROWS CHANGES | load-deltalake FILE TABLE [--legacy-feed] | dml-deltalake DIR TABLE merge-N|update|delete | feed-deltalake TABLE
       peers.py cdc-reference DIR BATCHES 1|2|bitemporal | json-duckdb DIR OUT | open-deltalake TABLE | open-duckdb TABLE | one-duckdb | has MODULE
"""
import json
import math
import os
import pathlib
import resource
import sys
import time

COLUMNS = "id, name, email, city, amount, seq"


def written() -> int:
    return next(int(l.split()[1]) for l in open("/proc/self/io") if l.startswith("wchar"))


class Spent:
    """Wall and CPU seconds and bytes handed to write() since it was made."""

    def __init__(self):
        self.start = time.monotonic(), time.process_time(), written()

    def end(self) -> dict:
        wall, cpu, wrote = self.start
        return {"seconds": time.monotonic() - wall, "cpu_seconds": time.process_time() - cpu, "written_bytes": written() - wrote}


def report(**facts) -> None:
    facts["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(facts))


def each_batch(n: str):
    """The numbers of the batches; says on stderr how far it is."""
    for b in range(int(n)):
        yield b
        print(f"progress: batch {b + 1} of {n}", file=sys.stderr, flush=True)


# ---- inputs ----


# Texts that do not compress: 1,000,000 rows are about 80 MB of Parquet.
PERSON = "'name ' || left(md5(({id} * 31 + {v})::VARCHAR), 12) AS name, md5(({id} * 17 + {v})::VARCHAR) || '@mail.example' AS email, " \
         "'city ' || hash({id} + {v}) % 500 AS city, (hash({id} * 7 + {v}) % 1000000000) / 997.0 AS amount"


def make_cdc(directory: str, rows: str, batches: str, changes: str) -> None:
    """base.parquet: ROWS inserts. batch-N.parquet: CHANGES events, 70 % updates, 20 % inserts, 10 % deletes; one in twenty of the
    updates is late: its sequence lies three batches back. `seen` is when the event came."""
    import duckdb

    n, changed = int(rows), int(changes)
    inserts, deletes = changed * 2 // 10, changed // 10
    updates = changed - inserts - deletes
    con = duckdb.connect()
    con.execute(f"COPY (SELECT 'I' AS op, i AS id, {PERSON.format(id='i', v=0)}, 0::BIGINT AS seq, 0::BIGINT AS seen FROM range({n}) r(i)) "
                f"TO '{directory}/base.parquet' (FORMAT parquet)")
    for b in each_batch(batches):
        # A step that shares no divisor with the number of rows visits each row at most once a batch.
        step = next(s for s in range(7919 + 2 * b, 10**6) if math.gcd(s, n) == 1)
        con.execute(f"""COPY (
          SELECT CASE WHEN k < {updates} THEN 'U' ELSE 'D' END AS op, id, {PERSON.format(id='id', v=b + 1)},
                 ({b + 1} * 1000000 + k - CASE WHEN k < {updates} AND k % 20 = 0 THEN 3000000 ELSE 0 END)::BIGINT AS seq,
                 ({b + 1} * 1000000 + k)::BIGINT AS seen
          FROM (SELECT i AS k, (i * {step} + {b} * 104729) % {n} AS id FROM range({updates + deletes}) r(i))
          UNION ALL
          SELECT 'I', id, {PERSON.format(id='id', v=b + 1)}, ({b + 1} * 1000000 + k)::BIGINT, ({b + 1} * 1000000 + k)::BIGINT
          FROM (SELECT i + {updates + deletes} AS k, {n} + {b * inserts} + i AS id FROM range({inserts}) r(i))
        ) TO '{directory}/batch-{b}.parquet' (FORMAT parquet)""")
    report()


def make_history(directory: str, keys: str, batches: str, changes: str) -> None:
    """base.parquet: no row. batch-N.parquet: CHANGES events over KEYS keys drawn at random, so that a key may come twice in a batch; 10 % deletes, 20 % late by one to three
    batches. No two events have one sequence."""
    import duckdb

    con = duckdb.connect()
    con.execute(f"COPY (SELECT '' AS op, 0::BIGINT AS id, {PERSON.format(id='0', v=0)}, 0::BIGINT AS seq, 0::BIGINT AS seen WHERE false) "
                f"TO '{directory}/base.parquet' (FORMAT parquet)")
    for b in each_batch(batches):
        con.execute(f"""COPY (
          SELECT CASE WHEN h % 10 = 0 THEN 'D' ELSE 'U' END AS op, id, {PERSON.format(id='id', v='k * 53 + ' + str(b))},
                 CASE WHEN h // 16 % 5 = 0 THEN ({b + 3} - late) * 1000000 + late * 200000 + k ELSE {b + 3} * 1000000 + k END::BIGINT AS seq,
                 ({b + 3} * 1000000 + k)::BIGINT AS seen
          FROM (SELECT i AS k, (hash(i * 1000 + {b}) % {int(keys)})::BIGINT AS id, hash(i * 7 + {b} * 13) AS h, 1 + (hash(i + {b}) % 3)::BIGINT AS late
                FROM range({int(changes)}) r(i))) TO '{directory}/batch-{b}.parquet' (FORMAT parquet)""")
    report()


def make_dml(directory: str, rows: str, changes: str) -> None:
    """base.parquet: ROWS rows in the order of id. merge-N.parquet, N of 1, 1,000, CHANGES: nine of ten are there already, spread over all rows."""
    import duckdb

    os.makedirs(directory, exist_ok=True)
    n = int(rows)
    columns = "i AS id, 'name ' || left(md5((i * 31 + {v})::VARCHAR), 12) AS name, md5((i * 17 + {v})::VARCHAR) || '@mail.example' AS email, " \
              "'city ' || hash(i + {v}) % 500 AS city, (hash(i * 7 + {v}) % 1000000000) / 997.0 AS amount"
    duckdb.execute(f"COPY (SELECT {columns.format(v=0)} FROM range({n}) r(i)) TO '{directory}/base.parquet' (FORMAT parquet)")
    for many in {1, 1000, int(changes)}:
        duckdb.execute(f"COPY (SELECT {columns.format(v=1)} FROM (SELECT CASE WHEN k % 10 = 9 THEN {n} + k ELSE k * {max(n // many, 1)} END AS i FROM range({many}) r(k))) "
                       f"TO '{directory}/merge-{many}.parquet' (FORMAT parquet)")
    report()


def make_json(directory: str, rows: str, files: str) -> None:
    import duckdb

    each = int(rows) // int(files)
    for f in range(int(files)):
        duckdb.execute(f"COPY (SELECT i AS id, 'name ' || i % 1000 AS name, 'user' || i || '@mail.example' AS email, 'city ' || i % 500 AS city, "
                       f"i / 8.0 AS amount, i % 2 = 0 AS active FROM range({f * each}, {(f + 1) * each}) r(i)) TO '{directory}/part-{f:04}.json' (FORMAT json)")
    report(source_bytes=sum(p.stat().st_size for p in pathlib.Path(directory).iterdir()))


def make_log(directory: str, commits: str, files: str = "") -> None:
    """A table of COMMITS JSON commits of one file each; a tenth of the files is removed again, or all but the last FILES. The data files
    are not there."""
    log = pathlib.Path(directory) / "_delta_log"
    log.mkdir(parents=True)
    schema = json.dumps({"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}},
                                                      {"name": "v", "type": "string", "nullable": True, "metadata": {}}]})
    for version in range(int(commits)):
        lines = [{"commitInfo": {"timestamp": 1767225600000 + version, "operation": "WRITE", "operationParameters": {"mode": "Append"}}}]
        if version == 0:
            lines += [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
                      {"metaData": {"id": "bench", "format": {"provider": "parquet", "options": {}}, "schemaString": schema, "partitionColumns": [],
                                    "configuration": {}, "createdTime": 1767225600000}}]
        stats = {"numRecords": 100, "minValues": {"id": version * 100, "v": "a"}, "maxValues": {"id": version * 100 + 99, "v": "z"}, "nullCount": {"id": 0, "v": 0}}
        lines.append({"add": {"path": f"part-{version:05}.parquet", "partitionValues": {}, "size": 1000, "modificationTime": 1767225600000 + version,
                              "dataChange": True, "stats": json.dumps(stats)}})
        gone = version - int(files) if files else version - 5 if version % 10 == 9 else -1
        if gone >= 0:
            lines.append({"remove": {"path": f"part-{gone:05}.parquet", "deletionTimestamp": 1767225600000 + version, "dataChange": True}})
        (log / f"{version:020}.json").write_text("".join(json.dumps(l) + "\n" for l in lines))
    report()


# ---- statements ----


def load_deltalake(file: str, table: str, *flags: str) -> None:
    import pyarrow.parquet as pq
    from deltalake import write_deltalake

    write_deltalake(table, pq.read_table(file), configuration={"delta.enableChangeDataFeed": "true"} if "--legacy-feed" in flags else {})
    report()


def dml_deltalake(directory: str, table: str, command: str) -> None:
    import pyarrow.parquet as pq
    from deltalake import DeltaTable

    one = Spent()
    target = DeltaTable(table)
    if command == "update":
        target.update(updates={"city": "'moved'"}, predicate="id % 1000 = 17")
    elif command == "delete":
        target.delete("id % 1000 = 19")
    else:
        (target.merge(pq.read_table(f"{directory}/{command}.parquet"), "t.id = s.id", source_alias="s", target_alias="t")
         .when_matched_update_all().when_not_matched_insert_all().execute())
    report(**one.end())


def feed_deltalake(table: str) -> None:
    import pyarrow
    import pyarrow.compute as pc
    from deltalake import DeltaTable

    one = Spent()
    rows = pyarrow.table(DeltaTable(table).load_cdf(starting_version=1).read_all())
    counts = rows.group_by("_change_type").aggregate([("id", "count"), ("id", "count_distinct"), ("amount", "max")])
    report(**one.end(), rows=rows.num_rows, kinds=counts.num_rows)


# ---- AUTO CDC: the base is loaded where there is no table yet; with 0 batches nothing else is done ----


def cdc_deltalake(directory: str, table: str, batches: str, *flags: str) -> None:
    import pyarrow.parquet as pq
    from deltalake import DeltaTable, write_deltalake

    configuration = {"delta.enableChangeDataFeed": "true"} if "--legacy-feed" in flags else {}
    names = [c.strip() for c in COLUMNS.split(",")]
    load = Spent()
    if not os.path.exists(table):
        write_deltalake(table, pq.read_table(f"{directory}/base.parquet", columns=names), configuration=configuration)
    load = load.end()
    spent = []
    for b in each_batch(batches):
        one = Spent()
        source = pq.read_table(f"{directory}/batch-{b}.parquet", columns=["op", *names])
        if "--newest" in flags:  # MERGE wants one source row per key
            import duckdb

            source = duckdb.sql("SELECT DISTINCT ON (id) * FROM source ORDER BY id, seq DESC").to_arrow_table()
        values = {c: f"s.{c}" for c in names}
        (DeltaTable(table).merge(source, "t.id = s.id", source_alias="s", target_alias="t")
         .when_matched_delete("s.op = 'D' AND s.seq > t.seq").when_matched_update(values, "s.op <> 'D' AND s.seq > t.seq")
         .when_not_matched_insert(values, "s.op <> 'D'").execute())
        spent.append(one.end())
    report(load=load, batches=spent)


def cdc_duckdb(directory: str, database: str, batches: str, *flags: str) -> None:
    import duckdb

    con = duckdb.connect(database)
    load = Spent()
    con.execute(f"CREATE TABLE IF NOT EXISTS t AS SELECT {COLUMNS} FROM read_parquet('{directory}/base.parquet')")
    con.execute("CHECKPOINT")
    load = load.end()
    spent = []
    newest = "DISTINCT ON (id) *" if "--newest" in flags else "*"
    order = "ORDER BY id, seq DESC" if "--newest" in flags else ""
    for b in each_batch(batches):
        one = Spent()
        con.execute("BEGIN")
        con.execute(f"CREATE OR REPLACE TEMP TABLE b AS SELECT {newest} FROM read_parquet('{directory}/batch-{b}.parquet') s "
                    f"WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.id = s.id AND t.seq >= s.seq) {order}")
        con.execute("DELETE FROM t USING b WHERE t.id = b.id")
        con.execute(f"INSERT INTO t SELECT {COLUMNS} FROM b WHERE op <> 'D'")
        con.execute("COMMIT")
        con.execute("CHECKPOINT")
        spent.append(one.end())
    report(load=load, batches=spent, rows=con.execute("SELECT count(*) FROM t").fetchone()[0])


def by_hand(directory: str, database: str, batches: str, columns: str, told, rebuild) -> None:
    """Every event is kept, and the rows of a batch's keys are built anew: `told` is the SELECT of all rows of the events e, `rebuild` inserts those of the keys of b."""
    import duckdb

    con = duckdb.connect(database)
    load = Spent()
    con.execute(f"CREATE TABLE IF NOT EXISTS e AS SELECT {columns} FROM read_parquet('{directory}/base.parquet')")
    con.execute(f"CREATE TABLE IF NOT EXISTS t AS {told}")
    con.execute("CHECKPOINT")
    load = load.end()
    spent = []
    for b in each_batch(batches):
        one = Spent()
        con.execute("BEGIN")
        con.execute(f"CREATE OR REPLACE TEMP TABLE b AS SELECT {columns} FROM read_parquet('{directory}/batch-{b}.parquet')")
        con.execute("INSERT INTO e FROM b")
        con.execute("DELETE FROM t WHERE id IN (SELECT id FROM b)")
        rebuild(con)
        con.execute("COMMIT")
        con.execute("CHECKPOINT")
        spent.append(one.end())
    report(load=load, batches=spent, rows=con.execute("SELECT count(*) FROM t").fetchone()[0])


def cdc2_duckdb(directory: str, database: str, batches: str, *flags: str) -> None:
    """History by hand. Late events come out right."""
    history = f"SELECT {COLUMNS}, seq AS start_at, next AS end_at FROM (SELECT *, lead(seq) OVER (PARTITION BY id ORDER BY seq) AS next FROM {{}}) WHERE op <> 'D'"

    def rebuild(con) -> None:
        con.execute(f"INSERT INTO t {history.format('(SELECT * FROM e WHERE id IN (SELECT id FROM b))')}")

    by_hand(directory, database, batches, f"op, {COLUMNS}", history.format("e"), rebuild)


def bitemporal(events: str) -> str:
    """SELECT id, seq, end_at, system_start_at, system_end_at of the bitemporal rows of events with op, id, seq, seen, where `seq` is a column and so every upsert another
    row: it is believed from when it came, and ends at the least later sequence known by then; whenever one comes that is less, another row begins."""
    return f"""
      WITH known AS (
        SELECT u.id, u.seq, greatest(u.seen, e.seen) AS y, e.seq AS next FROM {events} u JOIN {events} e ON e.id = u.id AND e.seq > u.seq WHERE u.op <> 'D'
        UNION ALL SELECT id, seq, seen, NULL FROM {events} WHERE op <> 'D'),
      told AS (SELECT id, seq, y, min(next) AS next FROM known GROUP BY ALL),
      ends AS (SELECT id, seq, y, min(next) OVER (PARTITION BY id, seq ORDER BY y) AS end_at FROM told),
      changes AS (SELECT * FROM ends WINDOW w AS (PARTITION BY id, seq ORDER BY y) QUALIFY lag(y) OVER w IS NULL OR lag(end_at) OVER w IS DISTINCT FROM end_at)
      SELECT id, seq, end_at, y AS system_start_at, lead(y) OVER (PARTITION BY id, seq ORDER BY y) AS system_end_at FROM changes"""


def cdc3_duckdb(directory: str, database: str, batches: str, *flags: str) -> None:
    """Bitemporal by hand: all that was ever believed of a batch's keys is told anew."""
    rows = "SELECT name, email, city, amount, t.* FROM ({}) t JOIN {} USING (id, seq)"

    def rebuild(con) -> None:
        con.execute("CREATE OR REPLACE TEMP TABLE h AS SELECT * FROM e WHERE id IN (SELECT id FROM b)")
        con.execute(f"INSERT INTO t {rows.format(bitemporal('h'), 'h')}")

    by_hand(directory, database, batches, f"op, {COLUMNS}, seen", rows.format(bitemporal("e"), "e"), rebuild)


def cdc_polars(directory: str, file: str, batches: str, *flags: str) -> None:
    import polars as pl

    names = [c.strip() for c in COLUMNS.split(",")]
    load = Spent()
    if not os.path.exists(file):
        pl.read_parquet(f"{directory}/base.parquet").select(names).write_parquet(file)
    load = load.end()
    spent = []
    for b in each_batch(batches):
        one = Spent()
        target = pl.read_parquet(file)
        source = pl.read_parquet(f"{directory}/batch-{b}.parquet").sort("seq").unique("id", keep="last")
        source = source.join(target.select("id", pl.col("seq").alias("old")), on="id", how="left").filter(pl.col("old").is_null() | (pl.col("seq") > pl.col("old")))
        rest = target.join(source.select("id"), on="id", how="anti")
        pl.concat([rest, source.filter(pl.col("op") != "D").select(names)]).write_parquet(file)
        with open(file) as f:
            os.fsync(f.fileno())
        spent.append(one.end())
    report(load=load, batches=spent)


# What a row shows, as a number; the same SQL for both engines.
CONTENT = "(CAST(round(amount * 997) AS BIGINT) + 5 * CAST(substr(city, 6) AS BIGINT) + 7 * ascii(substr(email, 3, 1)) + 11 * ascii(substr(name, 8, 1))) * (1 + seq % 97) + seq"
INTERVALS = {"1": "", "2": " + 3 * coalesce({0}END_AT, 0)", "bitemporal": " + 3 * coalesce({0}END_AT, 0) + 7 * {0}SYSTEM_START_AT + 11 * coalesce({0}SYSTEM_END_AT, 0)"}


def cdc_sum(kind: str) -> None:
    """The expression that is summed over our table."""
    print(CONTENT + INTERVALS[kind].format("__"))


def cdc_reference(directory: str, batches: str, kind: str) -> None:
    """What the table must hold: how many rows, and the sum over them. Type 1: the newest event of every key, unless it deletes. Type 2, where `seq` is a column and so
    every upsert another row: every upsert, until the next event. Of events at one sequence a delete counts, else the greatest."""
    import duckdb

    files = [f"{directory}/base.parquet"] + [f"{directory}/batch-{b}.parquet" for b in range(int(batches))]
    duckdb.execute(f"CREATE TABLE e AS SELECT DISTINCT ON (id, seq) id, seq, seen, op, {CONTENT} AS content FROM read_parquet({files}) ORDER BY id, seq, op <> 'D', amount DESC")
    if kind == "1":
        rows = "SELECT content FROM (SELECT arg_max(op, seq) AS op, arg_max(content, seq) AS content FROM e GROUP BY id) WHERE op <> 'D'"
    elif kind == "2":
        rows = "SELECT * FROM (SELECT op, content, lead(seq) OVER (PARTITION BY id ORDER BY seq) AS end_at FROM e) WHERE op <> 'D'"
    else:
        rows = f"SELECT t.*, e.content FROM ({bitemporal('e')}) t JOIN e USING (id, seq)"
    n, total = duckdb.execute(f"SELECT count(*), sum(content{INTERVALS[kind].format('')}) FROM ({rows})").fetchone()
    print(json.dumps({"rows": n, "sum": int(total)}))


# ---- the rest ----


def json_duckdb(directory: str, out: str) -> None:
    import duckdb

    spent = Spent()
    duckdb.execute("SET preserve_insertion_order = false")
    n = duckdb.execute(f"COPY (SELECT * FROM read_json('{directory}/*.json', format = 'newline_delimited', columns = {{id: 'BIGINT', name: 'VARCHAR', email: 'VARCHAR', "
                       f"city: 'VARCHAR', amount: 'DOUBLE', active: 'BOOLEAN'}})) TO '{out}' (FORMAT parquet)").fetchone()[0]
    with open(out) as f:
        os.fsync(f.fileno())
    report(**spent.end(), rows=n)


def open_deltalake(table: str) -> None:
    from deltalake import DeltaTable

    spent = Spent()
    opened = DeltaTable(table)
    n = len(opened.file_uris())
    report(**spent.end(), files=n)


def open_duckdb(table: str) -> None:
    import duckdb
    import duckdb_extension_delta  # noqa: F401: brings the extension's file

    con = duckdb.connect()
    extension = next(pathlib.Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"))
    con.execute(f"LOAD '{extension}'")
    spent = Spent()
    con.execute(f"SELECT id FROM delta_scan('{table}') WHERE id < -1").fetchall()
    report(**spent.end())


def one_duckdb() -> None:
    import duckdb

    assert duckdb.sql("SELECT 1").fetchone() == (1,)
    report()


def has(module: str) -> None:
    __import__(module)


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
