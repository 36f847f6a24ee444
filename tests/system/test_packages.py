"""What is installed stands in exactly one package, the same in all kinds of packages; units, completion and tarball are sound.

The packages themselves are built by `make deb` and `make rpm`: too slow for here.
"""
import filecmp
import fnmatch
import os
import re
import shutil
import subprocess
import xml.dom.minidom

import pytest

from cluster import BUILD, program

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
DEBIAN = os.path.join(ROOT, "deploy", "debian")
PACKAGES = ("lockstep", "lockstepd", "lockstep-agent")
EXPOSURE_MAX = {"lockstepd": 2.5, "lockstep-agent": 2.5, "lockstep-helper@": 2.5}

# The spec's macros as Debian's folders, so that both lists can be compared.
MACROS = {
    "_bindir": "usr/bin", "_sbindir": "usr/sbin", "_sysconfdir": "etc", "_datadir": "usr/share", "_mandir": "usr/share/man",
    "_docdir": "usr/share/doc", "_libexecdir": "usr/libexec", "_unitdir": "lib/systemd/system", "_sysusersdir": "usr/lib/sysusers.d",
    "firewalld": "usr/lib/firewalld",
}
# Debian has another name for this folder, and its tools install the changes by themselves.
RPM_ONLY = {"usr/share/doc/lockstep/CHANGELOG.md"}
ZSH_RPM, ZSH_DEBIAN = "usr/share/zsh/site-functions/", "usr/share/zsh/vendor-completions/"


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as f:
        return f.read()


def make(*words):
    done = subprocess.run(["make", "-s", *words], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def lines(name):
    return [line.split()[0] for line in read("deploy", "debian", name).splitlines() if line.strip() and not line.startswith("#")]


def debian_lists():
    return {p: lines(f"{p}.install") for p in PACKAGES}


def rpm_lists():
    lists = {}
    for package, body in re.findall(r"^%files(?: -n (\S+))?\n(.*?)(?=^%(?:files|changelog))", read("deploy", "rpm", "lockstep.spec"), re.M | re.S):
        paths = []
        for line in body.splitlines():
            line = line.strip()
            if not line or line.startswith(("%dir", "%license")):
                continue
            path = re.sub(r"^%(doc|config\(noreplace\)) ", "", line)
            path = re.sub(r"%\{(\w+)\}", lambda m: MACROS[m.group(1)], path)
            paths.append(re.sub(r"(/man\d/.*)\*$", r"\1", path).replace(ZSH_RPM, ZSH_DEBIAN))
        lists[package or "lockstep"] = paths
    return lists


def covers(entry, path):
    return fnmatch.fnmatch(path, entry) or path.startswith(entry.rstrip("/") + "/")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """All that `make install` installs, with Debian's folders; nothing is built for it (-o)."""
    root = tmp_path_factory.mktemp("install")
    make("-o", "all", "install", f"BUILD={BUILD}", f"DESTDIR={root}", "PREFIX=/usr", "UNITDIR=/lib/systemd/system",
         "ZSHDIR=/usr/share/zsh/vendor-completions")
    found = [os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names]
    assert len(found) > 20
    return root, sorted(found)


def test_each_installed_file_is_in_exactly_one_debian_package(installed):
    entries = [(p, e) for p, es in debian_lists().items() for e in es] + [("not-installed", e) for e in lines("not-installed")]
    wrong = {}
    for path in installed[1]:
        owners = [p for p, entry in entries if covers(entry, path)]
        if len(owners) != 1:
            wrong[path] = owners
    assert wrong == {}, "add it to one of deploy/debian/*.install (and to deploy/rpm/lockstep.spec)"


def test_debian_lists_nothing_that_is_not_installed(installed):
    stale = [e for es in debian_lists().values() for e in es if not any(covers(e, path) for path in installed[1])]
    assert stale == []


def test_spec_and_debian_split_alike():
    debian, rpm = debian_lists(), rpm_lists()
    assert set(rpm) == set(PACKAGES)
    for package in PACKAGES:
        assert sorted(set(rpm[package]) - RPM_ONLY) == sorted(debian[package]), package


@pytest.mark.parametrize("package,files", [
    ("lockstep", ["usr/bin/lockstep", "usr/share/man/man1/lockstep.1"]),
    ("lockstepd", ["usr/sbin/lockstepd", "lib/systemd/system/lockstepd.service", "etc/lockstep/lockstepd.conf"]),
    ("lockstep-agent", ["usr/sbin/lockstep-agent", "usr/libexec/lockstep/lockstep-runner", "lib/systemd/system/lockstep-agent.service",
                        "etc/lockstep/agent.conf"]),
])
def test_programs_are_where_they_belong(package, files):
    assert [f for f in files if f not in debian_lists()[package]] == []


def test_every_program_has_a_folder_of_unit_or_command(installed):
    programs = re.search(r"^PROGRAMS := (.*)$", read("Makefile"), re.M).group(1).split()
    names = [os.path.basename(f) for f in installed[1] if "/bin/" in f or "/sbin/" in f or "/libexec/" in f]
    assert sorted(names) == sorted(programs)


def test_versions_agree():
    version = re.search(r"^VERSION := (.*)$", read("Makefile"), re.M).group(1)
    assert re.match(r"lockstep \((.*)-\d+\)", read("deploy", "debian", "changelog")).group(1) == version
    assert re.search(r"^Version:\s+(.*)$", read("deploy", "rpm", "lockstep.spec"), re.M).group(1) == version
    assert re.search(r"^## (.*)$", read("deploy", "doc", "CHANGELOG.md"), re.M).group(1) == version


def test_the_daemons_share_one_user(installed):
    folder = os.path.join(ROOT, "deploy", "sysusers")
    assert filecmp.cmp(f"{folder}/lockstepd.conf", f"{folder}/lockstep-agent.conf", shallow=False)
    for unit in ("lockstepd", "lockstep-agent"):
        text = (installed[0] / f"lib/systemd/system/{unit}.service").read_text()
        assert "\nUser=lockstep\n" in text and "@" not in re.sub(r"[~]?@\w[\w-]*", "", text.replace("=@", "=~@"))


@pytest.mark.parametrize("unit", sorted(EXPOSURE_MAX))
def test_units_are_sandboxed(installed, unit):
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze here")
    path = str(installed[0] / f"lib/systemd/system/{unit}.service")
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", path], capture_output=True, text=True, check=False)
    if "offline" in done.stderr:
        pytest.skip("this systemd cannot look at a file")
    level = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert level, done.stdout + done.stderr
    assert float(level.group(1)) < EXPOSURE_MAX[unit], done.stdout
    assert "Unknown" not in done.stderr, done.stderr


def test_the_firewall_opens_the_default_port():
    port = xml.dom.minidom.parseString(read("deploy", "firewalld", "lockstep.xml")).getElementsByTagName("port")
    default = re.search(r'listen, 300, ":(\d+)"', read("coordinator", "daemon", "config.def")).group(1)
    assert [(p.getAttribute("protocol"), p.getAttribute("port")) for p in port] == [("tcp", default)]


def test_scripts_of_packages_are_sound():
    scripts = [os.path.join(DEBIAN, f) for f in os.listdir(DEBIAN) if f.endswith(("inst", "rm", ".sh"))]
    scripts.append(os.path.join(ROOT, "deploy", "rpm", "build.sh"))
    assert len(scripts) >= 8
    for script in scripts:
        assert subprocess.run(["sh", "-n", script], check=False).returncode == 0, script
        if not script.endswith(".sh"):
            assert "#DEBHELPER#" in open(script, encoding="utf-8").read(), script


@pytest.mark.parametrize("daemon", ["lockstepd", "lockstep-agent"])
def test_an_upgrade_refused_because_of_a_run_restarts_nothing(daemon):
    """dpkg then calls the old postinst with abort-upgrade: before debhelper's lines, which restart, it has to end."""
    script = read("deploy", "debian", f"{daemon}.postinst").replace("#DEBHELPER#", "echo RESTART")
    done = subprocess.run(["sh", "-c", script, "postinst", "abort-upgrade", "0.1.0-2"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert "LOCKSTEP_UPGRADE" in read("deploy", "debian", f"{daemon}.prerm")


# --- completion ------------------------------------------------------------------------------------------------------


def options_of(*words):
    """(long, short) of each option that --help shows."""
    text = subprocess.run([program("lockstep"), *words, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (?:-(\w), |    )--([a-z-]+)", text, re.M), text


def commands():
    _, text = options_of()
    found = re.findall(r"^  ([a-z]+) ", text.split("commands:\n")[1].split("\n\n")[0], re.M)
    assert "run" in found
    return found


@pytest.fixture(scope="module")
def complete(installed):
    path = installed[0] / "usr/share/bash-completion/completions/lockstep"

    def ask(*words):
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _lockstep; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", str(path), "lockstep", *words], capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.stdout.split()

    return ask


def test_bash_completes_every_command_and_option(complete):
    assert sorted(complete("")) == sorted(commands())
    for command in commands():
        options, _ = options_of(command)
        wanted = [f"--{name}" for _, name in options] + [f"-{letter}" for letter, _ in options if letter]
        assert sorted(complete(command, "-")) == sorted(wanted), command


@pytest.mark.parametrize("words,expected", [
    (["re"], ["report"]),
    (["run", "--path", "/tmp", "--re"], ["--repeat"]),
    (["run", "bonn"], ["bonnie"]),
    (["presets", "qu"], ["quick"]),
    (["report", "--format", "markd"], ["markdown"]),
    (["pki", "issue", "/x", "ag"], ["agent"]),
])
def test_bash_completes_words(complete, words, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert complete(*words) == expected


def test_zsh_knows_every_command_and_option(installed):
    path = installed[0] / "usr/share/zsh/vendor-completions/_lockstep"
    text = path.read_text()
    if shutil.which("zsh"):
        assert subprocess.run(["zsh", "-n", path], check=False).returncode == 0
    for command in commands():
        assert re.search(rf"^\t'{command}:", text, re.M), command
        block = text.split(f"\n\t{command}) specs=(")[1].split("\n\t\t) ;;")[0]
        options, _ = options_of(command)
        missing = [name for _, name in options if f"--{name}[" not in block and f"--{name}}}'[" not in block]
        assert missing == [], command


# --- tarball ---------------------------------------------------------------------------------------------------------


def test_the_tarball_is_reproducible_and_knows_its_commit(tmp_path):
    if subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no git repository here")
    make("dist", f"BUILD={tmp_path}/a")
    make("dist", f"BUILD={tmp_path}/b")
    found = [next((tmp_path / x).glob("lockstep-*.tar.gz")) for x in "ab"]
    assert filecmp.cmp(*found, shallow=False)
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    stem = found[0].name[:-len(".tar.gz")]
    inside = subprocess.run(["tar", "-xzOf", found[0], f"{stem}/.commit"], capture_output=True, text=True, check=True).stdout.strip()
    assert inside == head
