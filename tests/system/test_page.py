"""The pages of reports and comparisons in a real browser: wide, narrow, dark and on paper. A copy of the page gets a script behind its own
that asks the browser what has become of it, and the answer is read from the dumped document."""
import json
import os
import re
import shutil
import subprocess

import pytest

from cluster import BUILD

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
GOLDEN = os.path.join(ROOT, "tests", "golden", "results")
LOCKSTEP = os.path.join(BUILD, "bin", "lockstep")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr", "--virtual-time-budget=5000"]
ASK = """<pre id=answer></pre><script>
(function () {
	function count(what) { return document.querySelectorAll(what).length; }
	function seen(el) { var r = el.getBoundingClientRect(); return r.width > 50 && r.height > 20; }
	document.querySelectorAll(".chart").forEach(function (el) { el.scrollIntoView(); });
	setTimeout(function () {
		var answer = {
			charts: count(".chart"),
			drawn: Array.from(document.querySelectorAll(".chart")).filter(function (el) { return el.querySelector("canvas, .series") && seen(el); }).length,
			legends: Array.from(document.querySelectorAll(".legend")).map(function (el) { return el.textContent; }),
			keys: Array.from(document.querySelectorAll(".key")).map(function (el) { return [el.textContent, el.style.getPropertyValue("--c")]; }),
			width: document.documentElement.clientWidth, needed: document.documentElement.scrollWidth,
			page: getComputedStyle(document.body).backgroundColor, text: getComputedStyle(document.body).color,
			loaded: performance.getEntriesByType("resource").map(function (e) { return e.name; }),
			starts: count("circle.start, .start"), dygraphs: typeof Dygraph
		};
		document.getElementById("answer").textContent = JSON.stringify(answer);
	}, 1000);
})();
</script>"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")


def chromium(tmp_path, page, *words):
    done = subprocess.run([CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path}/profile", *words, page.as_uri()], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    return done.stdout


def asked(tmp_path, text, *words):
    page = tmp_path / "asked.html"
    page.write_text(text + ASK)
    answer = re.search(r'<pre id="answer">(.*?)</pre>', chromium(tmp_path, page, *words, "--dump-dom"), re.S)[1]
    return json.loads(answer.replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def rendered(*words):
    return subprocess.run([LOCKSTEP, *words], capture_output=True, text=True, check=True).stdout


def report(name="charts"):
    return rendered("report", "--format", "html", os.path.join(GOLDEN, f"{name}.json"))


def comparison():
    return rendered("compare", os.path.join(GOLDEN, "cluster.json"), os.path.join(GOLDEN, "charts.json"), "--format", "html")


def brightness(color):
    return sum(int(v) for v in re.findall(r"\d+", color)[:3]) / 3


def test_charts_are_drawn_and_nothing_is_loaded(tmp_path):
    answer = asked(tmp_path, report(), "--window-size=1200,3000")
    assert answer["charts"] == 2 and answer["drawn"] == 2
    assert answer["loaded"] == []
    names = [text for text, _ in answer["keys"]]
    assert names == ["node1", "node2", "node3", "all", "node1", "node2", "node3"]
    colors = dict(answer["keys"][:3])
    assert len(set(colors.values())) == 3 and dict(answer["keys"][4:]) == colors  # a node has one colour in all charts


def test_without_dygraphs_charts_are_drawn_too(tmp_path):
    text = report()
    programs = text.index("<!-- programs -->")
    first, second = re.findall(r"<script>.*?</script>", text[programs:], re.S)
    answer = asked(tmp_path, text.replace(first, "<script></script>"), "--window-size=1200,3000")
    assert answer["dygraphs"] == "undefined" and answer["drawn"] == 2


@pytest.mark.parametrize("make", [report, comparison, lambda: report("scale"), lambda: report("rows")],
                         ids=["report", "comparison", "scale", "rows"])
def test_a_phone_shows_it_without_scrolling_sideways(tmp_path, make):
    # Chromium's window is never narrower than 500 px: a frame of a phone's width holds the page
    (tmp_path / "page.html").write_text(make() + ASK.replace('document.getElementById("answer").textContent', "document.title"))
    frame = tmp_path / "frame.html"
    frame.write_text('<iframe id=f src=page.html style="width:390px;height:800px;border:0"></iframe><pre id=answer></pre><script>'
                     'setTimeout(function () { document.getElementById("answer").textContent ='
                     ' document.getElementById("f").contentDocument.title; }, 4500);</script>')
    out = chromium(tmp_path, frame, "--allow-file-access-from-files", "--window-size=800,1000", "--dump-dom")
    answer = json.loads(re.search(r'<pre id="answer">(.*?)</pre>', out, re.S)[1].replace("&quot;", '"').replace("&amp;", "&")
                        .replace("&lt;", "<").replace("&gt;", ">"))
    assert answer["width"] == 390 and answer["needed"] <= 390
    assert answer["drawn"] == answer["charts"]


@pytest.mark.parametrize("make", [report, comparison], ids=["report", "comparison"])
def test_it_is_dark_where_people_want_it_dark(tmp_path, make):
    light = asked(tmp_path, make(), "--blink-settings=preferredColorScheme=1")
    dark = asked(tmp_path, make(), "--blink-settings=preferredColorScheme=0")
    assert brightness(light["page"]) > 200 > 100 > brightness(light["text"])
    assert brightness(dark["page"]) < 60 and brightness(dark["text"]) > 200


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext (poppler-utils) is not installed")
def test_on_paper_are_the_warnings_the_figures_and_the_charts(tmp_path):
    page, pdf = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text(report())
    chromium(tmp_path, page, "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
    text = " ".join(subprocess.run(["pdftotext", "-layout", str(pdf), "-"], capture_output=True, text=True, check=True).stdout.split())
    with open(os.path.join(GOLDEN, "charts.json"), encoding="utf-8") as f:
        doc = json.load(f)
    for warning in doc["run"]["warnings"] + doc["phases"][0]["warnings"]:
        assert warning.replace("µ", "u") in text
    assert "6065" in text and "99.9 %" in text  # last done, and the axis of the latencies


def test_the_comparison_loads_nothing_and_needs_no_script(tmp_path):
    text = comparison()
    assert "<script" not in text and "http:" not in text and "https:" not in text
    answer = asked(tmp_path, text)
    assert answer["loaded"] == [] and answer["needed"] <= answer["width"]
