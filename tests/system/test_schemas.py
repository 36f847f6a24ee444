"""The published JSON Schemas against what the codec writes (the seeds of the fuzz targets are its output) and refuses."""
import glob
import json
import os

import pytest

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")


def validator(name):
    import jsonschema
    with open(os.path.join(ROOT, "proto", "schema", f"{name}.schema.json"), encoding="utf-8") as f:
        return jsonschema.Draft202012Validator(json.load(f))


def seeds(pattern):
    paths = sorted(glob.glob(os.path.join(ROOT, "tests", "fuzz", "seeds", pattern)))
    assert paths
    for path in paths:
        with open(path, encoding="utf-8") as f:
            yield os.path.basename(path), json.load(f)


def test_each_message_matches_its_schema_only():
    schema = validator("messages")
    for name, message in seeds("msg/*.json"):
        assert [e.message for e in schema.iter_errors(message)] == [], name


def test_random_results_match_their_schema():
    schema = validator("results")
    for name, document in seeds("results/random*.json"):
        assert [e.message for e in schema.iter_errors(document)] == [], name


@pytest.mark.parametrize("job, good", [
    ({"phases": [{"kind": "write"}]}, True),
    ({"phases": [{"kind": "write", "file_size": 65536, "record_size": "64KiB", "time": "1.5s"}]}, True),
    ({"phases": [{"kind": "create", "files": 5}], "$schema": "x"}, True),
    ({"phases": [{"kind": "write", "time": 0}], "grace": "100ms"}, True),
    ({"phases": [{"kind": "write", "files": 5}]}, False),
    ({"phases": [{"kind": "stat", "direct": True}]}, False),
    ({"phases": [{"kind": "write", "record_size": "4KB"}]}, False),
    ({"phases": [{"kind": "write", "time": 5}]}, False),
    ({"phases": [{"kind": "write", "record": 5}]}, False),
    ({"phases": [{"file_size": 5}]}, False),
    ({"workers": 0}, False),
    ({"nodes": "a"}, False),
    ({"name": None}, False),
])
def test_job_schema_agrees_with_the_parser(job, good):
    assert validator("job").is_valid(job) == good
