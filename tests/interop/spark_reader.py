"""Reads Delta tables with Apache Spark, all in one process: spark_reader.py JOB RESULT, both JSON. Runs in the Python that has pyspark.

JOB: {"jars": directory, "scratch": directory, "tables": [{"name", "path", "feed": first version or null, "filters": [condition],
"row_ids": bool, "refuses": bool, "statements": [SQL to run, {t} is the table]}]}.
RESULT: table name → {"columns": [[name, type]], "rows", "ids": rows with row ids, "filtered": rows for each filter, "feed", "versions",
"written": what each attempt to write gave, "changed", "changed_feed": rows and feed after the statements, "error"}.
"""
import datetime as dt
import json
import os
import pathlib
import sys
import time
import traceback

os.environ["TZ"] = "UTC"  # TimestampType arrives as local time
time.tzset()

from pyspark.sql import types as T

from render import render
from spark_session import spark_session


def plain(value, type_):
    """@value of Spark type @type_ as render() wants it: structs as dict, maps as pairs, timestamps with their zone."""
    if value is None:
        return None
    if isinstance(type_, T.StructType):
        return {field.name: plain(inner, field.dataType) for field, inner in zip(type_.fields, value)}
    if isinstance(type_, T.ArrayType):
        return [plain(inner, type_.elementType) for inner in value]
    if isinstance(type_, T.MapType):
        return [(plain(key, type_.keyType), plain(inner, type_.valueType)) for key, inner in value.items()]
    if isinstance(type_, T.TimestampType):
        return value.replace(tzinfo=dt.timezone.utc)
    return value


def rows_of(frame):
    return [render(plain(row, frame.schema)) for row in frame.collect()]


def ids_of(frame):
    return rows_of(frame.select("*", "_metadata.row_id", "_metadata.row_commit_version"))


def feed_of(spark, table):
    changes = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", table["feed"])
    return rows_of(changes.load(table["path"]))


def message(error):
    return " ".join(str(error).split())[:1500]


def attempts_to_write(spark, path):
    found = {}
    for name, sql in (
        ("append", f"INSERT INTO delta.`{path}` SELECT * FROM delta.`{path}`"),
        ("delete", f"DELETE FROM delta.`{path}`"),
        ("metadata", f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('a' = 'b')"),
        ("vacuum", f"VACUUM delta.`{path}` RETAIN 0 HOURS"),
    ):
        try:
            spark.sql(sql).collect()
            found[name] = "written"
        except Exception as error:
            found[name] = message(error)
    return found


def read(spark, table):
    found = dict(error=None, filtered=[])
    try:
        frame = spark.read.format("delta").load(table["path"])
        found["columns"] = [[field.name, field.dataType.simpleString()] for field in frame.schema.fields]
        found["rows"] = rows_of(frame)
        found["ids"] = ids_of(frame) if table["row_ids"] else None
        for condition in table["filters"]:
            found["filtered"].append(rows_of(frame.where(condition)))
        found["versions"] = [row.version for row in spark.sql(f"DESCRIBE HISTORY delta.`{table['path']}`").collect()]
        if table["feed"] is not None:
            found["feed"] = feed_of(spark, table)
        if table["refuses"]:
            found["written"] = attempts_to_write(spark, table["path"])
        for statement in table["statements"]:
            spark.sql(statement.format(t=f"delta.`{table['path']}`")).collect()
        if table["statements"]:
            frame = spark.read.format("delta").load(table["path"])
            found["changed"] = ids_of(frame) if table["row_ids"] else rows_of(frame)
            found["changed_feed"] = feed_of(spark, table) if table["feed"] is not None else None
    except Exception as error:
        found["error"] = message(error)
        traceback.print_exc()
    return found


def main(job_file, result_file):
    job = json.loads(pathlib.Path(job_file).read_text())
    spark = spark_session(job)
    result = {table["name"]: read(spark, table) for table in job["tables"]}
    pathlib.Path(result_file).write_text(json.dumps(result))
    spark.stop()


main(*sys.argv[1:])
