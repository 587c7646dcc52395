"""Apache Spark reads the tables of cases.py as Sluice does: rows, schema, feed; and may not write those that a flow keeps. See README.md."""
import pathlib

import pytest
from cases import TABLES, sluice
from readers import READERS
from render import bag
from spark_job import ask_spark

every_table = pytest.mark.parametrize("case", TABLES, ids=lambda case: case.name)


@pytest.fixture(scope="session")
def spark(made, tmp_path_factory, request):
    """What Spark says: table name → see spark_reader.py; and "before": what Sluice said before. One process reads all."""
    scratch = tmp_path_factory.mktemp("spark")
    tables, before = [], {}
    chosen = {item.callspec.params["case"].name for item in request.session.items if hasattr(item, "callspec")}
    for case in TABLES:
        if case.name not in chosen:
            continue
        # Before Spark touches anything.
        made.reading(case)
        before[case.name] = dict(
            filtered=[made.filtered(case, condition) for condition in case.filters],
            ids=made.now(case) if case.row_ids else None,
        )
        feed = 0 if case.feed else None
        job = dict(name=case.name, path=str(made.path(case)), feed=feed, refuses=case.kept_by_flow)
        tables.append(dict(job, row_ids=case.row_ids, filters=case.filters, statements=case.statements_by_spark))
    found = ask_spark(pathlib.Path(__file__).with_name("spark_reader.py"), scratch, tables=tables)
    return {name: dict(facts, before=before[name]) for name, facts in found.items()}


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
    for condition, rows, found in zip(case.filters, spark[case.name]["before"]["filtered"], spark[case.name]["filtered"], strict=True):
        assert bag(found) == bag(rows), condition


@pytest.mark.parametrize("case", [case for case in TABLES if case.row_ids], ids=lambda case: case.name)
def test_spark_gives_the_row_ids(spark, case):
    assert bag(spark[case.name]["ids"]) == bag(spark[case.name]["before"]["ids"])


@pytest.mark.parametrize("case", [case for case in TABLES if case.statements_by_spark], ids=lambda case: case.name)
def test_sluice_reads_what_spark_wrote(made, spark, case):
    assert spark[case.name]["error"] is None
    assert bag(made.now(case)) == bag(spark[case.name]["changed"])
    if case.feed:
        feed = sluice(made.warehouse(case), f"SELECT * FROM table_changes('{case.table}', 0)")
        assert bag(feed) == bag(spark[case.name]["changed_feed"])


@pytest.mark.parametrize("case", [case for case in TABLES if case.statements_by_spark], ids=lambda case: case.name)
def test_sluice_writes_after_spark(made, spark, case):
    before = made.now(case)
    sluice(made.warehouse(case), f"INSERT INTO {case.table} SELECT * FROM {case.table}")
    after = made.now(case)
    names = [name for name in before[0] if name not in ("row_id", "row_commit_version")]
    twice = 2 * [{name: row[name] for name in names} for row in before]
    assert bag({name: row[name] for name in names} for row in after) == bag(twice)
    if "delta-rs" not in case.cannot:
        assert bag(READERS["delta-rs"](made.path(case)).to_pylist()) == bag(twice)
    if case.row_ids:
        assert len({row["row_id"] for row in after}) == len(after)


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
