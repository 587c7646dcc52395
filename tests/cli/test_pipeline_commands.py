"""`sluice init|run|dry-run|graph|event-log|shell` as a user types them."""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

SLUICE = os.environ.get("SLUICE", "build/sluice")
SLUICE = str(pathlib.Path(SLUICE).resolve())

GOOD = """CREATE OR REFRESH STREAMING TABLE raw
AS SELECT * FROM STREAM read_files('${source}', format => 'json', schema => 'id BIGINT, word STRING');
"""


class Project(unittest.TestCase):
    """A temporary directory with helpers; `self.here` is the working directory of commands."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sluice-cli-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.here = self.root
        self.env = {k: v for k, v in os.environ.items() if k != "SLUICE_WAREHOUSE"}
        self.env["XDG_STATE_HOME"] = str(self.root / "state")

    def run_sluice(self, *args, code=0, stdin=None):
        done = subprocess.run([SLUICE, *args], cwd=self.here, env=self.env, input=stdin, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, f"{args}\n{done.stdout}\n{done.stderr}")
        return done

    def rows(self, sql, *args):
        done = self.run_sluice("sql", "--output", "json", *args, sql)
        self.assertEqual(done.stderr, "")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def init(self):
        self.run_sluice("init", "--name", "shop")
        self.here = self.root / "shop"

    def write_project(self, sql, extra=""):
        """A project of one file; its drops are in data/."""
        (self.root / "data").mkdir(exist_ok=True)
        (self.root / "all.sql").write_text(sql)
        (self.root / "spark-pipeline.yml").write_text(
            f'name: t\nstorage: "file://{self.root}/storage"\nlibraries:\n  - glob:\n      include: all.sql\n'
            f'configuration:\n  source: "{self.root}/data"\n{extra}'
        )

    def drop(self, name, *rows):
        (self.root / "data" / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


class NewProject(Project):
    def test_init_then_run_then_sql(self):
        self.init()
        done = self.run_sluice("run")
        self.assertRegex(done.stdout, r"customers_now +customers +COMPLETED +3 +0 +0 ")
        self.assertRegex(done.stdout, r"customers_clean +customers_clean +COMPLETED +7 +1 ")
        self.assertRegex(done.stdout, r"\nupdate [0-9a-f-]{36} COMPLETED in ")
        self.assertNotIn("\033", done.stdout)
        self.assertEqual(done.stderr, "")
        self.assertEqual(
            self.rows("SELECT id, name, city FROM customers ORDER BY id"),
            [
                {"id": 1, "name": "Aiko", "city": "Osaka"},
                {"id": 3, "name": "Chidi", "city": "Lagos"},
                {"id": 4, "name": "Dana", "city": "Lagos"},
            ],
        )
        history = self.rows("SELECT id, city, minute(__START_AT) AS start, minute(__END_AT) AS end FROM customers_history ORDER BY id, __START_AT")
        self.assertEqual(
            [tuple(row.values()) for row in history],
            [(1, "Kyoto", 0, 4), (1, "Nara", 4, 5), (1, "Osaka", 5, None), (2, "Bergen", 1, 6), (3, "Lagos", 2, None), (4, "Lagos", 7, None)],
        )
        self.assertEqual(self.rows("SELECT * FROM customers_by_city ORDER BY city"), [{"city": "Lagos", "customers": 2}, {"city": "Osaka", "customers": 1}])

    def test_little_memory_is_enough_for_little_data(self):
        """Two threads were sometimes at work at once, each with a buffer of 64 MiB."""
        self.init()
        for i in range(8):
            (self.here / "data" / "customers" / f"more-{i}.json").write_text(json.dumps({"id": 100 + i, "operation": "CREATE"}) + "\n")
        done = self.run_sluice("run", "--set", "engine.memoryLimit=100MB")
        self.assertRegex(done.stdout, r"\nupdate [0-9a-f-]{36} COMPLETED in ")

    def test_a_second_update_without_new_files_changes_nothing(self):
        self.init()
        self.run_sluice("run")
        before = self.rows("DESCRIBE HISTORY customers")
        self.run_sluice("run")
        self.assertEqual(self.rows("DESCRIBE HISTORY customers"), before)

    def test_full_refresh_gives_the_same_rows_again(self):
        self.init()
        self.run_sluice("run")
        before = self.rows("SELECT * FROM customers ORDER BY id")
        self.run_sluice("run", "--full-refresh", "customers,customers_by_city")
        self.assertEqual(self.rows("SELECT * FROM customers ORDER BY id"), before)
        self.run_sluice("run", "--full-refresh-all")
        self.assertEqual(self.rows("SELECT * FROM customers ORDER BY id"), before)

    def test_refresh_runs_only_what_is_named(self):
        self.init()
        done = self.run_sluice("run", "--refresh", "customers_raw")
        table = done.stdout[done.stdout.index("flow  ") :].splitlines()
        self.assertEqual([line.split()[0] for line in table], ["flow", "customers_raw", "update"])

    def test_init_overwrites_nothing(self):
        self.init()
        self.here = self.root
        (self.root / "shop" / "spark-pipeline.yml").write_text("mine")
        done = self.run_sluice("init", "--name", "shop", code=2)
        self.assertIn("nothing is overwritten", done.stderr)
        self.assertEqual((self.root / "shop" / "spark-pipeline.yml").read_text(), "mine")

    def test_a_name_must_be_a_plain_word(self):
        for name in ["", "../x", "a b", "1a", ".x", "a/b", "x" * 101]:
            with self.subTest(name=name):
                self.run_sluice("init", "--name", name, code=2)
        self.run_sluice("init", code=2)

    def test_a_directory_with_odd_characters_works(self):
        self.here = self.root / "a b%20\"c*d"
        self.here.mkdir()
        self.run_sluice("init", "--name", "shop")
        self.here = self.here / "shop"
        self.run_sluice("dry-run")

    def test_graph_and_event_log(self):
        self.init()
        graph = self.run_sluice("graph").stdout
        self.assertIn("customers_clean (streaming table)", graph)
        self.assertLess(graph.index("customers_raw"), graph.index("customers_by_city"))
        self.assertTrue(self.run_sluice("graph", "--dot").stdout.startswith("digraph"))
        self.run_sluice("event-log", code=1)
        self.run_sluice("run")
        events = [json.loads(line) for line in self.run_sluice("event-log").stdout.splitlines()]
        self.assertEqual(events[0]["event_type"], "create_update")
        self.assertEqual(json.loads(events[-1]["details"]), {"update_progress": {"state": "COMPLETED"}})

    def test_a_graph_names_what_is_read_once(self):
        self.write_project(GOOD + "CREATE TEMPORARY VIEW v AS SELECT id FROM read_files('${source}', format => 'json', schema => 'id BIGINT');\n"
                           "CREATE MATERIALIZED VIEW m AS SELECT a.id FROM v a JOIN v b ON a.id = b.id;\n")
        graph = self.run_sluice("graph").stdout
        self.assertRegex(graph, r"v \(temporary view\) <- read_files\(")
        self.assertIn("m (materialized view) <- v\n", graph)

    def test_dry_run_writes_nothing(self):
        self.init()
        before = sorted(self.here.rglob("*"))
        self.assertIn("valid", self.run_sluice("dry-run").stdout)
        self.run_sluice("graph")
        self.assertEqual(sorted(self.here.rglob("*")), before)


class Usage(Project):
    def test_wrong_usage_is_exit_code_2(self):
        self.init()
        cases = [
            (["run", "--full-refresh-all", "--refresh", "customers"], "CONFLICTING_PIPELINE_REFRESH_OPTIONS"),
            (["run", "--full-refresh-all", "--full-refresh", "customers"], "CONFLICTING_PIPELINE_REFRESH_OPTIONS"),
            (["run", "--refresh", "customers,,"], "INVALID_OPTION"),
            (["run", "--refresh", ""], "INVALID_OPTION"),
            (["run", "--refresh", "nothing"], "PIPELINE_REFRESH_TARGET_NOT_FOUND"),
            (["run", "--refresh", "größe"], "größe"),
            (["run", "--refresh", b"\xff"], "INVALID_OPTION"),
            (["run", "--set", b"a=\xff"], "INVALID_OPTION"),
            (["run", "--set", "novalue"], "INVALID_OPTION"),
            (["run", "--set", "=x"], "INVALID_OPTION"),
            (["run", "--set", "pipelines.maxConcurrentFlows=many"], "INVALID_CONF_VALUE"),
            (["run", "--continuous"], "UNSUPPORTED_FEATURE"),
            (["run", "--set", "pipelines.continuous=true"], "UNSUPPORTED_FEATURE"),
            (["run", "--spec", "absent.yml"], "PIPELINE_SPEC_FILE_DOES_NOT_EXIST"),
            (["run", "more"], "no argument"),
            (["run", "--nonsense"], "--nonsense"),
            (["dry-run", "--refresh", "customers"], "--refresh"),
            (["graph", "more"], "no argument"),
            (["event-log", "more"], "no argument"),
            (["shell", "more"], "no argument"),
            (["walk"], "no command"),
        ]
        for args, fragment in cases:
            with self.subTest(args=args):
                done = self.run_sluice(*args, code=2)
                self.assertIn(fragment, done.stderr)
        self.assertFalse((self.here / "storage" / "flows").exists())

    def test_without_a_spec_file(self):
        for command in ["run", "dry-run", "graph", "event-log"]:
            with self.subTest(command=command):
                self.assertIn("PIPELINE_SPEC_FILE_NOT_FOUND", self.run_sluice(command, code=2).stderr)

    def test_a_bad_spec_file_is_shown_with_a_caret(self):
        cases = [
            ("librarys: []\n", "PIPELINE_SPEC_UNEXPECTED_FIELD", r"3 \| librarys: \[\]\n +\| \^"),
            ("configuration:\n  größe: 1\n", "PIPELINE_SPEC_DICT_VALUE_NOT_STRING", r"4 \|   größe: 1\n +\|          \^"),
            ("libraries: [\n", "PIPELINE_SPEC_MALFORMED", r"spark-pipeline.yml:\d+:\d+"),
            ("libraries:\n  - glob:\n      include: a*.sql\n", "PIPELINE_SPEC_INVALID_GLOB_PATTERN", r"include: a\*.sql\n +\| +\^"),
        ]
        for text, condition, shown in cases:
            with self.subTest(condition=condition):
                (self.root / "spark-pipeline.yml").write_text(f"name: x\nstorage: file://{self.root}/storage\n" + text)
                err = self.run_sluice("run", code=2).stderr
                self.assertIn(f"[{condition}]", err)
                self.assertRegex(err, shown)

    def test_two_spec_files(self):
        self.init()
        (self.here / "spark-pipeline.yaml").write_text("name: other\n")
        self.assertIn("MULTIPLE_PIPELINE_SPEC_FILES_FOUND", self.run_sluice("run", code=2).stderr)

    def test_help_is_on_stdout(self):
        for command in ["run", "dry-run", "init", "graph", "event-log", "shell", "sql", "stream"]:
            with self.subTest(command=command):
                done = self.run_sluice(command, "--help")
                self.assertIn(f"sluice {command}", done.stdout)
                self.assertNotIn("?", done.stdout)  # what is left of a character where GLib prints
                self.assertEqual(done.stderr, "")
        self.assertEqual(self.run_sluice("--version").stdout, self.run_sluice("version").stdout)


class Warehouse(Project):
    """--warehouse, then SLUICE_WAREHOUSE, then spark.sql.warehouse.dir, then `warehouse` beside the spec file."""

    def test_precedence(self):
        self.write_project(GOOD)
        self.drop("1.json", {"id": 1, "word": "a"})
        self.run_sluice("run")
        self.assertTrue((self.root / "warehouse" / "raw" / "_delta_log").is_dir())
        steps = [("by_spec", {}, []), ("by_env", {"SLUICE_WAREHOUSE": str(self.root / "by_env")}, []), ("by_option", {}, ["--warehouse", str(self.root / "by_option")])]
        for number, (name, env, args) in enumerate(steps):
            with self.subTest(name=name):
                self.env.update(env)
                self.write_project(GOOD, f'  spark.sql.warehouse.dir: "{self.root}/by_spec"\n')
                shutil.rmtree(self.root / "storage")
                self.run_sluice("run", *args)
                self.assertTrue((self.root / name / "raw" / "_delta_log").is_dir())
                self.assertEqual(len(list(self.root.glob("by_*"))), number + 1)

    def test_set_wins_over_the_spec(self):
        self.write_project(GOOD)
        other = self.root / "other"
        other.mkdir()
        (other / "1.json").write_text('{"id": 7, "word": "x"}\n')
        self.run_sluice("run", "--set", f"source={other}")
        self.assertEqual(self.rows("SELECT id FROM raw"), [{"id": 7}])


class Failures(Project):
    def test_all_problems_are_shown_with_their_places(self):
        self.write_project(
            GOOD + "CREATE MATERIALIZED VIEW a AS SELECT nope FROM raw;\n\nCREATE MATERIALIZED VIEW b AS\n  SELECT * FROM absent;\n"
        )
        self.drop("1.json", {"id": 1, "word": "a"})
        for command in ["run", "dry-run", "graph"]:
            with self.subTest(command=command):
                err = self.run_sluice(command, code=2).stderr
                self.assertIn("[UNRESOLVED_COLUMN", err)
                self.assertIn("[TABLE_OR_VIEW_NOT_FOUND]", err)
                self.assertIn("all.sql:3:", err)
                self.assertIn("all.sql:6:", err)
                self.assertRegex(err, r"6 \|   SELECT \* FROM absent;\n +\| +\^")
                self.assertIn("2 problems", err)
        self.assertFalse((self.root / "warehouse" / "raw").exists())

    def test_a_syntax_error_is_shown_with_a_caret(self):
        self.write_project("CREATE MATERIALIZED VIEW a AS\nSELECT FROM WHERE;\n")
        err = self.run_sluice("run", code=2).stderr
        self.assertIn("[PARSE_SYNTAX_ERROR]", err)
        self.assertRegex(err, r"2 \| SELECT FROM WHERE;\n +\| +\^")

    def test_a_failed_flow_leaves_its_target_and_the_other_branch_completes(self):
        self.write_project(
            GOOD
            + "CREATE OR REFRESH STREAMING TABLE strict (CONSTRAINT positive EXPECT (id > 0) ON VIOLATION FAIL UPDATE) AS SELECT * FROM STREAM raw;\n"
            + "CREATE OR REFRESH STREAMING TABLE loose AS SELECT * FROM STREAM raw;\n"
            + "CREATE MATERIALIZED VIEW below AS SELECT count(*) AS n FROM strict;\n"
        )
        self.drop("1.json", {"id": 1, "word": "a"})
        self.run_sluice("run")
        self.drop("2.json", {"id": -1, "word": "b"})
        done = self.run_sluice("run", code=1)
        self.assertRegex(done.stdout, r"strict +strict +FAILED")
        self.assertRegex(done.stdout, r"loose +loose +COMPLETED +1 ")
        self.assertRegex(done.stdout, r"below +below +SKIPPED")
        self.assertRegex(done.stdout, r"update [0-9a-f-]{36} FAILED in ")
        self.assertIn("flow strict failed:\n[", done.stderr)
        self.assertIn("positive", done.stderr)
        self.assertEqual(self.rows("SELECT id FROM strict"), [{"id": 1}])
        self.assertEqual(len(self.rows("SELECT id FROM loose")), 2)
        text = (self.root / "all.sql").read_text()
        (self.root / "all.sql").write_text(text.replace("id > 0", "id <> 0"))
        done = self.run_sluice("run", "--refresh-failed")
        self.assertRegex(done.stdout, r"strict +strict +COMPLETED +1 ")
        self.assertNotRegex(done.stdout, r"loose +loose")
        self.assertEqual(self.rows("SELECT n FROM below"), [{"n": 2}])

    def test_a_signal_cancels_the_update(self):
        terms = " + ".join(f"{name}.id % 7" for name in "abcdefgh")
        joins = ", ".join(f"raw {name}" for name in "abcdefgh")
        self.write_project(GOOD + f"CREATE MATERIALIZED VIEW slow AS SELECT sum({terms}) AS n FROM {joins};\n")
        self.drop("1.json", *({"id": n, "word": "a"} for n in range(40)))
        process = subprocess.Popen([SLUICE, "run"], cwd=self.root, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in process.stdout:
            if "slow RUNNING" in line:
                break
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, out + err)
        self.assertIn("CANCELED", out)


class Shell(Project):
    def test_without_a_terminal(self):
        done = self.run_sluice("shell", stdin="SELECT 1 AS a;\nSELECT\n  ';' AS b -- ; \n;\n\\o json\nSELECT 3 AS c; SELECT 4 AS d")
        self.assertEqual(done.stderr, "")
        self.assertIn(" a\n---\n 1\n", done.stdout)
        self.assertIn(" b\n---\n ;\n", done.stdout)
        self.assertTrue(done.stdout.endswith('{"c":3}\n{"d":4}\n'))

    def test_goes_on_after_an_error_and_says_so_at_the_end(self):
        done = self.run_sluice("shell", stdin="SELECT nope;\n\\x\nSELECT 2 AS b;\n", code=1)
        self.assertIn("[UNRESOLVED_COLUMN", done.stderr)
        self.assertIn("no command \\x", done.stderr)
        self.assertIn(" b\n---\n 2\n", done.stdout)

    def test_its_own_commands(self):
        done = self.run_sluice("shell", stdin="CREATE TABLE t (id INT);\n\\d\n\\d t;\n\\?\n\\q\nSELECT 1 AS never;\n")
        self.assertIn("t", done.stdout)
        self.assertRegex(done.stdout, r"id +\| int")
        self.assertIn("\\q", done.stdout)
        self.assertNotIn("never", done.stdout)
        for word in ("exit", "quit;", "EXIT ; "):
            self.assertEqual(self.run_sluice("shell", stdin=f"help\nhelp;\n{word}\nSELECT 1 AS never;\n").stdout.count("\\q"), 2)


class Terminal(Project):
    """With a pseudo terminal."""

    def start(self, *args):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.here)
            os.execve(SLUICE, [SLUICE, *args], dict(self.env, TERM="xterm"))
        self.pid, self.fd, self.seen = pid, fd, ""
        self.addCleanup(os.close, fd)

    def wait_for(self, pattern, timeout=30):
        """Reads until @pattern stands in what was not waited for yet."""
        end = time.monotonic() + timeout
        while not (found := re.search(pattern, self.seen)):
            left = end - time.monotonic()
            self.assertGreater(left, 0, f"{pattern!r} did not come: {self.seen!r}")
            if not select.select([self.fd], [], [], left)[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            self.assertTrue(data, f"{pattern!r} did not come: {self.seen!r}")
            self.seen += data.decode("utf-8", "replace")
        self.seen = self.seen[found.end() :]

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def test_run_redraws_lines(self):
        self.init()
        self.start("run")
        self.wait_for(r"customers_raw +[A-Z]+")
        self.wait_for("\033\\[[0-9]+A\033\\[J")
        self.wait_for(r"customers_by_city +customers_by_city +COMPLETED")
        self.assertEqual(self.end(), 0)

    def test_statements_over_several_lines_and_ctrl_c(self):
        self.start("shell")
        self.wait_for("sluice> ")
        self.type("SELECT 40\n")
        self.wait_for(r"\.\.\.> ")
        self.type("+ 2 AS answer;\n")
        self.wait_for("42")
        self.wait_for("sluice> ")
        self.type("SELECT wrong\x03")
        self.wait_for(r"\^C")
        self.wait_for("sluice> ")
        self.type("SELECT 'grün' AS colour;\n")
        self.wait_for(r"grün *\r?\n")
        self.wait_for("sluice> ")
        self.type("\\q\n")
        self.assertEqual(self.end(), 0)
        self.assertIn("answer", (self.root / "state" / "sluice" / "history").read_text())


if __name__ == "__main__":
    unittest.main()
