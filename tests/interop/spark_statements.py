"""Runs the blocks of `.test` files (tests/sql/README.md) with Apache Spark, one process for all: spark_statements.py JOB RESULT, both JSON.
Runs in the Python that has pyspark.

JOB: {"jars", "scratch", "files": {name: [block]}}, a block as statement_files.py gives it.
RESULT: name → [answer], an answer {"rows": lines} or {"error": text}, null for what is no SQL.
"""
import json
import os
import pathlib
import re
import sys
import time

os.environ["TZ"] = "UTC"
time.tzset()

from spark_session import spark_session  # noqa: E402

# What a recorded feed is asked for in Spark is a function; the automatic one has a clause only.
FUNCTION = re.compile(r"table_changes\s*\(\s*'([^']+)'\s*,\s*([^,()]+?)\s*(?:,\s*([^,()]+?)\s*)?\)")


def as_clause(call):
    end = f" TO VERSION {call[3]}" if call[3] else ""
    return f"(SELECT * FROM {call[1]} CHANGES FROM VERSION {call[2]}{end} WITH (computeUpdates = 'true'))"


def cell(value):
    if value is None:
        return "NULL"
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t") if value else "(empty)"


def lines_of(frame):
    names = [f"c{i}" for i in range(len(frame.columns))]
    if not names:
        return []
    from pyspark.sql.functions import col
    texts = frame.toDF(*names).select([col(name).cast("string") for name in names])
    return ["\t".join(cell(value) for value in row) for row in texts.collect()]


def answer(spark, sql):
    try:
        return {"rows": lines_of(spark.sql(sql))}
    except Exception as error:
        text = " ".join(str(error).split())[:1500]
    if "DELTA_MISSING_CHANGE_DATA" in text and FUNCTION.search(sql):
        try:
            return {"rows": lines_of(spark.sql(FUNCTION.sub(as_clause, sql)))}
        except Exception as error:
            text += " | " + " ".join(str(error).split())[:1500]
    return {"error": text}


def run_file(spark, name, blocks, scratch):
    warehouse = f"{scratch}/{name}"
    database = re.sub(r"\W", "_", name)
    settings = {}
    spark.sql(f"CREATE DATABASE {database} LOCATION '{warehouse}'")
    spark.sql(f"USE {database}")
    for block in blocks:
        if block["kind"] == "setting":
            key, value = block["text"].split(" ", 1)
            settings.setdefault(key, spark.conf.get(key, None))
            spark.conf.set(key, value)
        if block["kind"] not in ("statement", "query"):
            yield None
            continue
        yield answer(spark, block["text"].replace("__WAREHOUSE__", warehouse))
    for key, value in settings.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)
    spark.sql("USE default")


def main(job_file, result_file):
    job = json.loads(pathlib.Path(job_file).read_text())
    spark = spark_session(job)
    spark.conf.set("spark.sql.sources.default", "delta")
    spark.conf.set("spark.databricks.delta.changelogV2.enabled", "true")
    result = {}
    for name, blocks in job["files"].items():
        result[name] = list(run_file(spark, name, blocks, job["scratch"]))
        print(name, flush=True)
    pathlib.Path(result_file).write_text(json.dumps(result))
    spark.stop()


main(*sys.argv[1:])
