"""A pipeline project in a temporary directory, driven through the command line: shared by the tests of scenarios and of crashes."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

SLUICE = pathlib.Path(os.environ.get("SLUICE_BUILD", "build")).resolve() / "sluice"

SPEC = """name: {name}
storage: file://{root}/storage
configuration:
  spark.sql.warehouse.dir: "{root}/warehouse"
  source: "{root}/in"
{configuration}libraries:
  - glob:
      include: sql/**
"""

# The customers of source document 002, pipelines.md §17.1.
CUSTOMERS_SQL = """
CREATE OR REFRESH STREAMING LIVE TABLE customer_bronze COMMENT "raw" TBLPROPERTIES ("quality" = "bronze")
  AS SELECT * FROM cloud_files("${source}/customers", "json", map("cloudFiles.inferColumnTypes", "true"));
CREATE TEMPORARY STREAMING LIVE TABLE customer_clean (
  CONSTRAINT valid_id EXPECT (id IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT valid_address EXPECT (address IS NOT NULL),
  CONSTRAINT valid_operation EXPECT (operation IS NOT NULL) ON VIOLATION DROP ROW)
  AS SELECT * FROM STREAM(LIVE.customer_bronze);
CREATE OR REFRESH STREAMING LIVE TABLE customer_silver;
APPLY CHANGES INTO LIVE.customer_silver FROM STREAM(LIVE.customer_clean) KEYS (id)
  APPLY AS DELETE WHEN operation = "DELETE" SEQUENCE BY operation_date
  COLUMNS * EXCEPT (operation, operation_date, _rescued_data);
"""


def _customer(id, name, email, address, operation, time, **more):
    return {"id": id, "name": name, "email": email, "address": address, "operation": operation,
            "operation_date": f"2026-01-01 {time}:00", **more}


CUSTOMERS_1 = [
    _customer("1", "Aiko", "aiko@x.org", "1 A St", "APPEND", "10:00"),
    _customer("2", "Ben", "ben@x.org", None, "APPEND", "10:01"),
    _customer(None, "Cid", "cid@x.org", "3 C St", "APPEND", "10:02"),
    _customer("3", "Dee", "dee@x.org", "4 D St", None, "10:03"),
    _customer("1", "Aiko", "aiko@new.org", "1 A St", "UPDATE", "10:05"),
]
CUSTOMERS_2 = [
    _customer("1", "Aiko", "aiko@old.org", "1 A St", "UPDATE", "10:04"),
    _customer("2", None, None, None, "DELETE", "10:06"),
    _customer("4", "Eva", "eva@x.org", "5 E St", "CREATE", "10:07"),
    _customer("5", "Fay", "fay@x.org", "6 F St", "APPEND", "10:08", phone="1"),
]
SILVER_1 = [("1", "Aiko", "aiko@new.org", "1 A St"), ("2", "Ben", "ben@x.org", None)]
SILVER_2 = [("1", "Aiko", "aiko@new.org", "1 A St", None), ("4", "Eva", "eva@x.org", "5 E St", None),
            ("5", "Fay", "fay@x.org", "6 F St", "1")]

# The medallion tutorial of source document 004, pipelines.md §17.4.
TUTORIAL_SQL = """
CREATE OR REFRESH STREAMING TABLE customers_cdc_bronze COMMENT "New customer data incrementally ingested";
CREATE FLOW customers_bronze_ingest AS INSERT INTO customers_cdc_bronze BY NAME
  SELECT * FROM STREAM read_files("${source}/customers", format => "json", inferColumnTypes => "true");
CREATE OR REFRESH STREAMING TABLE customers_cdc_clean (
  CONSTRAINT no_rescued_data EXPECT (_rescued_data IS NULL) ON VIOLATION DROP ROW,
  CONSTRAINT valid_id EXPECT (id IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT valid_operation EXPECT (operation IN ('APPEND', 'DELETE', 'UPDATE')) ON VIOLATION DROP ROW);
CREATE FLOW customers_cdc_clean_flow AS INSERT INTO customers_cdc_clean BY NAME SELECT * FROM STREAM customers_cdc_bronze;
CREATE OR REFRESH STREAMING TABLE customers;
CREATE FLOW customers_cdc_flow AS AUTO CDC INTO customers FROM stream(customers_cdc_clean) KEYS (id)
  APPLY AS DELETE WHEN operation = "DELETE" SEQUENCE BY operation_date
  COLUMNS * EXCEPT (operation, operation_date, _rescued_data) STORED AS SCD TYPE 1;
CREATE OR REFRESH STREAMING TABLE customers_history;
CREATE FLOW customers_history_cdc AS AUTO CDC INTO customers_history FROM stream(customers_cdc_clean) KEYS (id)
  APPLY AS DELETE WHEN operation = "DELETE" SEQUENCE BY operation_date
  COLUMNS * EXCEPT (operation, operation_date, _rescued_data) STORED AS SCD TYPE 2;
CREATE OR REFRESH MATERIALIZED VIEW customers_history_agg AS
  SELECT id, count(DISTINCT address) AS address_count, count(DISTINCT email) AS email_count,
         count(DISTINCT firstname) AS firstname_count, count(DISTINCT lastname) AS lastname_count
  FROM customers_history GROUP BY id;
"""


def _person(id, firstname, lastname, email, address, operation, time):
    return {"id": id, "firstname": firstname, "lastname": lastname, "email": email, "address": address, "operation": operation,
            "operation_date": f"2026-01-01 {time}"}


TUTORIAL_1 = [
    _person(1, "Ann", "Lee", "ann@x", "A1", "APPEND", "00:00:10"),
    _person(2, "Bob", "Ray", "bob@x", "B1", "APPEND", "00:00:20"),
    _person(1, "Ann", "Lee", "ann@x", "A2", "UPDATE", "00:00:30"),
    _person(None, "Zed", "Zed", "z@x", "Z1", "APPEND", "00:00:35"),
    _person(3, "Cy", "Poe", "cy@x", "C1", "CREATE", "00:00:40"),
    _person(2, "Bob", "Ray", "bob@x", "B1", "DELETE", "00:00:50"),
]
TUTORIAL_2 = [
    _person(1, "Ann", "Kim", "ann@x", "A2", "UPDATE", "00:01:00"),
    _person(1, "Ann", "Lee", "ann@old", "A1", "UPDATE", "00:00:25"),
    _person(4, "Dan", "Fox", "dan@x", {"street": "D1"}, "APPEND", "00:01:10"),
]


# Events of event() in a table t, and the targets of both types that they change.
TARGETS_SQL = """
CREATE STREAMING TABLE one;
CREATE FLOW one_flow AS AUTO CDC INTO one FROM STREAM t KEYS (id) APPLY AS DELETE WHEN operation = 'D' SEQUENCE BY time
  COLUMNS * EXCEPT (operation, time) STORED AS SCD TYPE 1;
CREATE STREAMING TABLE two;
CREATE FLOW two_flow AS AUTO CDC INTO two FROM STREAM t KEYS (id) APPLY AS DELETE WHEN operation = 'D' SEQUENCE BY time
  COLUMNS * EXCEPT (operation, time) STORED AS SCD TYPE 2;
"""


def event(id, name, time, operation="U"):
    return {"id": id, "name": name, "operation": operation, "time": time}


class Project:
    """`with Project(sql) as p:` makes the directory and removes it again; @directory: one to use instead, which is there."""

    def __init__(self, sql, name="test", configuration="", directory=None):
        self.root = pathlib.Path(directory or tempfile.mkdtemp(prefix="sluice-project-"))
        (self.root / "sql").mkdir()
        (self.root / "in" / "customers").mkdir(parents=True)
        self.spec = self.root / "spark-pipeline.yml"
        self.spec.write_text(SPEC.format(name=name, root=self.root, configuration=configuration))
        self.sql(sql)
        self.n_files = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def sql(self, text, file="pipeline.sql"):
        (self.root / "sql" / file).write_text(text)

    def add_file(self, rows, directory="customers"):
        """One JSON file; modification times grow from file to file, so that the order of files is the order of calls."""
        self.n_files += 1
        path = self.root / "in" / directory / f"file-{self.n_files:04}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_700_000_000 + self.n_files, 1_700_000_000 + self.n_files))

    def run(self, *options, env=None, command="run"):
        return subprocess.run([str(SLUICE), command, "--spec", str(self.spec), *options], capture_output=True, text=True,
                              env={**os.environ, **(env or {})}, timeout=300)

    def update(self, *options, env=None):
        result = self.run(*options, env=env)
        if result.returncode != 0:
            raise AssertionError(f"update failed ({result.returncode}):\n{result.stdout}\n{result.stderr}")
        return result

    def query(self, sql):
        """Rows as dicts."""
        result = subprocess.run([str(SLUICE), "sql", "--warehouse", str(self.root / "warehouse"), "--output", "json", sql],
                                capture_output=True, text=True, timeout=120)
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def rows(self, sql):
        """Rows as tuples, sorted with NULL last."""
        return sorted((tuple(row.values()) for row in self.query(sql)), key=lambda row: [(v is None, str(v)) for v in row])

    def events(self):
        result = self.run(command="event-log")
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def last_update_metrics(self):
        """Per flow of the newest update: summed metrics, expectation counts, dropped rows, terminal status."""
        events = self.events()
        newest = [e["origin"]["update_id"] for e in events if e["event_type"] == "create_update"][-1]
        flows = {}
        for event in events:
            if event["origin"]["update_id"] != newest or event["event_type"] != "flow_progress":
                continue
            flow = flows.setdefault(event["origin"]["flow_name"], {"expectations": {}, "dropped": 0, "metrics": {}, "status": None})
            progress = json.loads(event["details"])["flow_progress"]
            flow["status"] = progress["status"]
            quality = progress.get("data_quality") or {}
            flow["dropped"] += quality.get("dropped_records", 0)
            for one in quality.get("expectations", []):
                passed, failed = flow["expectations"].get(one["name"], (0, 0))
                flow["expectations"][one["name"]] = (passed + one["passed_records"], failed + one["failed_records"])
            for key, value in (progress.get("metrics") or {}).items():
                flow["metrics"][key] = flow["metrics"].get(key, 0) + value
        return flows
