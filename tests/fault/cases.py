"""What these scripts share: statements, each in a process of its own, or several in one that stays open; the options of faults at storage
operations, which operations are tried, running the cases side by side; writers that run at once."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import time

BUILD = pathlib.Path(os.environ.get("SLUICE_BUILD", "build")).resolve()
SLUICE = BUILD / "sluice"
RUN = BUILD / "tests/programs/run-statements"
CONFLICTS = {"DELTA_CONCURRENT_APPEND", "DELTA_CONCURRENT_DELETE_READ", "DELTA_CONCURRENT_DELETE_DELETE"}


def sluice(warehouse, sql, **env):
    """The process of one statement, or of several, when it has ended."""
    return subprocess.run([SLUICE, "sql", "--warehouse", warehouse, "--output", "json", "--", sql], capture_output=True, text=True,
                          env={**os.environ, **env}, timeout=120)


def answer(warehouse, sql):
    """The rows of a statement that must succeed."""
    done = sluice(warehouse, sql)
    if done.returncode != 0:
        raise AssertionError(f"{sql}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def options(**more):
    """--step N --offset N (drawn from the clock when it is not given) --modes M,M --jobs N; @more: further options and their defaults."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--offset", type=int, default=-1)
    parser.add_argument("--modes", default=more.pop("modes", "kill,fail,torn,lost"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    for name, default in more.items():
        parser.add_argument(f"--{name}", default=default)
    given = parser.parse_args()
    given.modes = given.modes.split(",")
    if given.offset < 0:
        given.offset = int(time.time()) % given.step
    return given


def run(attempt, name, cases, jobs):
    """Runs attempt(*case) for every case; any exception is a failure, printed behind name(*case). Returns how many failed."""
    def one(case):
        try:
            attempt(*case)
        except Exception as error:  # every kind of failure is a finding
            return f"{name(*case)}: {error}"
        return None

    n_failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done, finding in enumerate(pool.map(one, cases), 1):
            if finding:
                n_failed += 1
                print("FAIL", finding, flush=True)
            if done % 50 == 0:
                print(f"{done} of {len(cases)} done", flush=True)
    print(f"{len(cases) - n_failed} passed, {n_failed} failed")
    return n_failed


class Engine:
    def __init__(self, directory):
        self.process = subprocess.Popen([RUN, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.run(None)  # opens the warehouse

    def run(self, sql):
        self.process.stdin.write(json.dumps(sql) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def rows(self, sql):
        answer = self.run(sql)
        if "rows" not in answer:
            raise AssertionError(f"{sql}\n{answer}")
        return answer["rows"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run_writers(writers):
    """Threads with a `failure`: all at once, to their ends."""
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        if writer.failure is not None:
            raise writer.failure
