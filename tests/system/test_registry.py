"""What stands in a table stands in the manual, and has its schema."""
import json
import os
import re
import subprocess

import pytest
from cluster import BUILD

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as f:
        return f.read()


def table(name):
    """Keys of the rows F_xxx(tag, key, ...) of a .def file."""
    return re.findall(r"^F_\w+\(\w+, (\w+),", read("proto", "model", name), re.M)


@pytest.mark.parametrize("name", ["job.def", "phase.def"])
def test_every_key_of_a_job_is_in_the_manual(name):
    manual = read("deploy", "man", "lockstep-job.5")
    missing = [key for key in table(name) if f".It Cm {key}\n" not in manual]
    assert table(name) and missing == []


def test_every_kind_of_phase_is_in_the_manual():
    kinds = re.findall(r'^PHASE\(\w+, \w+, "([a-z+-]+)"', read("proto", "model", "phases.def"), re.M)
    words = set(re.findall(r"[a-z+-]+", read("deploy", "man", "lockstep-job.5")))
    assert kinds and [k for k in kinds if k not in words] == []


def test_every_command_is_in_the_manual():
    commands = [f[4:-2] for f in os.listdir(os.path.join(ROOT, "coordinator", "cli")) if re.fullmatch(r"cmd_\w+\.c", f)]
    manual = read("deploy", "man", "lockstep.1")
    assert commands and [c for c in commands if f".It Cm {c}" not in manual] == []


def test_schemas_are_published_and_well_formed():
    import jsonschema
    for name in ("job", "results", "messages"):
        schema = json.loads(read("proto", "schema", f"{name}.schema.json"))
        jsonschema.Draft202012Validator.check_schema(schema)


def test_presets_and_examples_are_valid_jobs():
    import jsonschema
    schema = json.loads(read("proto", "schema", "job.schema.json"))
    for folder in (("proto", "presets"), ("deploy", "examples")):
        found = [f for f in os.listdir(os.path.join(ROOT, *folder)) if f.endswith(".json")]
        assert found
        for name in found:
            jsonschema.validate(json.loads(read(*folder, name)), schema)


def test_manuals_of_tables_are_current():
    """The pages on configuration and protocol are what their tables say (make manuals)."""
    done = subprocess.run(["/usr/bin/python3", os.path.join(ROOT, "deploy", "man", "generate.py"), BUILD, "--check"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_row_of_a_check_has_a_test_that_makes_it_fail():
    names = re.findall(r'^\t\{ "([^"]+)", (?:check_row_|NULL)', read("coordinator", "daemon", "check.c"), re.M)
    tests = read("tests", "unit", "coordinator", "daemon", "test_check.c")
    failing = set(re.findall(r'expect\(w, "([^"]+)", [^,]+, CHECK_(?:WARNING|FAILED)', tests))
    # That row goes by the names of the programs.
    wanted = {"fio" if n == "external programs" else n for n in names}
    # Which options are tried in a table of cases.
    assert len(names) > 25 and wanted - failing == set()

