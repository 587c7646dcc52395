#!/usr/bin/env python3
"""What a statement costs: it reads what it needs, and what does not fit into memory goes to disk (R17, R55, R58)."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SLUICE = os.environ.get("SLUICE") or str(pathlib.Path(os.environ.get("SLUICE_BUILD", "build")).resolve() / "sluice")


def md5(number):
    return hashlib.md5(str(number).encode()).hexdigest()


def bytes_read():
    """By this process and the children it waited for."""
    return int(pathlib.Path("/proc/self/io").read_text().split("rchar: ")[1].split()[0])


class Costs(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sluice-costs-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def sql(self, text, *arguments):
        """The lines of its output, the bytes it read, and how many bytes its memory grew to."""
        return self.sluice("sql", "-w", str(self.root / "w"), "-o", "csv", *arguments, text)

    def sluice(self, *arguments):
        before = bytes_read()
        with tempfile.TemporaryFile("w+") as out:
            process = subprocess.Popen([SLUICE, *arguments], stdout=out, stderr=subprocess.STDOUT, cwd=self.root)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            lines = out.read().splitlines()
        self.assertEqual(process.returncode, 0, lines)
        return lines, bytes_read() - before, usage.ru_maxrss << 10

    def assert_memory(self, found, limit):
        if "SLUICE_SANITIZED" not in os.environ:
            self.assertLess(found, limit)

    def size(self, table):
        return sum(f.stat().st_size for f in (self.root / "w" / table).rglob("*.parquet"))

    def test_a_feed_reads_what_changed(self):
        """R17: a deleted and an updated row of a file of 500,000 cost a row group each, not the file; what only moved costs nothing."""
        for n, properties in enumerate(("delta.enableRowTracking = true", "delta.enableChangeDataFeed = true")):
            table = f"t{n}"
            self.sql(f"CREATE TABLE {table} TBLPROPERTIES ({properties}) AS SELECT id AS k, md5(CAST(id AS STRING)) AS v FROM range(500000)")
            size = self.size(table)
            self.sql(f"DELETE FROM {table} WHERE k = 250000; REORG TABLE {table} APPLY (PURGE); UPDATE {table} SET v = 'x' WHERE k = 7")
            feed = f"SELECT k, v, _change_type FROM table_changes('{table}', %s) ORDER BY _commit_version, _change_type DESC"
            for versions, rows in (("1, 1", [f"250000,{md5(250000)},delete"]), ("2, 2", []),
                                   ("3, 3", [f"7,{md5(7)},update_preimage", "7,x,update_postimage"])):
                with self.subTest(properties, versions=versions):
                    lines, n_bytes, _ = self.sql(feed % versions)
                    self.assertEqual(lines[1:], rows)
                    self.assertLess(n_bytes, size / 2)

    def test_a_small_merge_reads_one_file(self):
        """R55: one row into 20 files that are sorted by key."""
        # One thread, so that every INSERT makes one file.
        self.sql("CREATE TABLE t (k BIGINT, v STRING); " + "; ".join(
            f"INSERT INTO t SELECT id, md5(CAST(id AS STRING)) FROM range({n * 50000}, {n * 50000 + 50000})" for n in range(20)),
            "--set", "engine.threads=1")
        size = self.size("t")
        merge = "MERGE INTO t USING (SELECT 512345L AS k, 'y' AS v) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        lines, n_bytes, memory = self.sql(merge, "--set", "engine.memoryLimit=100MB")
        self.assertEqual(lines[1:], ["1,1,0,0"])
        self.assertLess(n_bytes, size / 10)
        self.assert_memory(memory, 200 << 20)
        self.assertEqual(self.sql("SELECT count(*), count_if(v = 'y') FROM t")[0][1:], ["1000000,1"])

    def test_a_big_merge_spills(self):
        """R58: a source and a target of several times the memory."""
        self.sql("CREATE TABLE t AS SELECT id AS k, concat(md5(CAST(id AS STRING)), md5(CAST(id + 1 AS STRING))) AS v FROM range(2500000)")
        merge = """MERGE INTO t USING (SELECT id * 2 AS k, concat(sha2(CAST(id AS STRING), 256), sha2(CAST(id + 1 AS STRING), 256)) AS v FROM range(2500000)) s
          ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"""
        (self.root / "spill").mkdir()
        limits = ("--set", "engine.memoryLimit=200MB", "--set", "engine.threads=2", "--set", f"engine.tempDirectory={self.root}/spill")
        lines, _, memory = self.sql(merge, *limits)
        self.assertEqual(lines[1:], ["2500000,1250000,0,1250000"])
        self.assert_memory(memory, 600 << 20)  # 850 MB without the limit: buffers of what is written do not count
        self.assertEqual(self.sql("SELECT count(*), count(DISTINCT k), count_if(length(v) = 128) FROM t")[0][1:], ["3750000,3750000,2500000"])

    def test_wide_targets_of_partial_updates(self):
        """400 columns that say nothing where they are NULL: each column's newest author is found without a copy of all others for it."""
        columns = ", ".join(f"nullif((id + {c}) % 3, 0) + {c} AS c{c}" for c in range(400))
        self.sql(f"CREATE TABLE e AS SELECT id % 20 AS k, id DIV 40 AS n, {columns} FROM range(200)")
        spec = f"name: wide\nstorage: file://{self.root}/storage\nlibraries: [{{glob: {{include: wide.sql}}}}]\n"
        (self.root / "spark-pipeline.yml").write_text(f'{spec}configuration: {{spark.sql.warehouse.dir: "{self.root}/w"}}\n')
        (self.root / "wide.sql").write_text("".join(
            f"CREATE STREAMING TABLE t{i}; CREATE FLOW f{i} AS AUTO CDC INTO t{i} FROM STREAM e KEYS (k) IGNORE NULL UPDATES SEQUENCE BY n "
            f"COLUMNS * EXCEPT (n) {storage};" for i, storage in enumerate(
                ("STORED AS SCD TYPE 1", "STORED AS SCD TYPE 2", "SYSTEM SEQUENCE BY n STORED AS BITEMPORAL"))))
        _, _, memory = self.sluice("run")
        self.assert_memory(memory, 700 << 20)
        # Of two events at one time the greater value counts, and what it does not say is that of the time before.
        wanted = []
        for k in range(20):
            row = [k]
            for c in (0, 1, 399):
                said = [[(i + c) % 3 for i in (n * 40 + k, n * 40 + 20 + k) if (i + c) % 3 > 0] for n in range(5)]
                row.append(max([s for s in said if s][-1]) + c)
            wanted.append(",".join(map(str, row)))
        for i, condition in enumerate(("", "WHERE __END_AT IS NULL", "WHERE __END_AT IS NULL AND __SYSTEM_END_AT IS NULL")):
            self.assertEqual(self.sql(f"SELECT k, c0, c1, c399 FROM t{i} {condition} ORDER BY k")[0][1:], wanted)

    def test_what_does_not_fit_is_refused_by_name(self):
        """R58: UPDATE spills too; with too little memory for its threads a statement says so, and changes nothing."""
        self.sql("CREATE TABLE t AS SELECT id AS k, repeat(string(id), 30) AS v FROM range(1200000)")
        (self.root / "spill").mkdir()
        statement = "UPDATE t SET v = concat(v, 'x') WHERE k % 10 < 9"
        limits = ("--set", "engine.threads=2", "--set", f"engine.tempDirectory={self.root}/spill")
        done = subprocess.run([SLUICE, "sql", "-w", str(self.root / "w"), *limits, "--set", "engine.memoryLimit=20MB", statement], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("[OUT_OF_MEMORY]", done.stderr)
        self.assertIn("engine.memoryLimit", done.stderr)
        self.assertEqual(len(list((self.root / "w/t/_delta_log").glob("*.json"))), 1)
        self.assertEqual(self.sql(statement, *limits, "--set", "engine.memoryLimit=160MB")[0][1:], ["1080000"])
        self.assertEqual(self.sql("SELECT count(*), count_if(v = concat(repeat(string(k), 30), 'x')) FROM t")[0][1:], ["1200000,1080000"])
        self.assertEqual(list((self.root / "spill").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
