"""Other engines read the demo's tables as Sluice does: contents and change feed."""
import os
import pathlib
import subprocess

import pytest
from readers import BUILD, READERS, deltalake, rows_of, sluice

DEMO = pathlib.Path(__file__).resolve().parents[2] / "examples" / "customers" / "demo"
TABLES = ["customers_bronze", "customers_clean", "customers", "customers_history", "customers_by_city"]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    root = tmp_path_factory.mktemp("demo") / "work"
    env = dict(os.environ, SLUICE=str(BUILD.resolve() / "sluice"), SLUICE_DEMO_DIR=str(root))
    done = subprocess.run([DEMO, "--small"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return root / "warehouse"


def spelled(rows):
    """Sluice's JSON spells an instant with microseconds and Z, the readers' values with an offset."""
    return [row.replace("+00:00", "Z").replace(".000000Z", "Z") for row in rows_of(rows)]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("table", TABLES)
def test_reader_gives_the_table(warehouse, table, reader):
    own = sluice(warehouse, f"SELECT * FROM {table}")
    assert len(own) > 0
    assert spelled(READERS[reader](warehouse / table)) == spelled(own)


@pytest.mark.parametrize("table", ["customers", "customers_history"])
def test_delta_rs_gives_the_feed(warehouse, table):
    import pyarrow

    columns = "id, name, city, phone, _change_type, _commit_version"
    theirs = pyarrow.table(deltalake.DeltaTable(str(warehouse / table)).load_cdf(starting_version=0)).select(columns.split(", "))
    assert rows_of(theirs.to_pylist()) == rows_of(sluice(warehouse, f"SELECT {columns} FROM table_changes('{table}', 0)"))
