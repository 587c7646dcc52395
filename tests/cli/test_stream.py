#!/usr/bin/env python3
"""`sluice stream`: the patterns of cdf.md §12 in one command each, every option of §10, errors by name, the checkpoint's files."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

SLUICE = os.environ.get("SLUICE") or str(pathlib.Path(os.environ.get("SLUICE_BUILD", "build")).resolve() / "sluice")
FEED = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"


class Warehouse:
    """A warehouse in a temporary directory."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sluice-stream-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def command(self, *arguments, env=None):
        return subprocess.run([SLUICE, *arguments], capture_output=True, text=True, cwd=self.root, timeout=120,
                              env={**os.environ, "SLUICE_WAREHOUSE": str(self.root / "wh"), **(env or {})})

    def sql(self, text):
        """Rows of the last statement that has some, as tuples, sorted."""
        result = subprocess.run([SLUICE, "sql", "-o", "json", "-f", "-"], input=text, capture_output=True, text=True, cwd=self.root,
                                env={**os.environ, "SLUICE_WAREHOUSE": str(self.root / "wh")}, timeout=120)
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        rows = [tuple(json.loads(line).values()) for line in result.stdout.splitlines()]
        return sorted(rows, key=str)

    def stream(self, *arguments, checkpoint="cp"):
        """Runs it; the numbers of rows of its batches."""
        result = self.command("stream", *arguments, "--checkpoint", checkpoint, "--json")
        if result.returncode != 0:
            raise AssertionError(f"{result.returncode}: {result.stderr}")
        return [json.loads(line)["numOutputRows"] for line in result.stdout.splitlines()]

    def refused(self, condition, *arguments, checkpoint="cp"):
        result = self.command("stream", *arguments, "--checkpoint", checkpoint)
        if result.returncode == 0 or f"[{condition}]" not in result.stderr:
            raise AssertionError(f"not [{condition}] but {result.returncode}: {result.stdout}{result.stderr}")
        return result.stderr

    @contextlib.contextmanager
    def follow(self, *arguments, checkpoint="cp"):
        """A stream that keeps running, with its output piped."""
        process = subprocess.Popen([SLUICE, "stream", *arguments, "--checkpoint", checkpoint], cwd=self.root, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, "SLUICE_WAREHOUSE": str(self.root / "wh")})
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()

    def offsets(self, batch, checkpoint="cp"):
        lines = (self.root / checkpoint / "offsets" / str(batch)).read_text().split("\n")
        assert lines[0] == "v1", lines
        return [json.loads(line) for line in lines[1:] if line != "-"]

    def rows_of(self, table="sink", columns="id"):
        return [row[0] if len(row) == 1 else row for row in self.sql(f"SELECT {columns} FROM {table}")]


def option(*pairs):
    return [word for pair in pairs for word in ("--option", pair)]


class Patterns(unittest.TestCase):
    def test_archive_of_a_feed_appends_only_what_is_new(self):
        with Warehouse() as w:
            w.sql(f"CREATE TABLE t (id INT, name STRING) {FEED}; INSERT INTO t VALUES (1, 'a'), (2, 'b'); INSERT INTO t VALUES (3, 'c')")
            self.assertEqual(w.stream("t", "archive", "--changes"), [3])
            self.assertEqual(w.stream("t", "archive", "--changes"), [])
            w.sql("DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (4, 'd')")
            self.assertEqual(w.stream("t", "archive", "--changes"), [2])
            self.assertEqual(w.rows_of("archive", "id, _change_type, _commit_version"),
                             [(1, "insert", 2), (2, "insert", 2), (3, "delete", 3), (3, "insert", 2), (4, "insert", 4)])
            self.assertEqual(w.rows_of("archive", "count(*), count(_commit_timestamp)"), [(5, 5)])

    def test_recovery_at_a_version_has_no_snapshot_and_no_duplicates(self):
        with Warehouse() as w:
            inserts = "; ".join(f"INSERT INTO t VALUES ({i})" for i in range(1, 81))
            w.sql(f"CREATE TABLE t (id INT) {FEED}; {inserts}")
            self.assertEqual(sum(w.stream("t", "archive", "--changes", *option("startingVersion=0"), checkpoint="lost")), 80)
            w.sql("INSERT OVERWRITE archive SELECT * FROM archive WHERE _commit_version <= 75")
            w.stream("t", "archive", "--changes", *option("startingVersion=76"))
            self.assertEqual(w.rows_of("archive", "count(*), count(DISTINCT id), max(_commit_version)"), [(80, 80, 80)])

    def test_directories_and_queries_stand_for_names(self):
        with Warehouse() as w:
            w.sql(f"CREATE TABLE delta.`{w.root}/src` (id INT, v INT); INSERT INTO delta.`{w.root}/src` VALUES (1, 10), (2, 20)")
            self.assertEqual(w.stream("./src", "./out/sink"), [2])
            self.assertEqual(w.rows_of(f"delta.`{w.root}/out/sink`", "id, v"), [(1, 10), (2, 20)])
            query = f"SELECT id + 1 AS next, v FROM STREAM delta.`{w.root}/src` WITH (startingVersion = '0') WHERE v > 10"
            self.assertEqual(w.stream("--query", query, "s2", checkpoint="cp2"), [1])
            self.assertEqual(w.rows_of("s2", "next, v"), [(3, 20)])

    def test_static_side_of_a_join_is_read_as_it_is(self):
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT); CREATE TABLE names (id INT, name STRING); INSERT INTO t VALUES (1), (2); INSERT INTO names VALUES (1, 'a')")
            self.assertEqual(w.stream("--query", "SELECT t.id, n.name FROM STREAM t LEFT JOIN names n ON t.id = n.id", "sink"), [2])
            self.assertEqual(w.rows_of(columns="id, name"), [(1, "a"), (2, None)])

    def test_sink_is_partitioned_and_grows_when_asked(self):
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT, d STRING); INSERT INTO t VALUES (1, 'x')")
            w.stream("t", "sink", "--partition-by", "d")
            self.assertTrue((w.root / "wh" / "sink" / "d=x").is_dir())
            w.sql("CREATE TABLE u (id INT, d STRING, more INT); INSERT INTO u VALUES (2, 'y', 7)")
            self.assertNotEqual(w.command("stream", "u", "sink", "--checkpoint", "cp2").returncode, 0)
            self.assertEqual(w.stream("u", "sink", "--merge-schema", checkpoint="cp3"), [1])
            self.assertEqual(w.rows_of(columns="id, more"), [(1, None), (2, 7)])


class Complete(unittest.TestCase):
    def test_result_over_all_rows_replaces_the_sink(self):
        with Warehouse() as w:
            w.sql(f"CREATE TABLE t (id INT, k STRING) {FEED}; INSERT INTO t VALUES (1, 'a'), (2, 'b')")
            count = ["-q", "SELECT k, count(*) AS n FROM STREAM t WITH (maxFilesPerTrigger = 1) GROUP BY k", "counts", "--mode", "complete"]
            self.assertEqual(w.stream(*count), [2])
            w.sql("INSERT INTO t VALUES (3, 'a'); INSERT INTO t VALUES (4, 'c')")
            self.assertEqual(w.stream(*count), [2, 3])
            self.assertEqual(w.rows_of("counts", "k, n"), [("a", 2), ("b", 1), ("c", 1)])
            self.assertEqual(w.stream(*count), [])
            w.refused("STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", *count[:3], checkpoint="other")
            # Only what came after the beginning, whenever that was.
            late = ["-q", "SELECT max(id) AS m FROM STREAM t WITH (readChangeFeed = true, startingVersion = 'latest')", "late", "--mode", "complete"]
            self.assertEqual(w.stream(*late, checkpoint="l"), [])
            w.sql("INSERT INTO t VALUES (0, 'x')")
            w.stream(*late, checkpoint="l")
            self.assertEqual(w.rows_of("late", "m"), [0])


class Checkpoints(unittest.TestCase):
    def test_files_are_those_of_spark(self):
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
            w.stream("t", "sink")
            id = json.loads((w.root / "cp" / "metadata").read_text())["id"]
            table = last_metadata(w, "t")["id"]
            head, offset = w.offsets(0)
            self.assertEqual((head["batchWatermarkMs"], head["conf"]), (0, {}))
            self.assertEqual(list(offset.items()), [("sourceVersion", 1), ("reservoirId", table), ("reservoirVersion", 2), ("index", -1),
                                                    ("isStartingVersion", False)])
            self.assertEqual((w.root / "cp/commits/0").read_text(), 'v1\n{"nextBatchWatermarkMs":0}')
            commit = (w.root / "wh/sink/_delta_log" / f"{1:020}.json").read_text()
            self.assertIn(f'"txn":{{"appId":"{id}","version":0', commit)
            self.assertIn('"operation":"STREAMING UPDATE"', commit)

    def test_offsets_of_spark_inside_a_commit_and_a_snapshot_are_gone_on_from(self):
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT, p INT) PARTITIONED BY (p); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
            w.stream("t", "probe", *option("maxFilesPerTrigger=1"))
            id = w.offsets(0)[1]["reservoirId"]
            order = [int(row[0]) for row in w.sql("SELECT id FROM probe")]
            for number, (version, index, is_start, n_left) in enumerate([(1, 0, False, 2), (1, 1, True, 1), (1, -1, False, 3)]):
                checkpoint = w.root / f"spark-{number}"
                (checkpoint / "offsets").mkdir(parents=True)
                (checkpoint / "commits").mkdir()
                (checkpoint / "metadata").write_text('{"id":"11111111-2222-3333-4444-555555555555"}')
                (checkpoint / ".metadata.crc").write_bytes(b"crc")
                offset = {"sourceVersion": 1, "reservoirId": id, "reservoirVersion": version, "index": index, "isStartingVersion": is_start}
                (checkpoint / "offsets/7").write_text('v1\n{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{"spark.sql.x":"y"}}\n'
                                                      + json.dumps(offset, separators=(",", ":")))
                (checkpoint / "commits/7").write_text('v1\n{"nextBatchWatermarkMs":0}')
                self.assertEqual(sum(w.stream("t", f"sink{number}", checkpoint=str(checkpoint))), n_left)
                self.assertTrue((checkpoint / "offsets/8").exists())
            self.assertEqual(sorted(order), [1, 2, 3])

    def test_batch_in_the_sink_is_not_written_again(self):
        """A crash between the commit and its mark; and a checkpoint that is older than the sink."""
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
            w.stream("t", "sink")
            (w.root / "cp/commits/0").unlink()
            result = w.command("stream", "t", "sink", "--checkpoint", "cp")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(w.rows_of(), [1])
            shutil.copytree(w.root / "cp", w.root / "old")
            w.sql("INSERT INTO t VALUES (2)")
            self.assertEqual(w.stream("t", "sink"), [1])
            w.sql("INSERT INTO t VALUES (3)")
            w.refused("FLOW_CHECKPOINT_CORRUPT", "t", "sink", checkpoint="old")
            self.assertEqual(w.rows_of(), [1, 2])

    def test_damaged_files_are_refused(self):
        damages = {"offsets/0": ["", "v9\n{}", "v1\nnonsense\n{}", 'v1\n{}\n{"sourceVersion":1}', 'v1\n{}\nx'], "metadata": ["", "[]", '{"id":""}']}
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
            w.stream("t", "sink")
            for file, texts in damages.items():
                good = (w.root / "cp" / file).read_text()
                for text in texts:
                    (w.root / "cp" / file).write_text(text)
                    w.refused("FLOW_CHECKPOINT_CORRUPT", "t", "sink")
                (w.root / "cp" / file).write_text('v1\n{}\n{"sourceVersion":9,"reservoirId":"x","reservoirVersion":1,"index":-1}')
                if file != "metadata":
                    w.refused("DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION", "t", "sink")
                (w.root / "cp" / file).write_text(good)
            self.assertEqual(w.rows_of(), [1])

    def test_one_stream_at_a_time(self):
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
            with w.follow("t", "sink", "--trigger", "processing-time=1 hour") as first:
                self.assertIn("1 row,", first.stdout.readline())
                w.refused("CONCURRENT_STREAM_LOG_UPDATE", "t", "sink")
                first.send_signal(signal.SIGTERM)
                out, _ = first.communicate(timeout=60)
                self.assertEqual(first.returncode, 0)
                self.assertIn("1 batch, 1 row", out)


class Options(unittest.TestCase):
    def test_limits_cut_between_commits_and_between_files_of_the_snapshot(self):
        with Warehouse() as w:
            w.sql(f"CREATE TABLE t (id INT, p INT) PARTITIONED BY (p) {FEED}; INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
            self.assertEqual(w.stream("t", "a", "--changes", *option("maxFilesPerTrigger=1")), [1, 1, 1])
            w.sql("INSERT INTO t VALUES (4, 1), (5, 2), (6, 3), (7, 4), (8, 5); INSERT INTO t VALUES (9, 1), (10, 2)")
            self.assertEqual(w.stream("t", "a", "--changes", *option("maxFilesPerTrigger=1")), [5, 2])
            self.assertEqual(w.stream("t", "b", *option("maxBytesPerTrigger=1b", "startingVersion=0"), checkpoint="cp2"), [3, 5, 2])
            self.assertEqual(w.stream("t", "c", *option("maxFilesPerTrigger=1"), "--trigger", "once", checkpoint="cp3"), [10])
            self.assertEqual(w.stream("t", "d", *option("maxFilesPerTrigger=4", "startingVersion=1"), checkpoint="cp4"), [3, 5, 2])

    def test_starts(self):
        with Warehouse() as w:
            w.sql(f"CREATE TABLE t (id INT) {FEED}; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
            self.assertEqual(w.stream("t", "late", "--changes", *option("startingVersion=latest")), [])
            self.assertEqual(w.stream("t", "two", *option("startingVersion=2"), checkpoint="c2"), [1])
            self.assertEqual(w.stream("t", "past", *option("startingTimestamp=2020-01-01"), checkpoint="c3"), [2])
            w.sql("INSERT INTO t VALUES (3)")
            self.assertEqual(w.stream("t", "late", "--changes", *option("startingVersion=latest")), [1])
            self.assertEqual(w.rows_of("late"), [3])
            # Once there is an offset the start counts no more.
            self.assertEqual(w.stream("t", "two", *option("startingVersion=0"), checkpoint="c2"), [1])
            self.assertEqual(w.rows_of("two"), [2, 3])

    def test_a_start_that_is_not_there_is_refused_or_waited_for(self):
        wait = ["--set", "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled=true"]
        with Warehouse() as w:
            w.sql(f"CREATE TABLE t (id INT) {FEED}; INSERT INTO t VALUES (1)")
            for changes in ([], ["--changes"]):
                w.refused("DELTA_VERSION_NOT_FOUND", "t", "sink", *changes, *option("startingVersion=3"))
                w.refused("DELTA_TIMESTAMP_GREATER_THAN_COMMIT", "t", "sink", *changes, *option("startingTimestamp=2999-01-01"))
            self.assertEqual(w.stream("t", "sink", "--changes", *wait, *option("startingVersion=3"), checkpoint="w"), [])
            w.sql("INSERT INTO t VALUES (2); INSERT INTO t VALUES (3)")
            self.assertEqual(w.stream("t", "sink", "--changes", *wait, *option("startingVersion=3"), checkpoint="w"), [1])
            self.assertEqual(w.rows_of(), [3])

    def test_bad_options_are_refused_by_name(self):
        cases = {"DELTA_ILLEGAL_OPTION": ["startingVersion=-1", "startingVersion=x", "maxFilesPerTrigger=0", "maxBytesPerTrigger=lots", "ignoreDeletes=maybe",
                                          "allowSourceColumnDrop=often"],
                 "DELTA_REGEX_OPT_SYNTAX_ERROR": ["excludeRegex=("], "DELTA_TIMESTAMP_INVALID": ["startingTimestamp=yesterday"],
                 "INVALID_OPTION": ["skipChangeCommit=true", "endingVersion=3"]}
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT)")
            for condition, options in cases.items():
                for one in options:
                    w.refused(condition, "t", "sink", *option(one))
            w.refused("DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET", "t", "sink", *option("startingVersion=1", "startingTimestamp=2020-01-01"))
            w.refused("TABLE_OR_VIEW_NOT_FOUND", "tt", "sink")
            w.refused("STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "-q", "SELECT count(*) AS n FROM STREAM t", "sink")
            for bad in (["t"], ["t", "sink", "--trigger", "sometimes"], ["t", "sink", "--mode", "update"], ["-q", "SELECT 1", "a", "b"]):
                self.assertEqual(w.command("stream", *bad, "--checkpoint", "cp").returncode, 2)
            self.assertEqual(w.command("stream", "t", "sink").returncode, 2)

    def test_excluded_files_give_nothing_whatever_the_order(self):
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'); INSERT INTO t VALUES (4, 'b')")
            self.assertEqual(w.stream("t", "sink", *option("excludeRegex=p=b/", "maxFilesPerTrigger=1")), [1, 1])
            w.sql("INSERT INTO t VALUES (5, 'b'); INSERT INTO t VALUES (6, 'b'), (7, 'd')")
            self.assertEqual(w.stream("t", "sink", *option("excludeRegex=p=b/")), [1])
            self.assertEqual(w.rows_of(), [1, 3, 7])

    def test_changes_in_a_stream_of_appended_rows(self):
        """R25, R45: each option, and the named refusals without one."""
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2), (3)")
            for name in ("plain", "skip", "deletes", "changes"):
                self.assertEqual(w.stream("t", name, checkpoint=name), [3])
            w.sql("DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (4)")
            text = w.refused("DELTA_SOURCE_TABLE_IGNORE_CHANGES", "t", "plain", checkpoint="plain")
            self.assertIn("version 2", text)
            self.assertIn("skipChangeCommits", text)
            w.refused("DELTA_SOURCE_TABLE_IGNORE_CHANGES", "t", "deletes", *option("ignoreDeletes=true"), checkpoint="deletes")
            self.assertEqual(w.stream("t", "skip", *option("skipChangeCommits=true"), checkpoint="skip"), [1])
            self.assertEqual(w.rows_of("skip"), [1, 2, 3, 4])
            w.stream("t", "changes", *option("ignoreChanges=true"), checkpoint="changes")
            self.assertEqual(w.rows_of("changes"), [1, 1, 2, 3, 3, 4])
            w.sql("CREATE TABLE p (id INT); INSERT INTO p VALUES (1)")
            w.stream("p", "pp", checkpoint="pp")
            w.sql("DELETE FROM p; INSERT INTO p VALUES (2)")
            w.refused("DELTA_SOURCE_IGNORE_DELETE", "p", "pp", checkpoint="pp")
            self.assertEqual(w.stream("p", "pp", *option("ignoreDeletes=true"), checkpoint="pp"), [1])

    def test_log_that_was_cleaned_up(self):
        with Warehouse() as w:
            inserts = "; ".join(f"INSERT INTO t VALUES ({i})" for i in range(1, 13))
            for feed, checkpoint in ((["--changes"], "f"), ([], "d")):
                w.sql(f"DROP TABLE IF EXISTS t; CREATE TABLE t (id INT) {FEED}; INSERT INTO t VALUES (0)")
                w.stream("t", f"sink_{checkpoint}", *feed, checkpoint=checkpoint)
                w.sql(inserts)
                for version in range(10):
                    (w.root / "wh/t/_delta_log" / f"{version:020}.json").unlink()
                text = w.refused("DELTA_MISSING_FILES_UNEXPECTED_VERSION", "t", f"sink_{checkpoint}", *feed, checkpoint=checkpoint)
                self.assertIn("version 10", text)
                self.assertEqual(w.stream("t", f"sink_{checkpoint}", *feed, *option("failOnDataLoss=false"), checkpoint=checkpoint), [4])
                w.refused("DELTA_VERSION_NOT_FOUND", "t", "other", *feed, *option("startingVersion=5"), checkpoint="new" + checkpoint)

    def test_restoring_a_sink_warns_of_what_is_not_read_again(self):
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
            self.assertEqual(w.stream("t", "sink"), [1])
            w.sql("INSERT INTO t VALUES (2)")
            self.assertEqual(w.stream("t", "sink"), [1])
            before, after = (w.sql("SELECT max(id), max(_metadata.file_name) FROM sink"), w.sql("DESCRIBE HISTORY sink"))
            self.assertEqual(before[0][0], 2)
            newest = max(int(row[0]) for row in after)
            result = w.command("sql", f"RESTORE TABLE sink TO VERSION AS OF {newest - 1}")
            self.assertEqual(result.returncode, 0)
            self.assertIn(f"warning: streams wrote into {w.root}/wh/sink after version {newest - 1} (", result.stderr)
            self.assertNotIn("warning", result.stdout)
            # What it says is so: the stream goes on behind what it has read.
            self.assertEqual(w.stream("t", "sink"), [])
            self.assertEqual(w.rows_of(), [1])
            # Rows that were written in another way are no stream's.
            w.sql("INSERT INTO sink VALUES (7)")
            result = w.command("sql", f"RESTORE TABLE sink TO VERSION AS OF {newest + 1}")
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_feed_that_was_not_recorded_and_another_table(self):
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
            w.refused("DELTA_MISSING_CHANGE_DATA", "t", "sink", "--changes", *option("startingVersion=0"))
            w.refused("DELTA_MISSING_CHANGE_DATA", "t", "sink", "--changes")
            # Switched on, it is read from there; switched off, the stream stops when it gets there; moved to row ids, it goes on.
            w.sql("ALTER TABLE t SET TBLPROPERTIES (delta.enableChangeDataFeed = true); INSERT INTO t VALUES (2)")
            self.assertEqual(w.stream("t", "sink", "--changes"), [2])
            w.sql("INSERT INTO t VALUES (3); ALTER TABLE t UNSET TBLPROPERTIES (delta.enableChangeDataFeed); INSERT INTO t VALUES (4)")
            w.refused("DELTA_MISSING_CHANGE_DATA", "t", "sink", "--changes")
            self.assertEqual(w.rows_of(), [1, 2, 3])
            w.sql("CREATE TABLE m (id INT, v INT) TBLPROPERTIES (delta.enableChangeDataFeed = true, delta.enableRowTracking = true); INSERT INTO m VALUES (1, 1), (2, 2)")
            w.stream("m", "ms", "--changes", checkpoint="m")
            w.sql("UPDATE m SET v = 10 WHERE id = 1; ALTER TABLE m UNSET TBLPROPERTIES (delta.enableChangeDataFeed); UPDATE m SET v = 20 WHERE id = 2")
            w.stream("m", "ms", "--changes", checkpoint="m")
            self.assertEqual(w.rows_of("ms", "id, v, _change_type, _commit_version"), [
                (1, 1, "insert", 1), (1, 1, "update_preimage", 2), (1, 10, "update_postimage", 2), (2, 2, "insert", 1),
                (2, 2, "update_preimage", 4), (2, 20, "update_postimage", 4)])
            w.sql("CREATE TABLE u (id INT); INSERT INTO u VALUES (1)")
            w.stream("u", "copy", checkpoint="u")
            w.sql("DROP TABLE u; CREATE TABLE u (id INT); INSERT INTO u VALUES (5)")
            w.refused("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", "u", "copy", checkpoint="u")
            self.assertEqual(w.rows_of("copy"), [1])

    def test_commits_without_rows_are_stepped_over_for_good(self):
        """Otherwise their clean-up would look like a loss."""
        with Warehouse() as w:
            w.sql("CREATE TABLE t (id INT, p INT) PARTITIONED BY (p); INSERT INTO t VALUES (1, 1)")
            w.stream("t", "sink", *option("excludeRegex=p=2"))
            w.sql("; ".join(f"INSERT INTO t VALUES ({i}, 2)" for i in range(12)))
            self.assertEqual(w.stream("t", "sink", *option("excludeRegex=p=2")), [])
            self.assertEqual(w.offsets(1)[1]["reservoirVersion"], 14)
            for version in range(10):
                (w.root / "wh/t/_delta_log" / f"{version:020}.json").unlink()
            w.sql("INSERT INTO t VALUES (99, 1)")
            self.assertEqual(w.stream("t", "sink", *option("excludeRegex=p=2")), [1])

    def test_processing_time_follows_the_table(self):
        with Warehouse() as w:
            w.sql(f"CREATE TABLE t (id INT) {FEED}; INSERT INTO t VALUES (1)")
            with w.follow("t", "sink", "--changes", "--trigger", "processing-time=100 milliseconds") as process:
                self.assertIn("batch 0: 1 row", process.stdout.readline())
                w.sql("INSERT INTO t VALUES (2), (3)")
                self.assertIn("batch 1: 2 rows", process.stdout.readline())
                # A new column ends it once; it goes on when started again.
                (w.root / "wh/t/_delta_log" / f"{3:020}.json").write_text(metadata_with_column(w, "t", "more"))
                _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1)
            self.assertIn("[DELTA_SCHEMA_CHANGED_WITH_VERSION]", errors)
            w.sql("INSERT INTO t VALUES (4, 'm')")
            self.assertEqual(w.stream("t", "sink", "--changes", "--merge-schema"), [1])
            self.assertEqual(w.rows_of(columns="id, more"), [(1, None), (2, None), (3, None), (4, "m")])


class Examples(unittest.TestCase):
    """cdf.md §15, 25–31, by recorded changes and by row ids."""

    MODES = {"legacy": "delta.enableChangeDataFeed = true", "automatic": "delta.enableRowTracking = true"}
    FEED = "id, name, _change_type, _commit_version"

    def each(self):
        for mode, properties in self.MODES.items():
            with self.subTest(mode), Warehouse() as w:
                w.sql(f"CREATE TABLE t (id INT, name STRING) TBLPROPERTIES ({properties}); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
                yield w

    def test_25_snapshot_then_changes(self):
        for w in self.each():
            w.sql("UPDATE t SET name = 'B' WHERE id = 2; DELETE FROM t WHERE id = 1")
            w.stream("t", "sink", "--changes")
            self.assertEqual(w.rows_of(columns=self.FEED), [(2, "B", "insert", 3), (3, "c", "insert", 3)])
            w.sql("DELETE FROM t WHERE id = 3")
            self.assertEqual(w.stream("t", "sink", "--changes"), [1])
            self.assertIn((3, "c", "delete", 4), w.rows_of(columns=self.FEED))

    def test_26_latest_and_a_version(self):
        for w in self.each():
            w.stream("t", "sink", "--changes", *option("startingVersion=latest"))
            w.sql("INSERT INTO t VALUES (4, 'd')")
            self.assertEqual(w.stream("t", "sink", "--changes", *option("startingVersion=latest")), [1])
            w.sql("UPDATE t SET name = 'D' WHERE id = 4")
            self.assertEqual(w.stream("t", "two", "--changes", *option("startingVersion=3"), checkpoint="two"), [2])
            self.assertEqual(w.rows_of("two", self.FEED), [(4, "D", "update_postimage", 3), (4, "d", "update_preimage", 3)])

    def test_27_a_commit_is_never_cut(self):
        for properties in self.MODES.values():
            with Warehouse() as w:
                w.sql(f"CREATE TABLE t (id INT, p INT) PARTITIONED BY (p) TBLPROPERTIES ({properties}); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
                self.assertEqual(w.stream("t", "sink", "--changes", *option("maxFilesPerTrigger=1")), [1, 1, 1])
                w.sql("INSERT INTO t VALUES (4, 1), (5, 2), (6, 3), (7, 4), (8, 5); INSERT INTO t VALUES (9, 1), (10, 2); UPDATE t SET id = -id WHERE id < 4")
                self.assertEqual(w.stream("t", "sink", "--changes", *option("maxFilesPerTrigger=1")), [5, 2, 6])

    def test_29_files_that_vacuum_removed(self):
        for w in self.each():
            w.sql("UPDATE t SET name = 'B' WHERE id = 2; SET spark.databricks.delta.retentionDurationCheck.enabled = false; "
                  "OPTIMIZE t; VACUUM t RETAIN 0 HOURS")
            text = w.refused("DELTA_CHANGE_DATA_FILE_NOT_FOUND", "t", "sink", "--changes", *option("startingVersion=2"))
            self.assertIn("version 2", text)
            self.assertEqual(sum(w.stream("t", "all", "--changes", checkpoint="all")), 3)

    def test_31_plain_stream_over_an_update(self):
        for w in self.each():
            w.stream("t", "sink")
            w.sql("UPDATE t SET name = 'B' WHERE id = 2; INSERT INTO t VALUES (4, 'd')")
            w.refused("DELTA_SOURCE_TABLE_IGNORE_CHANGES", "t", "sink")
            self.assertEqual(w.stream("t", "sink", *option("skipChangeCommits=true")), [1])


class Schemas(unittest.TestCase):
    """cdf.md §10.12. The commits are those of ALTER TABLE on a mapped table, written by hand."""

    MAPPED = "TBLPROPERTIES (delta.columnMapping.mode = 'name', delta.enableChangeDataFeed = true)"

    def mapped(self, w):
        w.sql(f"CREATE TABLE t (id INT, name STRING, extra INT) {self.MAPPED}; INSERT INTO t VALUES (1, 'a', 7)")

    def change(self, w, version, edit):
        """Commits the metadata of t as @edit(fields) leaves it."""
        metadata = last_metadata(w, "t")
        schema = json.loads(metadata["schemaString"])
        edit(schema["fields"])
        metadata["schemaString"] = json.dumps(schema)
        text = json.dumps({"commitInfo": {"operation": "CHANGE COLUMN"}}) + "\n" + json.dumps({"metaData": metadata}) + "\n"
        (w.root / "wh/t/_delta_log" / f"{version:020}.json").write_text(text)

    @staticmethod
    def rename(fields):
        fields[1]["name"] = "label"

    @staticmethod
    def drop(fields):
        del fields[2]

    def test_without_tracking_a_rename_or_drop_on_the_way_is_refused(self):
        """R19, as a stream."""
        for edit in (self.rename, self.drop):
            for feed in ([], ["--changes"]):
                with Warehouse() as w:
                    self.mapped(w)
                    w.stream("t", "sink", *feed)
                    w.sql("INSERT INTO t VALUES (2, 'b', 8)")
                    self.change(w, 3, edit)
                    w.refused("DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG", "t", "sink", *feed)
                    self.assertEqual(w.rows_of(), [1])
                    # A new checkpoint behind the change goes on.
                    w.sql("INSERT INTO t (id) VALUES (3)")
                    self.assertEqual(w.stream("t", "sink", "--merge-schema", *feed, *option("startingVersion=3"), checkpoint="new"), [1])

    def test_added_columns_are_null_in_older_rows(self):
        for feed in ([], ["--changes"]):
            with Warehouse() as w:
                self.mapped(w)
                w.stream("t", "sink", *feed)
                w.sql("INSERT INTO t VALUES (2, 'b', 8)")
                self.change(w, 3, lambda fields: fields.append({**fields[1], "name": "more", "metadata": {
                    "delta.columnMapping.id": 9, "delta.columnMapping.physicalName": "col-more"}}))
                w.sql("INSERT INTO t VALUES (3, 'c', 9, 'm')")
                self.assertEqual(w.stream("t", "sink", "--merge-schema", *feed), [2])
                self.assertEqual(w.rows_of(columns="id, more"), [(1, None), (2, None), (3, "m")])

    def test_tracked_schemas_are_followed_one_after_the_other(self):
        for feed in ([], ["--changes"]):
            with Warehouse() as w:
                self.mapped(w)
                run = ["t", "sink", "--merge-schema", *feed, *option("schemaTrackingLocation=_schemas")]
                self.assertEqual(w.stream(*run), [1])
                w.sql("INSERT INTO t VALUES (2, 'b', 8)")
                self.change(w, 3, self.rename)
                w.sql("INSERT INTO t VALUES (3, 'c', 9)")
                w.refused("DELTA_STREAMING_METADATA_EVOLUTION", *run)
                self.assertEqual(w.rows_of(columns="id, name"), [(1, "a"), (2, "b")])
                barrier = w.offsets(1)[1]
                self.assertEqual((barrier["sourceVersion"], barrier["reservoirVersion"], barrier["index"]), (3, 3, -20))
                text = w.refused("DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION", *run)
                self.assertIn("'name' -> 'label'", text)
                self.assertIn("allowSourceColumnRename = '3'", text)
                w.refused("DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION", *run, *option("allowSourceColumnDrop=always"))
                self.assertEqual(w.stream(*run, *option("allowSourceColumnRename=3")), [1])
                self.assertEqual(w.rows_of(columns="id, name, label"), [(1, "a", None), (2, "b", None), (3, None, "c")])
                # Two changes in a row are one, and settings allow them as well.
                self.change(w, 5, self.drop)
                self.change(w, 6, lambda fields: fields[1].update(name="title"))
                w.sql("INSERT INTO t VALUES (4, 'd')")
                w.refused("DELTA_STREAMING_METADATA_EVOLUTION", *run, *option("allowSourceColumnRename=3"))
                conf = "spark.databricks.delta.streaming.allowSourceColumn"
                w.refused("DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION", *run, "--set", conf + "Rename=always")
                self.assertEqual(w.stream(*run, "--set", conf + "RenameAndDrop=always"), [1])
                self.assertEqual(w.rows_of(columns="id, title")[3], (4, "d"))
                entries = sorted((w.root / "cp/_schemas").glob("_schema_log_*/*"))
                self.assertEqual([e.name for e in entries], ["0", "1", "2", "3"])
                first = json.loads(entries[0].read_text().split("\n", 1)[1])
                self.assertEqual(first["deltaCommitVersion"], 1)
                self.assertEqual(first["sourceMetadataPath"], f"file:{w.root.resolve()}/cp/sources/0")
                self.assertEqual([f["name"] for f in json.loads(first["dataSchemaJson"])["fields"]], ["id", "name", "extra"])
                last = json.loads(entries[3].read_text().split("\n", 1)[1])
                self.assertEqual((last["deltaCommitVersion"], last["previousMetadataSeqNum"]), (6, 1))

    def test_widened_types_are_followed_by_a_stream_that_tracks_schemas(self):
        for feed in ([], ["--changes"]):
            with Warehouse() as w:
                w.sql("CREATE TABLE t (id INT, v INT) TBLPROPERTIES (delta.enableTypeWidening = true, delta.enableChangeDataFeed = true); INSERT INTO t VALUES (1, 1)")
                track = option("schemaTrackingLocation=_schemas")
                w.stream("t", "plain", *feed, checkpoint="p")
                w.stream("t", "sink", *feed, *track)
                w.sql("INSERT INTO t VALUES (2, 2); ALTER TABLE t ALTER COLUMN v TYPE BIGINT; INSERT INTO t VALUES (3, 3000000000)")
                w.refused("DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG", "t", "plain", *feed, checkpoint="p")
                w.refused("DELTA_STREAMING_METADATA_EVOLUTION", "t", "sink", *feed, *track)
                text = w.refused("DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION", "t", "sink", *feed, *track)
                self.assertIn("TYPE WIDENING", text)
                w.sql("ALTER TABLE sink SET TBLPROPERTIES (delta.enableTypeWidening = true); ALTER TABLE sink ALTER COLUMN v TYPE BIGINT")
                self.assertEqual(w.stream("t", "sink", *feed, *track, *option("allowSourceColumnTypeChange=always")), [1])
                self.assertEqual(w.rows_of(columns="id, v"), [(1, 1), (2, 2), (3, 3000000000)])

    def test_places_of_the_log_of_schemas(self):
        with Warehouse() as w:
            self.mapped(w)
            w.refused("DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT", "t", "sink", *option("schemaTrackingLocation=/tmp/elsewhere"))
            w.refused("DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT", "t", "sink", *option("schemaTrackingLocation=../cp2"))
            w.refused("INVALID_OPTION", "t", "sink", *option("schemaTrackingLocation=s", "failOnDataLoss=false"))
            self.assertEqual(w.stream("t", "sink", *option(f"schemaTrackingLocation=file:{w.root}/cp/s", "streamingSourceTrackingId=x")), [1])
            entry = next((w.root / "cp/s").glob("_schema_log_*_x/0"))
            good = entry.read_text()
            for condition, text in {"DESERIALIZE_FAILED": "v1\n{", "INCOMPATIBLE_DELTA_TABLE_ID": good.replace('"tableId":"', '"tableId":"x'),
                                    "PARSE_SCHEMA_FAILED": good.replace('"dataSchemaJson":"', '"dataSchemaJson":"x')}.items():
                entry.write_text(text)
                w.refused("DELTA_STREAMING_SCHEMA_LOG_" + condition, "t", "sink", *option("schemaTrackingLocation=s", "streamingSourceTrackingId=x"))


def last_metadata(w, table):
    found = None
    for file in sorted((w.root / "wh" / table / "_delta_log").glob("*.json")):
        for line in file.read_text().splitlines():
            action = json.loads(line)
            found = action.get("metaData", found)
    return found


def metadata_with_column(w, table, name):
    """A commit that adds a STRING column, as ALTER TABLE … ADD COLUMN writes it."""
    metadata = last_metadata(w, table)
    schema = json.loads(metadata["schemaString"])
    schema["fields"].append({"name": name, "type": "string", "nullable": True, "metadata": {}})
    metadata["schemaString"] = json.dumps(schema)
    return json.dumps({"commitInfo": {"operation": "ADD COLUMNS"}}) + "\n" + json.dumps({"metaData": metadata}) + "\n"


if __name__ == "__main__":
    unittest.main()
