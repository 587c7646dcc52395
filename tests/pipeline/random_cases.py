"""How a test of random cases is called and how it answers: a printed seed, projects of several cases each, a line per difference."""
import argparse
import json
import random
import time


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    return parser


def canonical(rows, columns, shown=lambda value: value):
    """Rows to compare, in one order."""
    return sorted(json.dumps([shown(row.get(c)) for c in columns]) for row in rows)


def run_cases(options, draw, run_project, cases_per_project, remark=""):
    """draw(number, random) makes a case, run_project(cases) gives their differences. Returns the exit status."""
    print(f"seed {options.seed}", flush=True)
    rnd = random.Random(options.seed)
    cases = [draw(number, rnd) for number in range(options.cases)]
    findings = []
    for first in range(0, len(cases), cases_per_project):
        findings += run_project(cases[first:first + cases_per_project])
    for finding in findings:
        print("FAIL", finding)
    print(f"{options.cases} cases, {len(findings)} differences{remark}")
    return 1 if findings else 0
