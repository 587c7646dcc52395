"""Apache Spark and Sluice take turns on one checkpoint: each goes on where the other stopped, and every row is in the sink once."""
import json
import os
import pathlib
import subprocess

import pytest
from cases import BUILD, ROOT

DEPS = ROOT / ".deps"
SLUICE = BUILD / "sluice"


class Turns:
    def __init__(self, root):
        self.root = root
        self.env = {**os.environ, "SLUICE_WAREHOUSE": str(root / "wh"), "SPARK_LOCAL_IP": "127.0.0.1"}
        self.log = open(root / "spark.log", "w")
        streamer = pathlib.Path(__file__).with_name("spark_streamer.py")
        self.process = subprocess.Popen([DEPS / "venv-spark/bin/python", streamer, DEPS / "spark-jars", root], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True, env=self.env)
        assert self.process.stdout.readline() == "ready\n", (root / "spark.log").read_text()[-4000:]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()

    def spark(self, **step):
        self.process.stdin.write(json.dumps(step) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["error"]

    def sql(self, text):
        done = subprocess.run([SLUICE, "sql", "-o", "json", text], capture_output=True, text=True, env=self.env)
        assert done.returncode == 0, done.stderr
        return [tuple(json.loads(line).values()) for line in done.stdout.splitlines()]

    def sluice(self, source, sink, checkpoint, options):
        words = [word for key, value in options.items() for word in ("--option", f"{key}={value}")]
        done = subprocess.run([SLUICE, "stream", source, sink, "--checkpoint", checkpoint, "--merge-schema", *words], capture_output=True,
                              text=True, env=self.env)
        return None if done.returncode == 0 else done.stderr


@pytest.fixture(scope="module")
def turns(tmp_path_factory):
    turns = Turns(tmp_path_factory.mktemp("turns"))
    yield turns
    turns.close()


def places(turns, name):
    return [str(turns.root / f"{name}-{what}") for what in ("src", "sink", "cp")]


@pytest.mark.parametrize("name, options", [("plain", {"maxFilesPerTrigger": "1"}), ("feed", {"readChangeFeed": "true", "maxFilesPerTrigger": "1"})])
def test_each_goes_on_where_the_other_stopped(turns, name, options):
    source, sink, checkpoint = places(turns, name)
    turns.sql(f"CREATE TABLE delta.`{source}` (id INT, p INT) PARTITIONED BY (p) TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    turns.sql(f"INSERT INTO delta.`{source}` VALUES (1, 1), (2, 2), (3, 3)")
    n = 3
    for turn in range(3):
        assert turns.spark(source=source, sink=sink, checkpoint=checkpoint, options=options) is None
        for _ in range(2):
            n += 1
            turns.sql(f"INSERT INTO delta.`{source}` VALUES ({n}, {n % 2})")
        assert turns.sluice(source, sink, checkpoint, options) is None
        n += 2
        turns.sql(f"INSERT INTO delta.`{source}` VALUES ({n - 1}, 1), ({n}, 2)")
    assert turns.spark(source=source, sink=sink, checkpoint=checkpoint, options=options) is None
    assert turns.sql(f"SELECT count(*), count(DISTINCT id), max(id) FROM delta.`{sink}`") == [(n, n, n)]


def test_the_log_of_schemas_is_shared(turns):
    source, sink, checkpoint = places(turns, "tracked")
    options = {"schemaTrackingLocation": checkpoint + "/_schemas", "allowSourceColumnRename": "always"}
    job = dict(source=source, sink=sink, checkpoint=checkpoint, options=options)
    turns.sql(f"CREATE TABLE delta.`{source}` (id INT, name STRING) TBLPROPERTIES (delta.columnMapping.mode = 'name')")
    turns.sql(f"INSERT INTO delta.`{source}` VALUES (1, 'a')")
    assert turns.spark(**job) is None
    # Sluice notes a change, Spark reads on with it; then the other way round.
    turns.sql(f"ALTER TABLE delta.`{source}` RENAME COLUMN name TO label")
    turns.sql(f"INSERT INTO delta.`{source}` VALUES (2, 'b')")
    assert "[DELTA_STREAMING_METADATA_EVOLUTION]" in turns.sluice(**job)
    assert turns.spark(**job) is None
    assert turns.spark(sql=f"ALTER TABLE delta.`{source}` ADD COLUMN more INT") is None
    assert turns.spark(sql=f"INSERT INTO delta.`{source}` VALUES (3, 'c', 7)") is None
    assert "DELTA_STREAMING_METADATA_EVOLUTION" in turns.spark(**job)
    assert turns.sluice(**job) is None
    turns.sql(f"INSERT INTO delta.`{source}` VALUES (4, 'd', 8)")
    assert turns.spark(**job) is None
    assert sorted(turns.sql(f"SELECT id, name, label, more FROM delta.`{sink}`")) == [
        (1, "a", None, None), (2, None, "b", None), (3, None, "c", 7), (4, None, "d", 8)]
