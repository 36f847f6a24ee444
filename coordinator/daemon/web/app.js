/* What lockstepd tells, drawn. Texts only ever become text nodes: nothing that a peer says is markup. */
"use strict";
(function () {
	const MIB = 1048576;
	const SHOWN = 200; /* nodes in a table */
	const KEPT = 600;  /* points of the chart */
	const SLOW = 0.75; /* of the median rate, as on the terminal */
	const LINES = ["all", "slowest", "fastest"]; /* of phases that mix reads and writes: each of them, all nodes together */
	const COLOURS = ["#1f5fbf", "#d1590a", "#1b7f3b"];
	let chart = null;
	let lines = LINES;
	let points = [];
	let phase = "";

	const element = (id) => document.getElementById(id);

	function text(id, value) {
		element(id).textContent = value;
	}

	function number(value) {
		if (value === null || value === undefined || !isFinite(value))
			return "n/a";
		if (value >= 1000)
			return Math.round(value).toLocaleString("en-US");
		return value.toPrecision(3);
	}

	function duration(ns) {
		const s = ns / 1e9;
		if (ns === null || ns === undefined)
			return "n/a";
		if (s < 1e-3)
			return number(ns / 1e3) + " us";
		if (s < 1)
			return number(ns / 1e6) + " ms";
		if (s < 100)
			return number(s) + " s";
		return s < 7200 ? number(s / 60) + " min" : number(s / 3600) + " h";
	}

	function row(cells, className) {
		const tr = document.createElement("tr");
		if (className)
			tr.className = className;
		for (const cell of cells) {
			const td = document.createElement("td");
			if (cell !== null && typeof cell === "object" && cell.link) {
				const a = document.createElement("a");
				a.href = cell.link;
				a.textContent = cell.text;
				td.append(a);
			} else if (cell !== null && typeof cell === "object") {
				td.className = "text";
				td.textContent = cell.left;
			} else {
				td.textContent = cell;
			}
			tr.append(td);
		}
		return tr;
	}

	async function get(path) {
		/* the page may have been opened with name and token in its address, which fetch refuses */
		const answer = await fetch(location.origin + path, { credentials: "same-origin", cache: "no-store" });
		if (!answer.ok)
			throw new Error(path + ": " + answer.status);
		return answer.json();
	}

	/* --- the run that goes on --- */

	function median(values) {
		const sorted = values.slice().sort((a, b) => a - b);
		const middle = sorted.length >> 1;
		if (sorted.length === 0)
			return 0;
		return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
	}

	function isGone(node) {
		return node.state === "failed" || node.state === "lost" || node.state === "away";
	}

	function trouble(node, typical) {
		if ((node.stalls || []).length > 0)
			return "hangs";
		if (isGone(node))
			return node.state;
		return node.state === "running" && node.pace < SLOW * typical ? "slow" : "";
	}

	function troubles(nodes) {
		const items = [];
		for (const node of nodes)
			for (const s of node.stalls || [])
				items.push(`${node.node} worker ${s.worker}: no progress for ${duration(s.since_ns)}, in ` +
				    `${s.call || "?"} of ${s.file || "?"}${s.state ? ", state " + s.state : ""}`);
		element("troubles").replaceChildren(...items.slice(0, 20).map((item) => {
			const li = document.createElement("li");
			li.textContent = item;
			return li;
		}));
	}

	/* The names of the lines, and where the pointer stands their values. dygraphs' own legend writes styles, which the policy forbids. */
	function legend(x, shown) {
		element("legend").replaceChildren(...lines.map((name, i) => {
			const span = document.createElement("span");
			const at = (shown || []).find((s) => s.name === name);
			span.className = "key";
			span.style.setProperty("--c", COLOURS[i]);
			span.textContent = name + (at ? " " + number(at.yval) : "");
			return span;
		}));
	}

	if (typeof Dygraph !== "undefined")
		Dygraph.PLUGINS = Dygraph.PLUGINS.filter((p) => p !== Dygraph.Plugins.Legend);

	/* Reads and writes are never added up. */
	function opsOf(nodes) {
		return [...new Set(nodes.flatMap((n) => (n.by_op || []).map((o) => o.op)))];
	}

	function sumOf(nodes, op) {
		return nodes.flatMap((n) => n.by_op || []).filter((o) => o.op === op).reduce((sum, o) => sum + o.bytes_per_s / MIB, 0);
	}

	function setLines(wanted) {
		if (wanted.join() === lines.join())
			return;
		lines = wanted;
		points = [];
		if (chart !== null)
			chart.destroy();
		chart = null;
	}

	function drawChart(run, nodes, unit) {
		const key = [run.run, run.phase, run.repetition, run.attempt].join(" ");
		const ops = opsOf(nodes);
		const total = nodes.reduce((sum, n) => sum + (n.rate || 0), 0);
		const running = nodes.filter((n) => n.state === "running" && isFinite(n.pace)).map((n) => n.rate);
		setLines(ops.length > 0 ? ops : LINES);
		if (key !== phase) {
			phase = key;
			points = [];
		}
		if (run.elapsed_ns === null || run.elapsed_ns === undefined || running.length === 0)
			return;
		if (points.length > 0 && run.elapsed_ns / 1e9 <= points[points.length - 1][0])
			return;
		const values = ops.length > 0 ? ops.map((op) => sumOf(nodes, op)) : [total, Math.min(...running), Math.max(...running)];
		points.push([run.elapsed_ns / 1e9, ...values]);
		if (points.length > KEPT)
			points.shift();
		text("chart-title", (ops.length > 0 ? "All nodes together, each operation apart, " : "All nodes together, slowest and fastest node, ") +
		    unit + ", over seconds of the phase");
		if (typeof Dygraph === "undefined")
			return;
		if (chart === null) {
			legend();
			chart = new Dygraph(element("chart"), points, {
				labels: ["s"].concat(lines), colors: COLOURS.slice(0, lines.length),
				includeZero: true, drawGrid: true, strokeWidth: 1.5,
				highlightCallback: (event, x, shown) => legend(x, shown), unhighlightCallback: () => legend(),
				axes: { y: { valueFormatter: number } },
			});
		} else {
			chart.updateOptions({ file: points });
		}
	}

	function showLive(run) {
		const live = run !== null && run.run;
		element("live").hidden = !live;
		if (!live)
			return;
		const nodes = run.nodes || [];
		const apart = opsOf(nodes).length > 0;
		const inBytes = apart || nodes.some((n) => n.bytes_per_s > 0);
		for (const n of nodes) {
			n.rate = apart ? null : inBytes ? n.bytes_per_s / MIB : n.ops_per_s;
			/* to hold nodes against each other, never shown */
			n.pace = apart ? (n.by_op || []).reduce((sum, o) => sum + o.ops_per_s, 0) : n.rate;
		}
		const unit = inBytes ? "MiB/s" : "op/s";
		const each = (n, what) => (n.by_op || []).map((o) => `${o.op} ${what(o)}`).join(", ") || "n/a";
		const typical = median(nodes.filter((n) => n.state === "running" && isFinite(n.pace)).map((n) => n.pace));
		text("live-title", `${run.run}: ${run.title || ""}`);
		text("live-state", `${run.state}, phase ${Math.min(run.phases_done + 1, run.phases_total)} of ${run.phases_total}` +
		    (run.elapsed_ns ? `, ${duration(run.elapsed_ns)}` : "") + (run.left_ns ? `, ${duration(run.left_ns)} left` : ""));
		element("live-progress").value = run.progress || 0;
		troubles(nodes);
		drawChart(run, nodes, unit);
		const order = nodes.map((n, i) => [trouble(n, typical) ? 0 : 1, i, n]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
		element("live-nodes").replaceChildren(...order.slice(0, SHOWN).map(([, , n]) => {
			const bad = trouble(n, typical);
			return row([n.node, { left: n.state + (bad && bad !== n.state ? ", " + bad : "") },
				`${n.workers_active}/${n.workers}`,
				apart ? each(n, (o) => number(o.bytes_per_s / MIB) + " " + unit) : number(n.rate) + " " + unit,
				apart ? each(n, (o) => number(o.ops_per_s)) : number(n.ops_per_s)], bad ? "trouble" : "");
		}));
		text("live-more", nodes.length > SHOWN ? `and ${nodes.length - SHOWN} more nodes` : "");
	}

	/* --- lists --- */

	function showRuns(answer) {
		element("runs").replaceChildren(...answer.runs.map((r) => row([
			{ link: "/run/" + encodeURIComponent(r.id), text: r.id }, { left: r.name }, { left: r.state },
			{ left: (r.started_at || "").replace("T", " ").slice(0, 19) }, duration(r.duration_ns), r.nodes,
			`${r.phases_done}/${r.phases_total}`, { left: (r.tags || []).join(", ") }, { left: r.note || r.reason || "" }])));
	}

	function showNodes(answer) {
		const connected = answer.nodes.filter((n) => n.connected).length;
		text("nodes-about", `${connected} of ${answer.nodes.length} known nodes are connected`);
		element("nodes").replaceChildren(...answer.nodes.slice(0, 1000).map((n) => row([n.name,
			{ left: n.connected ? "yes" : "no" }, { left: n.address || "" }, duration(n.silent_ns),
			duration(n.clock_uncertainty_ns), { left: n.run || "" }, { left: n.version || "" }], n.connected ? "" : "trouble")));
		text("about", `lockstepd ${answer.version} (${answer.build})`);
		element("about").className = "soft";
	}

	/* --- again and again, one question at a time, and less often when nobody looks --- */

	function poll(path, seconds, show) {
		const again = async () => {
			try {
				if (!document.hidden)
					show(await get(path));
			} catch (error) {
				text("about", "lockstepd does not answer: " + error.message);
				element("about").className = "offline";
			}
			setTimeout(again, seconds * 1000);
		};
		again();
	}

	poll("/api/live", 1, showLive);
	poll("/api/nodes", 5, showNodes);
	poll("/api/runs", 10, showRuns);
})();
