"""Runs streams and statements with Apache Spark, all in one process: spark_streamer.py JARS SCRATCH, in the Python that has pyspark.

Reads one JSON object a line from standard input, {"sql": statement} or {"source", "sink", "checkpoint", "options": {…}} (an available-now
stream from Delta path to Delta path), and answers each with a line {"error": text or null}. Its first line is "ready".
"""
import glob
import json
import os
import sys
import time

os.environ["TZ"] = "UTC"
time.tzset()

from pyspark.sql import SparkSession


def start(jars, scratch):
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(sorted(glob.glob(jars + "/*.jar"))))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.warehouse.dir", scratch + "/spark-warehouse")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run(spark, step):
    if "sql" in step:
        spark.sql(step["sql"]).collect()
        return
    reader = spark.readStream.format("delta").options(**step["options"]).load(step["source"])
    writer = reader.writeStream.format("delta").option("checkpointLocation", step["checkpoint"]).option("mergeSchema", "true")
    writer.trigger(availableNow=True).start(step["sink"]).awaitTermination()


def main():
    spark = start(*sys.argv[1:3])
    print("ready", flush=True)
    for line in sys.stdin:
        error = None
        try:
            run(spark, json.loads(line))
        except Exception as failure:  # whatever Spark says is the answer
            error = " ".join(str(failure).split())[:3000]
        print(json.dumps({"error": error}), flush=True)


main()
