"""Facts of a table such as import_expected.txt, looked up in results documents."""
import math
import statistics

SCALES = {"KiB/s": 1024.0, "MiB/s": 1048576.0, "B/s": 1.0}


class Fact:
    """One line: file | document | test | node | what | value."""

    def __init__(self, line, number):
        parts = [p.strip() for p in line.split(" | ")]
        assert len(parts) == 6, f"line {number}: {line}"
        self.file, self.document, self.test, self.node, self.what, self.value = parts
        self.where = f"line {number}: {line}"


def read_table(path):
    """Facts by file, in order."""
    files = {}
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.strip()
            if line and not line.startswith("#"):
                fact = Fact(line, number)
                files.setdefault(fact.file, []).append(fact)
    return files


def phases_of(document, test):
    """Phases of "write", "write@64/4" (KiB, ? is unknown) or "write#2" (the second of that name)."""
    name, _, sizes = test.partition("@")
    name, _, place = name.partition("#")
    found = [p for p in document["phases"] if p["imported"]["test"] == name]
    if sizes:
        want = [None if s == "?" else int(s) * 1024 for s in sizes.split("/")]
        found = [p for p in found if [p["imported"]["file_size"], p["imported"]["record_size"]] == want]
    return found[int(place) - 1:int(place)] if place else found


def metric(metrics, name):
    found = [m["value"] for m in metrics or [] if m["name"] == name]
    assert len(found) == 1, f"{len(found)} figures are called {name}: {[m['name'] for m in metrics or []]}"
    return found[0]


def setting(document, name):
    found = [s["value"] for s in document["run"]["origin"]["settings"] if s["name"] == name]
    assert found, f"no setting {name}"
    return found[0]


def of_document(document, what):
    run = document["run"]
    if what == "version":
        return run["origin"]["version"]
    if what == "name":
        return run["name"]
    if what == "run state":
        return run["state"]
    if what == "phases":
        return len(document["phases"])
    if what == "tests":
        return len({p["imported"]["test"] for p in document["phases"]})
    if what == "cells":
        return len({(p["imported"]["file_size"], p["imported"]["record_size"]) for p in document["phases"]})
    if what.startswith("setting "):
        return setting(document, what[8:])
    raise AssertionError(f"what is {what}?")


def of_node(node, what):
    what = what.replace("~", "")
    if what in SCALES:
        return node["bytes_per_s"] / SCALES[what] if node["bytes_per_s"] is not None else None
    if what == "op/s":
        return node["ops_per_s"]
    if what in ("bytes", "ops"):
        return node[what]
    if what == "node state":
        return node["state"]
    if what == "latency":
        return node["latency_ns"]
    if what == "buckets":
        return sum(n for _, n in node["latency_ns"]["histogram"]["buckets"])
    kind, _, name = what.partition(" ")
    if kind == "latency":
        return node["latency_ns"][name]
    if kind == "metric":
        return metric(node.get("metrics"), name)
    raise AssertionError(f"what is {what}?")


def of_phase(phase, what):
    what = what.replace("~", "")
    if what == "nodes":
        return len(phase["nodes"])
    if what == "state":
        return phase["state"]
    if what == "direct":
        return phase["spec"].get("direct", False)  # not a parameter of stdio phases
    if what == "record":
        return phase["imported"]["record_size"]
    if what == "title":
        return phase["imported"]["title"]
    if what == "all bytes":
        return phase["aggregate"]["bytes"]
    kind, _, name = what.partition(" ")
    if kind == "total":
        return metric(phase["imported"].get("metrics"), name)
    rate = phase["aggregate"][kind]
    if name == "op/s":
        return rate["ops_per_s"]
    return rate["bytes_per_s"] / SCALES[name] if rate["bytes_per_s"] is not None else None


def nodes_of(phase, name):
    if name == "*":
        assert len(phase["nodes"]) == 1, [n["node"] for n in phase["nodes"]]
        return phase["nodes"]
    return [n for n in phase["nodes"] if n["node"] == name]


def look_up(document, fact):
    if fact.test == "-":
        return of_document(document, fact.what)
    phases = phases_of(document, fact.test)
    assert len(phases) == 1, f"{len(phases)} phases"
    if fact.node == "-":
        return of_phase(phases[0], fact.what)
    if fact.node.startswith("+"):
        return sum(of_node(n, fact.what) for n in phases[0]["nodes"])
    nodes = nodes_of(phases[0], fact.node)
    assert len(nodes) == 1, f"{[n['node'] for n in phases[0]['nodes']]}"
    return of_node(nodes[0], fact.what)


def same(got, fact):
    want = fact.value
    if want == "null":
        return got is None
    if want in ("true", "false"):
        return got is (want == "true")
    if isinstance(got, str):
        return got == want
    if got is None:
        return False
    if "~" in fact.what or fact.node.startswith("+") and not float(want).is_integer():
        return math.isclose(got, float(want), abs_tol=0.00501 * max(1, 10 ** (len(want.split(".")[0]) - 12)) + 1e-9) or \
            ("." not in want and round(got) == int(want))
    return math.isclose(got, float(want), rel_tol=1e-14)


def warnings_of(document, fact):
    if fact.test == "-":
        return document["run"]["warnings"]
    return [w for p in phases_of(document, fact.test) for w in p["warnings"]]


def check_one(document, fact):
    if fact.what == "phase":
        assert (len(phases_of(document, fact.test)) == 0) == (fact.value == "absent")
    elif fact.what == "warning":
        assert any(fact.value in w for w in warnings_of(document, fact)), warnings_of(document, fact)
    elif fact.what == "reason":
        assert fact.value in document["run"]["reason"]
    elif fact.what == "error":
        node = nodes_of(phases_of(document, fact.test)[0], fact.node)[0]
        assert any(fact.value in e["text"] for e in node["error_list"])
    elif fact.what == "no setting":
        assert not any(fact.value in s["value"].lower() for s in document["run"]["origin"]["settings"])
    else:
        got = look_up(document, fact)
        assert same(got, fact), f"got {got!r}"


def check(documents, fact):
    """Fails with the line of the table when documents do not say so."""
    try:
        if fact.what == "documents":
            assert len(documents) == int(fact.value), f"got {len(documents)}"
        elif fact.document == "all":
            got = [look_up(d, fact) for d in documents]
            want = [float(v) for v in fact.value.split()]
            assert len(got) == len(want) and all(math.isclose(g, w, rel_tol=1e-14) for g, w in zip(got, want)), f"got {got}"
        elif fact.document == "median":
            got = statistics.median(look_up(d, fact) for d in documents)
            assert got == float(fact.value), f"got {got}"
        else:
            check_one(documents[int(fact.document)], fact)
    except (AssertionError, IndexError, KeyError, TypeError) as failed:
        raise AssertionError(f"{fact.where}: {failed!r}") from failed
