"""Apache Spark reads the tables of cases.py as Sluice does: rows, schema, feed; and may not write those that a flow keeps. See README.md."""
import json
import os
import pathlib
import subprocess

import pytest
from cases import ROOT, TABLES
from render import bag

DEPS = ROOT / ".deps"
every_table = pytest.mark.parametrize("case", TABLES, ids=lambda case: case.name)


@pytest.fixture(scope="session")
def spark(made, tmp_path_factory, request):
    """What Spark says: table name → see spark_reader.py. One process reads all."""
    scratch = tmp_path_factory.mktemp("spark")
    tables = []
    chosen = {item.callspec.params["case"].name for item in request.session.items if hasattr(item, "callspec")}
    for case in TABLES:
        if case.name not in chosen:
            continue
        made.reading(case)  # before Spark touches anything
        feed = 0 if case.feed else None
        job = dict(name=case.name, path=str(made.path(case)), feed=feed, refuses=case.kept_by_flow)
        tables.append(dict(job, filters=case.filters, statements=case.statements_by_spark))
    (scratch / "job.json").write_text(json.dumps(dict(jars=str(DEPS / "spark-jars"), scratch=str(scratch), tables=tables)))
    reader = pathlib.Path(__file__).with_name("spark_reader.py")
    with open(scratch / "log", "w") as log:
        done = subprocess.run(
            [DEPS / "venv-spark/bin/python", reader, scratch / "job.json", scratch / "result.json"], stdout=log, stderr=log,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        )
    assert done.returncode == 0, (scratch / "log").read_text()[-4000:]
    return json.loads((scratch / "result.json").read_text())


@every_table
def test_spark_gives_the_rows_and_the_schema(made, spark, case):
    rows, columns = made.reading(case)[:2]
    found = spark[case.name]
    if "spark" in case.cannot:
        assert case.cannot["spark"] in (found["error"] or "it reads this table now: remove the exception")
        return
    assert found["error"] is None
    assert found["columns"] == columns
    assert bag(found["rows"]) == bag(rows)


@pytest.mark.parametrize("case", [case for case in TABLES if case.filters], ids=lambda case: case.name)
def test_spark_skips_no_file_that_counts(made, spark, case):
    for number, condition in enumerate(case.filters):
        assert bag(spark[case.name]["filtered"][number]) == bag(made.filtered(case, condition)), condition


@pytest.mark.parametrize("case", [case for case in TABLES if case.statements_by_spark], ids=lambda case: case.name)
def test_sluice_reads_what_spark_wrote(made, spark, case):
    assert spark[case.name]["error"] is None
    assert bag(made.now(case)) == bag(spark[case.name]["changed"])


@every_table
def test_spark_knows_every_version(made, spark, case):
    if case.forget or "spark" in case.cannot:
        pytest.skip("the log's beginning is not there, or Spark does not read this table")
    assert spark[case.name]["versions"] == made.versions(case)


@pytest.mark.parametrize("case", [case for case in TABLES if case.feed], ids=lambda case: case.name)
def test_spark_gives_the_feed(made, spark, case):
    found = spark[case.name]["feed"]
    if "spark-feed" in case.cannot:
        assert case.cannot["spark-feed"] in (spark[case.name]["error"] or "it reads this feed now: remove the exception")
        return
    assert found is not None, spark[case.name]["error"]
    assert bag(found) == bag(made.reading(case)[2])


@pytest.mark.parametrize("case", [case for case in TABLES if case.kept_by_flow], ids=lambda case: case.name)
def test_spark_refuses_to_write_what_a_flow_keeps(made, spark, case):
    for attempt, answer in spark[case.name]["written"].items():
        assert "sluice.autoCdc" in answer, f"{attempt}: {answer}"
