// SPDX-License-Identifier: MIT
// The page of a live view: one stream of lines from trace-ctl, drawn on a canvas.
"use strict";

const UNSURE = 2, LATE = 1;		// flags of an event: LIVE_UNSURE, LIVE_LATE
const BEGIN = 1, END = 2;		// kinds of an event: TSCT_KIND_*
const EVENTS_MAX = 50000, SPANS_MAX = 20000;
const THREADS = 6;			// threads of a node with own rows; others share one
const LABEL = 190, ROW = 22, AXIS = 20;	// sizes of labels, rows and axis, CSS pixels
const NARROWEST = 1e3, WIDEST = 60e9;	// limits of the length of the shown time, ns

const nodes = [];	// by number: { name, rows: [tid...] }
const names = [];	// names of events, by number
const threads = new Map();	// maps "node:tid" to the thread's name
const open = new Map();		// maps "node:tid:name" to the times of begun spans
let events = [];	// { node, t, error, cpu, tid, kind, name, flags, row }
let spans = [];		// { node, row, from, to, name }
let base = 0n;		// time of t = 0, ns since 1970
let counts = null, states = null, skipped = 0, ended = false;
// The present time on the axis is that of the browser's clock plus `ahead`, ns.
const view = { span: 10e9, to: 0, paused: false, ahead: -Infinity };

const canvas = document.getElementById("chart");
const ctx = canvas.getContext("2d");
const tip = document.getElementById("tip");

function byId(id) {
	return document.getElementById(id);
}

// ---- lines of the stream ---------------------------------------------------------

// Returns the row of a thread within its node: only the first threads have their own rows.
function rowOf(node, tid) {
	const rows = nodes[node].rows;
	let row = rows.indexOf(tid);

	if (row < 0 && rows.length < THREADS)
		row = rows.push(tid) - 1;
	return row < 0 ? THREADS : row;
}

function addSpan(e) {
	const key = `${e.node}:${e.tid}:${names[e.name]}`;
	const begun = open.get(key) || [];

	if (e.kind === BEGIN) {
		begun.push(e.t);
		open.set(key, begun);
	} else if (begun.length) {
		spans.push({ node: e.node, row: e.row, from: begun.pop(), to: e.t,
			name: names[e.name] });
	}
}

// Marks recent events of other nodes whose order to event e is unknown.
function markPartners(e) {
	let k = events.length - 1;

	for (let n = 0; k >= 0 && n < 200; k--, n++) {
		const other = events[k];

		if (other.node !== e.node && (other.error === null || e.error === null ||
		    e.t - other.t <= e.error + other.error))
			other.flags |= UNSURE;
	}
}

function addEvent([, node, t, error, cpu, tid, kind, name, flags]) {
	const e = { node, t, error, cpu, tid, kind, name, flags, row: rowOf(node, tid) };

	if (flags & UNSURE)
		markPartners(e);
	events.push(e);
	if (kind === BEGIN || kind === END)
		addSpan(e);
	view.ahead = Math.max(view.ahead, t - performance.now() * 1e6);
}

function take(line) {
	if (line.nodes)
		line.nodes.forEach(name => nodes.push({ name, rows: [] }));
	if (line.names)
		names.push(...line.names);
	for (const [node, tid, name] of line.threads || [])
		threads.set(`${node}:${tid}`, name);
	base = BigInt(line.base_ns);
	line.events.forEach(addEvent);
	if (events.length > EVENTS_MAX)
		events = events.slice(-EVENTS_MAX / 2);
	if (spans.length > SPANS_MAX)
		spans = spans.slice(-SPANS_MAX / 2);
	skipped = line.skipped;
	counts = line.counts || counts;
	states = line.status || states;
	if (line.counts)
		showNodes();
	if (line.end) {
		ended = true;
		pause(true);
		byId("pause").disabled = true;
		source.close();
		showState("ended");
	}
}

// ---- text ------------------------------------------------------------------------------

function duration(ns) {
	const size = Math.abs(ns);

	return size < 1e3 ? `${Math.round(ns)} ns` : size < 1e6 ? `${(ns / 1e3).toFixed(2)} µs` :
		size < 1e9 ? `${(ns / 1e6).toFixed(2)} ms` : `${(ns / 1e9).toFixed(2)} s`;
}

function timeText(t) {
	const ns = base + BigInt(Math.round(t));
	const date = new Date(Number(ns / 1000000n));

	return date.toISOString().slice(11, 19) + "." +
		String(ns % 1000000000n).padStart(9, "0") + " UTC";
}

function threadText(node, tid) {
	const name = threads.get(`${node}:${tid}`);

	return name ? `${name} (${tid})` : `thread ${tid}`;
}

function showState(text, bad) {
	byId("state").textContent = text;
	byId("state").className = bad ? "bad" : "";
}

const COLUMNS = [
	["node", n => n.name], ["recorded", (n, s) => s.events ?? "-"],
	["shown", (n, s, c) => c.shown], ["dropped", (n, s, c) => c.dropped],
	["lost", (n, s, c) => c.lost], ["late", (n, s, c) => c.late],
	["offset", (n, s) => s.offset_ns === undefined ? "-" : duration(s.offset_ns)],
	["bound", (n, s) => typeof s.error_ns === "number" ? duration(s.error_ns) : "-"],
	["behind", (n, s, c) => duration(c.behind_ns)],
	["state", (n, s) => s.why ? `FAILED: ${s.why}` : s.state ?? ""],
];

function row(cells, tag) {
	const tr = document.createElement("tr");

	for (const text of cells) {
		const cell = document.createElement(tag);

		cell.textContent = text;
		tr.append(cell);
	}
	return tr;
}

function showNodes() {
	document.querySelector("thead").replaceChildren(row(COLUMNS.map(c => c[0]), "th"));
	byId("nodes").replaceChildren(...nodes.map((n, i) => {
		const tr = row(COLUMNS.map(c => c[1](n, states?.[i] ?? {}, counts[i])), "td");

		tr.className = states?.[i]?.why ? "bad" : "";
		return tr;
	}));
}

// ---- drawing -----------------------------------------------------------------------------

function colourOf(name) {
	let hash = 0;

	for (const c of name)
		hash = (hash * 31 + c.codePointAt(0)) % 360;
	return `hsl(${hash} 60% 48%)`;
}

const colours = new Map();

function colour(name) {
	if (!colours.has(name))
		colours.set(name, colourOf(name));
	return colours.get(name);
}

const x = t => LABEL + (t - view.to + view.span) / view.span * (canvas.clientWidth - LABEL);
const timeAt = px => view.to - view.span +
	(px - LABEL) / (canvas.clientWidth - LABEL) * view.span;

// Sets the top of each node's first row; returns the height of all nodes, CSS pixels.
function lay() {
	let y = AXIS;

	for (const n of nodes) {
		n.y = y;
		y += ROW * Math.max(1, n.rows.length + (n.rows.length === THREADS ? 1 : 0)) + 6;
	}
	return Math.max(y, 80);
}

function resize(height) {
	const dpr = devicePixelRatio || 1, width = canvas.clientWidth;

	if (canvas.width !== Math.round(width * dpr) ||
	    canvas.height !== Math.round(height * dpr)) {
		canvas.style.height = `${height}px`;
		canvas.width = Math.round(width * dpr);
		canvas.height = Math.round(height * dpr);
	}
	ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
	ctx.clearRect(0, 0, width, height);
}

// Draws lines at round times. Their labels have as many decimals of seconds as differ.
function drawAxis(style, height) {
	const digits = Math.max(0, 9 - Math.floor(Math.log10(view.span / 2)));
	const step = 10 ** (9 - digits) * (digits || view.span < 2e10 ? 1 : 10);
	const first = Number(base % BigInt(step));
	const from = view.to - view.span + first;

	for (let t = Math.ceil(from / step) * step - first; t <= view.to; t += step) {
		ctx.fillStyle = style.getPropertyValue("--line");
		ctx.fillRect(x(t), AXIS - 4, 1, height);
		ctx.fillStyle = style.getPropertyValue("--dim");
		ctx.fillText(timeText(t).slice(0, digits ? 9 + digits : 8), x(t) + 3, AXIS - 7);
	}
}

function drawRows(style) {
	for (const [i, n] of nodes.entries()) {
		ctx.fillStyle = style.getPropertyValue("--line");
		ctx.fillRect(0, n.y - 3, canvas.clientWidth, 1);
		ctx.fillStyle = style.getPropertyValue("--text");
		if (!n.rows.length)
			ctx.fillText(n.name, 4, n.y + 15);
		n.rows.forEach((tid, k) => ctx.fillText(
			`${k ? "  " : n.name + " "}${threadText(i, tid)}`, 4, n.y + k * ROW + 15,
			LABEL - 8));
		if (n.rows.length === THREADS)
			ctx.fillText("  others", 4, n.y + THREADS * ROW + 15, LABEL - 8);
	}
}

function drawSpans() {
	for (const s of spans) {
		const from = Math.max(x(s.from), LABEL), to = x(s.to);

		if (to < LABEL || s.from > view.to)
			continue;
		ctx.globalAlpha = 0.5;
		ctx.fillStyle = colour(s.name);
		ctx.fillRect(from, nodes[s.node].y + s.row * ROW + 3, Math.max(to - from, 1),
			ROW - 8);
		ctx.globalAlpha = 1;
	}
}

function drawEvent(e) {
	const at = x(e.t), y = nodes[e.node].y + e.row * ROW + ROW / 2 - 1;

	ctx.fillStyle = ctx.strokeStyle = colour(names[e.name]);
	if (!(e.flags & UNSURE)) {
		ctx.fillRect(at - 1, y - 7, 2, 14);
		return;
	}
	if (e.error !== null) {
		const left = Math.max(x(e.t - e.error), LABEL);

		ctx.fillRect(left, y, x(e.t + e.error) - left, 1);
	}
	ctx.beginPath();
	ctx.arc(at, y, 4, 0, 7);
	ctx.stroke();
}

function draw() {
	const style = getComputedStyle(document.documentElement), height = lay();

	if (!view.paused && view.ahead > -Infinity)
		view.to = performance.now() * 1e6 + view.ahead;
	resize(height);
	ctx.font = "12px system-ui, sans-serif";
	drawAxis(style, height);
	drawRows(style);
	drawSpans();
	for (const e of events)
		if (e.t >= view.to - view.span && e.t <= view.to)
			drawEvent(e);
	byId("where").textContent = base ? `${timeText(view.to)}, ${duration(view.span)} in view` +
		(skipped ? `, ${skipped} events skipped by this page` : "") : "";
	requestAnimationFrame(draw);
}

// ---- input -------------------------------------------------------------------------------

function pause(on) {
	view.paused = on || ended;
	byId("pause").textContent = view.paused ? "Follow" : "Pause";
}

function zoom(px, factor) {
	const at = view.paused ? timeAt(Math.max(px, LABEL)) : view.to;
	const span = Math.min(Math.max(view.span * factor, NARROWEST), WIDEST);

	view.to = at + (view.to - at) * span / view.span;
	view.span = span;
}

// Returns the event or span under the pointer.
function pick(px, py) {
	const near = events.filter(e => Math.abs(x(e.t) - px) < 5 &&
		Math.abs(nodes[e.node].y + e.row * ROW + ROW / 2 - py) < ROW / 2);
	const found = near.sort((a, b) => Math.abs(x(a.t) - px) - Math.abs(x(b.t) - px))[0];

	return found || spans.find(s => x(s.from) <= px && x(s.to) >= px &&
		Math.abs(nodes[s.node].y + s.row * ROW + ROW / 2 - py) < ROW / 2);
}

function describe(item) {
	if (item.from !== undefined)
		return `${item.name}: ${duration(item.to - item.from)}`;
	return `${names[item.name]}\n${nodes[item.node].name}, ` +
		`${threadText(item.node, item.tid)}, CPU ${item.cpu}\n${timeText(item.t)} ± ` +
		(item.error === null ? "unknown" : duration(item.error)) +
		(item.flags & UNSURE ? "\norder to an event of another node is unknown" : "") +
		(item.flags & LATE ? "\narrived late" : "");
}

canvas.addEventListener("wheel", ev => {
	ev.preventDefault();
	zoom(ev.offsetX, ev.deltaY > 0 ? 1.25 : 0.8);
}, { passive: false });

canvas.addEventListener("pointermove", ev => {
	if (ev.buttons) {
		pause(true);
		view.to -= ev.movementX / (canvas.clientWidth - LABEL) * view.span;
		return;
	}
	const item = pick(ev.offsetX, ev.offsetY);

	tip.hidden = !item;
	if (!item)
		return;
	tip.textContent = describe(item);
	tip.style.left = `${Math.min(ev.clientX + 12, innerWidth - 300)}px`;
	tip.style.top = `${ev.clientY + 12}px`;
});
canvas.addEventListener("pointerleave", () => {
	tip.hidden = true;
});
byId("pause").addEventListener("click", () => pause(!view.paused));

const source = new EventSource("events");

source.onopen = () => showState("live");
source.onmessage = message => take(JSON.parse(message.data));
// A new connection receives all stored events again.
source.onerror = () => {
	source.close();
	if (!ended)
		showState("connection lost; reload the page", true);
};
requestAnimationFrame(draw);
