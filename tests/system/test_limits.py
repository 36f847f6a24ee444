"""What an agent lets a run do, whatever its coordinator says: each limit of agent.conf refuses, or stops, and names itself."""
import json
import subprocess

import pytest
from cluster import Cluster, program

JOB = {"workers": 2, "phases": [{"kind": "write", "file_size": "1MiB", "record_size": "64KiB"},
                                {"kind": "create", "files": 20}]}


@pytest.fixture(name="make")
def make_fixture(tmp_path):
    made = []

    def make(**settings):
        cluster = Cluster(nodes=2, settings={"node2": settings})
        made.append(cluster)
        return cluster.start()

    def submit(cluster, job=None):
        path = tmp_path / "job.json"
        path.write_text(json.dumps({"path": cluster.volume, **(job or JOB)}))
        return subprocess.run([program("lockstep"), "run", str(path), "--server", cluster.socket()], capture_output=True, text=True,
                              check=False, timeout=120)

    make.submit = submit
    yield make
    for cluster in made:
        cluster.stop()


@pytest.mark.parametrize("key, enough, too_little", [("max_bytes", "64MiB", "1MiB"), ("max_files", "1000", "10"), ("max_workers", "2", "1")])
def test_amounts(make, key, enough, too_little):
    done = make.submit(make(**{key: enough}))
    assert done.returncode == 0, done.stderr
    done = make.submit(make(**{key: too_little}))
    assert done.returncode == 3, done.stdout + done.stderr
    assert key in done.stderr and "node2" in done.stderr, done.stderr


def test_quiet_hours_refuse(make):
    done = make.submit(make(quiet_hours="00:00-24:00"))
    assert done.returncode == 3 and "quiet_hours" in done.stderr, done.stderr


def test_run_time_stops(make):
    done = make.submit(make(max_run_time="2s"), {"phases": [{"kind": "write", "file_size": "1MiB", "record_size": "64KiB", "time": "6s"}]})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "max_run_time" in done.stdout + done.stderr


def test_a_wrong_limit_is_named():
    done = subprocess.run([program("lockstep-agent"), "--set", "quiet_hours=8-18", "--set", "coordinator=x:1", "--check-config"],
                          capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "quiet_hours" in done.stderr
