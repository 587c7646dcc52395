"""delta-rs and DuckDB read the tables of cases.py as Sluice does, and may not write those that a flow keeps. See README.md."""
import pytest
from cases import TABLES
from readers import READERS, deltalake, read_delta_rs_feed
from render import bag

every_table = pytest.mark.parametrize("case", TABLES, ids=lambda case: case.name)


def expect(case, reader, read, rows):
    """@read() gives @rows, or the exception that @case names."""
    if reader in case.cannot:
        with pytest.raises(Exception, match=case.cannot[reader]):
            read()
        return
    found = read()
    if reader in case.wrong:
        assert bag(found.to_pylist()) != bag(rows), f"{reader} reads this table now: remove the exception ({case.wrong[reader]})"
        return
    assert bag(found.to_pylist()) == bag(rows)
    if rows:
        assert sorted(found.column_names) == sorted(rows[0])


@every_table
def test_sluice_gives_the_rows(made, case):
    rows, columns = made.reading(case)[:2]
    if case.rows is not None:
        assert bag(rows) == bag(case.rows)
    assert all(list(row) == [name for name, _ in columns] for row in rows)


@pytest.mark.parametrize("reader", READERS)
@every_table
def test_reader_gives_the_rows(made, case, reader):
    expect(case, reader, lambda: READERS[reader](made.path(case)), made.reading(case)[0])


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("case", [case for case in TABLES if case.filters], ids=lambda case: case.name)
def test_reader_skips_no_file_that_counts(made, case, reader):
    for condition in case.filters:
        assert bag(READERS[reader](made.path(case), condition).to_pylist()) == bag(made.filtered(case, condition)), condition


@pytest.mark.parametrize("case", [case for case in TABLES if case.feed], ids=lambda case: case.name)
def test_delta_rs_gives_the_feed(made, case):
    feed = [{name: value for name, value in row.items() if name != "_commit_timestamp"} for row in made.reading(case)[2]]
    expect(case, "delta-rs-feed", lambda: read_delta_rs_feed(made.path(case)), feed)


@pytest.mark.parametrize("case", [case for case in TABLES if case.kept_by_flow], ids=lambda case: case.name)
def test_delta_rs_refuses_to_write_what_a_flow_keeps(made, case):
    path = str(made.path(case))
    table = deltalake.DeltaTable(path)
    rows = READERS["delta-rs"](path)
    for write in (
        lambda: deltalake.write_deltalake(path, rows, mode="append"),
        lambda: table.delete(),
        lambda: table.optimize.compact(),
    ):
        with pytest.raises(Exception, match="autoCdc|Column mapping is not supported for write operation"):
            write()
    assert deltalake.DeltaTable(path).version() == table.version()
    files = sorted(made.path(case).rglob("*"))
    try:  # refused, unless there is nothing to clean up
        assert table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True) == []
    except deltalake.exceptions.DeltaError as error:
        assert "autoCdc" in str(error)
    assert sorted(made.path(case).rglob("*")) == files


def test_checksums_of_hadoop_beside_the_log_hide_no_table(made):
    case = next(case for case in TABLES if case.name == "ctas")
    for kind in ("json.crc", "crc.crc"):
        (made.path(case) / f"_delta_log/.00000000000000000000.{kind}").write_bytes(b"crc\0\0\0\2\0")
    assert bag(made.now(case)) == bag(case.rows)


def test_history_is_empty_when_no_commit_is_left(made):
    case = next(case for case in TABLES if case.name == "checkpoint")
    for commit in (made.path(case) / "_delta_log").glob("*.json"):
        commit.unlink()
    assert made.now(case) and made.history(case) == []
