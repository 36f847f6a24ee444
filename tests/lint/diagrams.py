#!/usr/bin/python3
"""Prints the state machines of ARCHITECTURE.md from their tables, so that they cannot differ.

usage: tests/lint/diagrams.py [--write]

Without --write: exit 1 when ARCHITECTURE.md says something else than the code.
"""
import re
import sys

MACHINES = [("run", "coordinator/daemon/run_fsm.c", "STAGE_", "EV_"),
            ("node run", "agent/daemon/run_fsm.c", "NR_", "NE_"),
            ("runner", "agent/runner/lifecycle.c", "RUNNER_", "RUNNER_EV_")]
WIDTH = 120


def words(name, prefix):
    return name.removeprefix(prefix).lower().replace("_", " ")


def edges(path, state, event):
    """(from, event, to) of each row of the table."""
    with open(path, encoding="utf-8") as f:
        rows = re.findall(r"\{\s*(" + state + r"\w+),\s*(" + event + r"\w+),\s*(" + state + r"\w+),\s*\w+\s*\}", f.read())
    if not rows:
        raise SystemExit(f"{path}: no table of edges found")
    return [(words(a, state), words(e, event), words(b, state)) for a, e, b in rows]


def draw(path, state, event):
    """A paragraph a state: its events by where they lead; what leaves the state where it is comes last."""
    by_state = {}
    for a, e, b in edges(path, state, event):
        by_state.setdefault(a, {}).setdefault(b, []).append(e)
    lines = []
    for a, targets in by_state.items():
        parts = [f"{', '.join(events)} -> {b}" for b, events in targets.items() if b != a]
        if a in targets:
            parts.append(f"stays on {', '.join(targets[a])}")
        line = f"    {a}:"
        for part in parts:
            if len(line) + len(part) + 2 > WIDTH:
                lines.append(line)
                line = "        "
            line += (" " if line.endswith(":") or line.isspace() else "; ") + part
        lines.append(line)
    return "\n".join(lines)


def main():
    with open("ARCHITECTURE.md", encoding="utf-8") as f:
        text = f.read()
    wanted = text
    for name, path, state, event in MACHINES:
        block = f"<!-- {name} -->\n\n{draw(path, state, event)}\n\n<!-- end -->"
        wanted, n = re.subn(r"<!-- " + name + r" -->\n.*?<!-- end -->", lambda _: block, wanted, flags=re.S)
        if n != 1:
            raise SystemExit(f"ARCHITECTURE.md has no place for the machine \"{name}\"")
    if "--write" in sys.argv:
        with open("ARCHITECTURE.md", "w", encoding="utf-8") as f:
            f.write(wanted)
    elif wanted != text:
        raise SystemExit("the state machines in ARCHITECTURE.md are not those of the code: tests/lint/diagrams.py --write")


main()
