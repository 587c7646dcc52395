"""Reads versions and feeds of Delta tables with Apache Spark: spark_programs.py JOB RESULT, both JSON. Runs in the Python that has pyspark.

JOB: {"jars": directory, "scratch": directory, "tables": [{"name", "path", "contents": [version], "tracked": [those with row ids],
"feeds": [[kind, start, end]]}]}; a kind is legacy, automatic or net.
RESULT: table name → {"contents": [rows], "feeds": [rows], "error"}; a row is an object, with its row id as `+id` and `+at`.
"""
import datetime
import json
import pathlib
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop"))
from spark_session import spark_session  # noqa: E402


def rows_of(frame):
    return [row.asDict(recursive=True) for row in frame.collect()]


def text_of(value):
    """As the model has it; the process is in UTC."""
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime.datetime) else str(value)


def contents(spark, table, version):
    from pyspark.sql.functions import col
    frame = spark.read.format("delta").option("versionAsOf", version).load(table["path"])
    if version in table["tracked"]:
        frame = frame.select("*", col("_metadata.row_id").alias("+id"), col("_metadata.row_commit_version").alias("+at"))
    return rows_of(frame)


def feed(spark, table, kind, start, end):
    if kind != "legacy":  # CHANGES FROM derives changes from row ids
        how = "netChanges" if kind == "net" else "dropCarryovers"
        frame = spark.sql(f"SELECT * FROM delta.`{table['path']}` CHANGES FROM VERSION {start} TO VERSION {end} "
                          f"WITH (deduplicationMode = '{how}', computeUpdates = 'true')")
        return rows_of(frame.drop("_commit_timestamp", "_metadata"))
    reader = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", start).option("endingVersion", end)
    return rows_of(reader.load(table["path"]).drop("_commit_timestamp"))


def read(spark, table):
    found = {"error": None}
    try:
        found["contents"] = [contents(spark, table, version) for version in table["contents"]]
        found["feeds"] = [feed(spark, table, *one) for one in table["feeds"]]
    except Exception as error:
        found["error"] = " ".join(str(error).split())[:1500]
        traceback.print_exc()
    return found


def main(job_file, result_file):
    job = json.loads(pathlib.Path(job_file).read_text())
    spark = spark_session(job)
    # Programs let two months pass; Spark refuses versions older than a week by default, Sluice does not.
    spark.conf.set("spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration", "false")
    spark.conf.set("spark.databricks.delta.changelogV2.enabled", "true")
    result = {table["name"]: read(spark, table) for table in job["tables"]}
    pathlib.Path(result_file).write_text(json.dumps(result, default=text_of))
    spark.stop()


main(*sys.argv[1:])
