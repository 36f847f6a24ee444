/* Draws the charts of the page from the JSON that stands in it; dygraphs where it is there, SVG of its own where not. */
(function () {
"use strict";

var data = JSON.parse(document.getElementById("data").textContent);
var light = ["#1f5fbf", "#d55e00", "#1b7f3b", "#a1358f", "#b58900", "#0b8a8f", "#7a5230", "#d1495b", "#5b5bd6", "#6b7a00", "#00618a", "#8a4fff"];
var dark = ["#7fb0ff", "#ff9d5c", "#7fd49a", "#e58fd6", "#e6c34a", "#5fd0d4", "#c9a27c", "#ff8fa0", "#a5a5ff", "#c3d34f", "#6fc0e8", "#c3a2ff"];

var printing = false;

function isDark() {
	return !printing && window.matchMedia && matchMedia("(prefers-color-scheme: dark)").matches;
}

function color(i) {
	var list = isDark() ? dark : light;
	return list[i % list.length];
}

/* Of line number i from 0. A node has the same colour in all charts, all of them together that of the text. */
function lineColor(chart, i) {
	if (chart.ofAll === 1)
		return i === 0 ? variable("--text") : color(i - 1);
	return color(i);
}

function variable(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* Three significant digits, as in the tables. */
function number(v) {
	if (v === null || !isFinite(v))
		return "n/a";
	return v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0);
}

/* Latencies, microseconds. */
function span(us) {
	if (us < 1)
		return number(us * 1000) + " ns";
	if (us < 1000)
		return number(us) + " us";
	return us < 1e6 ? number(us / 1000) + " ms" : number(us / 1e6) + " s";
}

/* x of the percentile chart is -log10(1 - p): 1 is 90 %, 2 is 99 %. */
function percentile(x) {
	var p = 100 * (1 - Math.pow(10, -x));
	return p.toFixed(x <= 1 ? 0 : Math.max(0, Math.ceil(x) - 2)) + " %";
}

function xText(chart, x) {
	return chart.type === "latency" ? percentile(x) : (Math.round(x * 1000) / 1000) + " s";
}

function yText(chart, y) {
	return chart.type === "latency" ? span(y) : number(y) + " " + chart.unit;
}

function esc(text) {
	return String(text).replace(/[&<>"]/g, function (c) { return "&#" + c.charCodeAt(0) + ";"; });
}

/* Name and colour of each line; with values where the pointer is. */
function legend(chart, values, x) {
	var html = x === null ? "" : "<b>" + esc(xText(chart, x)) + "</b> ";
	for (var i = 1; i < chart.labels.length; i++) {
		html += "<span class=key style='--c:" + lineColor(chart, i - 1) + "'>" + esc(chart.labels[i]) +
		    (values && values[i] !== null && values[i] !== undefined ? " <b>" + yText(chart, values[i]) + "</b>" : "") + "</span>";
	}
	return html;
}

function latencyTicks() {
	return [0.30103, 1, 2, 3, 4, 5].map(function (x) { return { v: x, label: percentile(x) }; });
}

function drawDygraph(el, chart, key) {
	var colors = [];
	for (var i = 1; i < chart.labels.length; i++)
		colors.push(lineColor(chart, i - 1));
	var options = {
		labels: chart.labels, colors: colors, strokeWidth: 1.6, animatedZooms: false, connectSeparatedPoints: false,
		gridLineColor: variable("--grid"), axisLineColor: variable("--line"), axisLabelFontSize: 11, legend: "never",
		ylabel: chart.type === "latency" ? "" : chart.unit, yLabelWidth: 14, xRangePad: 4, yRangePad: 2,
		logscale: chart.type === "latency", includeZero: chart.type !== "latency", highlightCircleSize: 3,
		axes: {
			x: { axisLabelFormatter: function (x) { return xText(chart, x); }, pixelsPerLabel: 70 },
			y: { axisLabelWidth: 56, axisLabelFormatter: function (y) { return chart.type === "latency" ? span(y) : String(Math.round(y * 100) / 100); } }
		},
		highlightCallback: function (e, x, points, row) { key.innerHTML = legend(chart, chart.rows[row], x); },
		unhighlightCallback: function () { key.innerHTML = legend(chart, null, null); }
	};
	if (chart.type === "latency")
		options.axes.x.ticker = function (a, b) { return latencyTicks().filter(function (t) { return t.v >= a - 0.01 && t.v <= b + 0.01; }); };
	el.textContent = "";
	return new Dygraph(el, chart.rows, options);
}

function niceStep(range, count) {
	var raw = range / count, power = Math.pow(10, Math.floor(Math.log10(raw)));
	var unit = raw / power;
	return (unit > 5 ? 10 : unit > 2 ? 5 : unit > 1 ? 2 : 1) * power;
}

function ticksOf(low, high, count) {
	var step = niceStep(high - low || 1, count), list = [];
	for (var v = Math.ceil(low / step) * step; v <= high + step / 1e6; v += step)
		list.push(v);
	return list;
}

/* The same without dygraphs: lines, axes, no zoom. */
function drawSvg(el, chart, key) {
	var w = el.clientWidth || 480, h = el.clientHeight || 230, left = 58, bottom = 20, top = 6, right = 8;
	var log = chart.type === "latency", xs = chart.rows.map(function (r) { return r[0]; }), ys = [];
	chart.rows.forEach(function (r) { r.slice(1).forEach(function (v) { if (v !== null && (!log || v > 0)) ys.push(v); }); });
	if (!xs.length || !ys.length)
		return null;
	var x0 = xs[0], x1 = xs[xs.length - 1] || 1;
	var f = log ? Math.log10 : function (v) { return v; };
	var yMin = ys.reduce(function (a, b) { return Math.min(a, b); }), yMax = ys.reduce(function (a, b) { return Math.max(a, b); });
	var y0 = log ? Math.floor(f(yMin)) : 0, y1 = log ? Math.ceil(f(yMax)) : yMax * 1.05 || 1;
	if (y1 <= y0)
		y1 = y0 + 1;
	function px(x) { return left + (w - left - right) * (x - x0) / (x1 - x0 || 1); }
	function py(y) { return h - bottom - (h - top - bottom) * (f(y) - y0) / (y1 - y0); }
	var svg = "<svg viewBox='0 0 " + w + " " + h + "' style='height:" + h + "px'>";
	(log ? ticksOf(y0, y1, y1 - y0).map(function (e) { return Math.pow(10, e); }) : ticksOf(y0, y1, 5)).forEach(function (y) {
		svg += "<line class=grid x1=" + left + " x2=" + (w - right) + " y1=" + py(y) + " y2=" + py(y) + "></line><text text-anchor=end x=" +
		    (left - 5) + " y=" + (py(y) + 4) + ">" + esc(log ? span(y) : String(Math.round(y * 100) / 100)) + "</text>";
	});
	(log ? latencyTicks().map(function (t) { return t.v; }).filter(function (x) { return x <= x1; }) : ticksOf(x0, x1, 6)).forEach(function (x) {
		svg += "<line class=grid y1=" + top + " y2=" + (h - bottom) + " x1=" + px(x) + " x2=" + px(x) + "></line><text text-anchor=middle x=" +
		    px(x) + " y=" + (h - 5) + ">" + esc(xText(chart, x)) + "</text>";
	});
	for (var i = 1; i < chart.labels.length; i++) {
		var path = "", pen = false;
		chart.rows.forEach(function (r) {
			if (r[i] === null || (log && r[i] <= 0)) {
				pen = false;
				return;
			}
			path += (pen ? "L" : "M") + px(r[0]).toFixed(1) + " " + py(r[i]).toFixed(1);
			pen = true;
		});
		svg += "<path class=series stroke='" + lineColor(chart, i - 1) + "' d='" + path + "'></path>";
	}
	el.innerHTML = svg + "</svg>";
	return null;
}

function draw(el) {
	var chart = data[+el.dataset.phase][el.dataset.chart], key = el.nextElementSibling;
	if (el.graph)
		el.graph.destroy();
	key.innerHTML = legend(chart, null, null);
	el.graph = window.Dygraph && !printing ? drawDygraph(el, chart, key) : drawSvg(el, chart, key);
	el.drawn = true;
}

var charts = Array.prototype.slice.call(document.querySelectorAll(".chart"));

/* Long reports open at once: after the first ones a chart is drawn when it comes near the screen. */
charts.slice(0, 4).forEach(draw);
if (window.IntersectionObserver) {
	var seen = new IntersectionObserver(function (entries) {
		entries.forEach(function (entry) {
			if (!entry.isIntersecting)
				return;
			seen.unobserve(entry.target);
			if (!entry.target.drawn)
				draw(entry.target);
		});
	}, { rootMargin: "600px" });
	charts.slice(4).forEach(function (el) { seen.observe(el); });
} else {
	charts.slice(4).forEach(draw);
}

/* Paper is narrower than most screens, and a canvas drawn now would come too late: lines of SVG it is. */
window.addEventListener("beforeprint", function () {
	printing = true;
	document.querySelectorAll(".warnings details").forEach(function (el) { el.open = true; });
	charts.forEach(function (el) {
		el.style.width = "620px";
		draw(el);
	});
});
window.addEventListener("afterprint", function () {
	printing = false;
	charts.forEach(function (el) {
		el.style.width = "";
		draw(el);
	});
});
if (window.matchMedia)
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
		charts.forEach(function (el) { if (el.drawn) draw(el); });
	});
})();
