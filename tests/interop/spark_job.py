"""A job for Apache Spark: a script of this repository in the Python that has pyspark, in a process of its own."""
import json
import os
import pathlib
import subprocess

DEPS = pathlib.Path(os.environ.get("SLUICE_SOURCE", pathlib.Path(__file__).resolve().parents[2])) / ".deps"


def ask_spark(script, scratch, **job):
    """What `SCRIPT JOB RESULT` answers: both are JSON files; the job also says where jars and the @scratch directory are."""
    (scratch / "job.json").write_text(json.dumps(job | {"jars": str(DEPS / "spark-jars"), "scratch": str(scratch)}))
    with open(scratch / "log", "w") as log:
        done = subprocess.run([DEPS / "venv-spark/bin/python", script, scratch / "job.json", scratch / "result.json"], stdout=log, stderr=log,
                              env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"})
    if done.returncode != 0:
        raise AssertionError((scratch / "log").read_text()[-4000:])
    return json.loads((scratch / "result.json").read_text())
