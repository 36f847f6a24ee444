#!/usr/bin/env python3
"""Manual pages whose substance stands in tables of the code: both daemons' configuration, and the protocol.

  deploy/man/generate.py BUILD [--check]

Writes deploy/man/{lockstepd.conf.5,lockstep-agent.conf.5,lockstep-helper.conf.5,lockstep-protocol.7} from what BUILD's daemons say of their keys and from
proto/schema/messages.schema.json. With --check nothing is written: exit status 1 when a page is not what it would become.
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
DATE = "November 30, 2026"


def text(words):
    """Text of a table as mdoc: nothing in it is a request or an escape."""
    words = re.sub(r"([.?!]) (?=[A-Z])", r"\1\n", words.replace("\\", "\\e").replace("default ;", ";").replace("; ;", ";"))
    return "\n".join(("\\&" + line) if line.startswith((".", "'")) else line for line in words.split("\n"))


def sentence(words):
    words = words.strip()
    words = words[0].upper() + words[1:] if words else words
    return words if words.endswith((".", ":")) else words + "."


def keys(program, option):
    """[(key, help, kind, default)] of a daemon's configuration."""
    out = subprocess.run([program, "--config", "/dev/null", option], stdout=subprocess.PIPE, check=True, text=True).stdout
    found = re.findall(r"^# (.*)\n# \((.*)\)\n(?:# )?([a-z_]+) =", out, re.M)
    return [(key, help_, meta) for help_, meta, key in found]


def conf_page(name, title, program, option, section, about, files, see):
    lines = [f".Dd {DATE}", f".Dt {title} 5", ".Os", ".Sh NAME", f".Nm {name}", f".Nd configuration of {about}", ".Sh DESCRIPTION",
             "Sections and keys as in an INI file: a section", f".Li [{section}] ,", "lines", ".Ar key No = Ar value .",
             "Text after a blank and a semicolon is a comment, and so are lines that begin with", ".Li #", "or", ".Li \\&; .",
             "A key may stand once in a file, a list has a line for each of its values; an empty value empties it.",
             "A line has at most 198 bytes.", "Unknown keys are errors.", ".Pp", "After", f".Pa /etc/lockstep/{name}", "the files", ".Pa *.conf", "of",
             f".Pa /etc/lockstep/{name}.d", "are read by name; the last one wins.", ".Fl -check-config", "says what is wrong,", ".Fl -print-config",
             "prints what is in force.", ".Sh KEYS", ".Bl -tag -width Ds"]
    for key, help_, meta in keys(program, option):
        lines += [f".It Cm {key}", text(sentence(help_)), text(sentence(meta))]
    lines += [".El", ".Sh FILES", ".Bl -tag -width Ds"]
    for path, what in files:
        lines += [f".It Pa {path}", what]
    lines += [".El", ".Sh SEE ALSO"] + [f".Xr {page}" + (" ," if i < len(see) - 1 else "") for i, page in enumerate(see)]
    return "\n".join(lines) + "\n"


def kind_of(field):
    if "$ref" in field:
        return "struct " + field["$ref"].rsplit("/", 1)[1]
    if "enum" in field:
        return "one of " + " ".join(str(v) for v in field["enum"] if v is not None)
    if "anyOf" in field or "oneOf" in field:
        kinds = [kind_of(f) for f in field.get("anyOf", field.get("oneOf"))]
        return " or ".join(k for k in kinds if k != "null") + (" or null" if "null" in kinds else "")
    kind = field.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return "list of " + kind_of(field.get("items", {}))
    return kind


def members(definition):
    lines = [".Bl -tag -width Ds"]
    required = set(definition.get("required", []))
    for name, field in definition["properties"].items():
        if name == "type" and "const" in field:
            continue
        lines += [f".It Cm {name}" + (" No (required)" if name in required else ""), text(sentence(field.get("description", kind_of(field)))),
                  text(sentence(kind_of(field)))]
    return lines + [".El"] if len(lines) > 1 else [".Pp", "No members."]


PROTOCOL = """\
.Dd DATE
.Dt LOCKSTEP-PROTOCOL 7
.Os
.Sh NAME
.Nm lockstep-protocol
.Nd what coordinator, agents, runners and operators say to each other
.Sh DESCRIPTION
Version 1 of the protocol,
.Li lockstep/1 .
The sequence of a run and its state machines stand in ARCHITECTURE.md of the sources; this page lists the messages.
.Ss Transport
TCP port 7437, which agents and operators dial: TLS 1.3 with certificates on both sides, ALPN
.Li lockstep/1 .
Who somebody is stands in the certificate, in a URI subject alternative name:
.Li lockstep://coordinator/NAME ,
.Li lockstep://agent/NAME
or
.Li lockstep://operator/NAME .
Operators on the coordinator's machine use a Unix socket without TLS, agents talk to their runner over a socketpair; the frames are the same.
A node without a certificate may say
.Li enroll ,
and nothing else, over ALPN
.Li lockstep-enroll/1 .
.Ss Frames
Four bytes of length, big-endian, then that many bytes of JSON in UTF-8: one object, whose member
.Cm type
names the message.
A frame has at most 1 MiB, before
.Li welcome
at most 4 KiB, and
.Li hello
must come within 10 seconds.
Unknown members are ignored, so that a minor version can add some; a message of an unknown type is answered with
.Li error .
Durations and clocks are integers of nanoseconds, sizes of bytes.
.Sh MESSAGES
"""


def protocol_page(schema):
    lines = [PROTOCOL.replace("DATE", DATE).rstrip("\n")]
    defs = schema["$defs"]
    for ref in schema["oneOf"]:
        name = ref["$ref"].rsplit("/", 1)[1]
        definition = defs[name]
        lines += [f".Ss {definition['properties']['type']['const']}", text(sentence(definition["description"]))] + members(definition)
    lines += [".Sh STRUCTS", "What messages are made of besides; the results document has a schema of its own,", ".Pa results.schema.json ."]
    for name, definition in sorted(defs.items()):
        if not name.startswith("message-") and name not in ("job", "phase", "job_grid"):
            lines += [f".Ss {name}", text(sentence(definition["description"]))] + members(definition)
    lines += [".Pp", ".Cm job", "and", ".Cm phase", "are those of", ".Xr lockstep-job 5 .", ".Sh SEE ALSO", ".Xr lockstep 1 ,",
              ".Xr lockstep-job 5 ,", ".Xr lockstep-agent 8 ,", ".Xr lockstepd 8"]
    return "\n".join(lines) + "\n"


def pages(build):
    with open(os.path.join(ROOT, "proto", "schema", "messages.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    return {
        "lockstepd.conf.5": conf_page(
            "lockstepd.conf", "LOCKSTEPD.CONF", os.path.join(build, "bin", "lockstepd"), "--help", "lockstepd", "lockstepd, the coordinator",
            [("/etc/lockstep/lockstepd.conf", "The file."), ("/etc/lockstep/pki", "Where the certificates usually are.")],
            ["lockstep 1", "lockstep-agent.conf 5", "lockstepd 8"]),
        "lockstep-agent.conf.5": conf_page(
            "agent.conf", "LOCKSTEP-AGENT.CONF", os.path.join(build, "bin", "lockstep-agent"), "--print-config", "agent", "lockstep-agent",
            [("/etc/lockstep/agent.conf", "The file."), ("/etc/lockstep/agent.conf.d/50-enrolled.conf", "What lockstep-agent enroll has written.")],
            ["lockstep 1", "lockstepd.conf 5", "lockstep-agent 8"]),
        "lockstep-helper.conf.5": conf_page(
            "helper.conf", "LOCKSTEP-HELPER.CONF", os.path.join(build, "bin", "lockstep-helper"), "--print-config", "helper", "lockstep-helper, which runs as root",
            [("/etc/lockstep/helper.conf", "The file; it, its directory and the drop-ins must be root's and writable by nobody else.")],
            ["lockstep-agent.conf 5", "lockstep-agent 8", "lockstep-helper 8"]),
        "lockstep-protocol.7": protocol_page(schema),
    }


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    if len(words) != 1:
        sys.exit(__doc__)
    stale = 0
    for name, wanted in pages(os.path.abspath(words[0])).items():
        path = os.path.join(HERE, name)
        have = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if have == wanted:
            continue
        stale += 1
        if "--check" in sys.argv:
            print(f"deploy/man/{name} is not what the tables say: make manuals")
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write(wanted)
    sys.exit(1 if stale and "--check" in sys.argv else 0)


if __name__ == "__main__":
    main()
