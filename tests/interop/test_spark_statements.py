"""Apache Spark runs the statements of `.test` files of tests/sql and must give the answers that are written there. See README.md."""
import json
import pathlib
import re

import pytest
from cases import ROOT
from spark_job import ask_spark
from statement_files import variants_of

FILES = ["feed/examples-legacy", "feed/examples-automatic"]

# (statement, what Spark answers, why): two patterns; the statement's answer is not compared.
EXCEPTIONS = [
    (r"table_changes\('\w+', 'earliest'\)", "DELTA_TIMESTAMP_INVALID", "'earliest' is an option of ours"),
    (r"table_changes\('x_[cv]', 1\)", "FILE_NOT_EXIST|Job aborted", "engine.cdf.startAtFirstReadable is a setting of ours"),
    (r"table_changes\('x_[cv]', 2, 2\)", "FILE_NOT_EXIST|Job aborted", "the file's error; ours has Databricks' name (cdf.md 9)"),
    (r"a\.b`?|\bIN s$|CREATE SCHEMA s", "", "Spark's own catalog has no dots in names, and refuses them in several ways"),
    (r"FROM table_changes\('m', ", "DELTA_CANNOT_RESOLVE_COLUMN", "Delta 4.4 reads no automatic feed of mapped tables"),
    (r"table_changes\('r2', 0\)", "", "Delta 4.4 gives an automatic feed with two columns of one name; cdf.md 6 refuses it"),
]


def written(block):
    """What the file says: the sorted rows, or a piece of the error, or that it works."""
    if block["kind"] == "query":
        return sorted(block["expected"])
    word, _, piece = block["rest"].partition(" ")
    return {"error": piece} if word == "error" else "works"


def same(block, answer):
    expected = written(block)
    if isinstance(expected, dict):
        condition = re.match(r"\[(\w+)", expected["error"])
        return "error" in answer and (condition is None or condition[1] in answer["error"])
    if "error" in answer:
        return False
    return expected == "works" or expected == sorted(answer["rows"])


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """name → [(block, Spark's answer)]. One process runs all files."""
    scratch = tmp_path_factory.mktemp("spark")
    files = {}
    for name in FILES:
        text = (ROOT / "tests/sql" / f"{name}.test").read_text()
        files.update(variants_of(name.replace("/", "-"), text))
    found = ask_spark(pathlib.Path(__file__).with_name("spark_statements.py"), scratch, files=files)
    return {name: [(block, answer) for block, answer in zip(blocks, found[name], strict=True) if answer is not None]
            for name, blocks in files.items()}


def exception_of(block, answer):
    text = json.dumps(answer)
    return next((number for number, (sql, piece, _) in enumerate(EXCEPTIONS) if re.search(sql, block["text"]) and re.search(piece, text)), None)


def test_spark_gives_the_written_answers(answers):
    differ = []
    for name, pairs in answers.items():
        for block, answer in pairs:
            if not same(block, answer) and exception_of(block, answer) is None:
                differ.append(f"{name}, line {block['line']}: {block['text']}\n  written: {written(block)}\n  Spark: {json.dumps(answer)[:600]}")
    assert not differ, f"{len(differ)} of {sum(map(len, answers.values()))} differ:\n" + "\n".join(differ)


def test_every_exception_is_needed(answers):
    used = {exception_of(block, answer) for pairs in answers.values() for block, answer in pairs if not same(block, answer)}
    assert [EXCEPTIONS[number] for number in range(len(EXCEPTIONS)) if number not in used] == []
