// SPDX-License-Identifier: MIT
// Makes the rows: each node, with its CPUs, counters and threads.

const LANE = 17, ROW_PAD = 5, HEAD = 30, CPU_ROW = 24, COUNTER_ROW = 46, PROCESS = 22,
	GAP_TOP = 16;

// Groups the items 0 to n - 1 by key(i). Items in a group keep their order.
function collect(n, key) {
	const lists = new Map();

	for (let i = 0; i < n; i++) {
		const k = key(i);
		let list = lists.get(k);

		if (!list)
			lists.set(k, list = []);
		list.push(i);
	}
	return lists;
}

// Sorts spans by their end: the page has them in the order in which their ends became known.
function toLane(ids) {
	ids.sort((a, b) => S.to[a] - S.to[b] || a - b);
	return { ids: Int32Array.from(ids),
		 from: Float64Array.from(ids, i => S.from[i]),
		 to: Float64Array.from(ids, i => S.to[i]) };
}

function toTicks(ids) {
	return { ids: Int32Array.from(ids), t: Float64Array.from(ids, i => M.t[i]) };
}

// Adds a strip to the sums of its row.
function addStrip(sums, strip) {
	for (const { bin, count: n, busy } of strip.bins) {
		sums.count[bin] = (sums.count[bin] || 0) + n;
		sums.busy[bin] = (sums.busy[bin] || 0) + busy;
	}
	sums.max = Math.max(sums.max, ...strip.bins.map(b => sums.count[b.bin]));
	sums.parts.push(strip);
	return sums;
}

const stripsAt = collect(STRIPS.length, i => `${STRIPS[i].type}/${STRIPS[i].row}`);
const gapsAt = collect(D.gaps.length, i => D.gaps[i][0]);

function stripsOf(type, row) {
	const strips = stripsAt.get(`${type}/${row}`);

	if (!strips)
		return null;
	return strips.map(i => STRIPS[i]).reduce(addStrip,
						 { count: [], busy: [], max: 1, parts: [] });
}

// ---- counters --------------------------------------------------------------

function isDrawn(field) {
	return field.type < T_STRING && field.format !== FORMAT_CALL;
}

// Returns true for a counter's event, which is drawn in the counter's row, not in the thread's.
function hasOwnRow(i) {
	return M.kind[i] === MOMENT_COUNTER && D.defs[M.def[i]].fields.some(isDrawn);
}

// Collects the points of each counter: one row per node, counter and numeric field.
function addPoints(counters) {
	for (let i = 0; i < M.n; i++) {
		if (M.kind[i] !== MOMENT_COUNTER)
			continue;
		const def = D.defs[M.def[i]], node = D.threads[M.row[i]].node;

		fieldsOf(momentEdge(i)).forEach(([, , value], k) => {
			if (value === undefined || !isDrawn(def.fields[k]))
				return;
			const c = counterOf(counters, node, M.def[i], k);

			c.t.push(M.t[i]);
			c.v.push(Number(value));
			c.ids.push(i);
		});
	}
}

function counterOf(counters, node, def, field) {
	const key = `${node}/${def}/${field}`;
	let c = counters.get(key);

	if (!c) {
		c = { node, def, field, t: [], v: [], ids: [], bins: null };
		counters.set(key, c);
	}
	return c;
}

function rangeOf(c) {
	let low = Infinity, high = -Infinity;
	const take = v => {
		if (isFinite(v)) {
			low = Math.min(low, v);
			high = Math.max(high, v);
		}
	};

	c.v.forEach(take);
	for (const bin of c.bins || []) {
		take(bin.min);
		take(bin.max);
	}
	c.empty = low > high;
	c.low = c.empty || (low > 0 && low < high) ? 0 : low;
	c.high = c.empty ? 0 : high;
	if (!(c.high > c.low))	// adding 1 does not change a number above 2^53
		c.high = c.low + Math.max(1, Math.abs(c.low) * 1e-6);
}

// Returns times, sorted and disjoint: of losses in a counter's channel, and of bins whose values
// are only in sums. From the start of each on, the counter's last drawn value may not hold.
function unknownValues(c, losses) {
	const all = (losses.get(`${c.node}/${D.defs[c.def].channel}`) || []).map(i =>
		[D.gaps[i][2], D.gaps[i][3]]), apart = [];

	for (const { bin } of c.bins || [])
		all.push([bin * D.binWidth, (bin + 1) * D.binWidth]);
	for (const [from, to] of all.sort((a, b) => a[0] - b[0])) {
		const last = apart[apart.length - 1];

		if (last && from <= last[1])
			last[1] = Math.max(last[1], to);
		else
			apart.push([from, to]);
	}
	return { from: apart.map(p => p[0]), to: apart.map(p => p[1]) };
}

function makeCounters() {
	const counters = new Map(), losses = collect(D.gaps.length, i =>
		`${D.cpus[D.gaps[i][0]].node}/${D.gaps[i][1]}`);

	addPoints(counters);
	for (const s of STRIPS)
		if (s.type === STRIP_COUNTER)
			counterOf(counters, s.row, s.def, s.field).bins = s.bins;
	for (const c of counters.values()) {
		rangeOf(c);
		c.unknown = unknownValues(c, losses);
		c.t = Float64Array.from(c.t);
		c.v = Float64Array.from(c.v);
	}
	return [...counters.values()];
}

function counterTitle(c) {
	const def = D.defs[c.def], drawn = def.fields.filter(isDrawn);

	return def.name + (drawn.length > 1 ? "." + def.fields[c.field].name : "");
}

// ---- all rows --------------------------------------------------------------

// Returns an array of lanes, by the depth of their spans; null: no spans have this depth
function lanesOf(spans) {
	const lanes = [];

	for (const i of spans || [])
		(lanes[S.lane[i]] = lanes[S.lane[i]] || []).push(i);
	return Array.from(lanes, ids => ids ? toLane(ids) : null);
}

function threadRow(index, spans, ticks, runs, states) {
	const thread = D.threads[index], lanes = lanesOf(spans.get("t" + index));
	const ids = ticks.get(index), strip = stripsOf(STRIP_THREAD, index);
	const own = runs.get(index);
	const head = (strip ? 15 : 0) + (ids ? 15 : 0) + (states ? STATE_BAND + 2 : own ? 4 : 0);

	return { type: "thread", node: thread.node, index, thread, lanes,
		 ticks: ids ? toTicks(ids) : null, strip,
		 states, runs: own && !states ? toLane(own) : null,
		 label: threadTitle(thread),
		 sub: `${count(thread.events)} events`,
		 height: Math.max(CPU_ROW, head + LANE * lanes.length + ROW_PAD + 2) };
}

// Returns the times in which the running thread is unknown, [[from, to], ...], for a CPU without
// a strip: spans in a strip are not known individually.
function unknownOf({ from, to }) {
	const unknown = [];
	let last = 0;

	from.forEach((t, i) => {
		if (t > last)
			unknown.push([last, t]);
		last = Math.max(last, to[i]);
	});
	if (last < D.span)
		unknown.push([last, D.span]);
	return unknown;
}

// Returns how many events were lost. For a truncated file, the number at its end is unknown.
function lostText(gaps) {
	const lost = gaps.reduce((n, g) => n + g[4], 0);

	return gaps.every(g => g[4]) ? lost ? count(lost) + " lost" : "" :
		lost ? count(lost) + " or more lost" : "end unknown";
}

function cpuRow(index, spans) {
	const { node, cpu } = D.cpus[index];
	const gaps = (gapsAt.get(index) || []).map(i => D.gaps[i]);
	const lanes = lanesOf(spans.get("c" + index)), strip = stripsOf(STRIP_CPU, index);

	if (!lanes.length && !strip && !gaps.some(g => g[4]))
		return null;
	return { type: "cpu", node, index, cpu, lanes, gaps, strip,
		 unknown: lanes[0] && !strip ? unknownOf(lanes[0]) : [],
		 label: cpu < 0 ? "other CPUs" : "CPU " + cpu,
		 sub: lostText(gaps),
		 height: CPU_ROW };
}

function makeNode(index) {
	const node = D.nodes[index];
	const rates = D.rates.nodes.find(([n]) => n === index), bins = rates ? rates[1] : [];
	const sum = count(node.events) + " events";

	return { type: "node", node: index, label: node.name, bins,
		 sub: (node.sub ? `${clean(node.sub)}, ${sum}` : sum) +
			(rates || !node.events ? "" : ", no curve"),
		 peak: Math.max(1, ...bins), height: HEAD, open: true, rows: [] };
}

// Groups the rows of threads: a process with several threads becomes a row that can be folded.
function groupRows(threads) {
	const groups = new Map(), rows = [];

	for (const row of threads) {
		const { node, process } = row.thread, key = process ? `${node}/${process}` : row;
		let group = groups.get(key);

		if (!group) {
			groups.set(key, group = { type: "process", node, label: process, open: true,
						  height: PROCESS, rows: [] });
			rows.push(group);
		}
		group.rows.push(row);
	}
	return rows.map(group => {
		if (group.rows.length === 1)
			return group.rows[0];
		const events = group.rows.reduce((n, row) => n + row.thread.events, 0);

		group.rows.forEach(row => { row.group = group; });
		group.sub = `${count(group.rows.length)} threads, ${count(events)} events`;
		return group;
	});
}

// Returns the rows of a node, including the rows of threads in its processes.
function allRows(node) {
	return node.rows.flatMap(row => row.rows ? [row, ...row.rows] : [row]);
}

function byThread(a, b) {
	return !a.thread.tid - !b.thread.tid || (a.thread.tid < 0) - (b.thread.tid < 0) ||
		a.thread.tid - b.thread.tid || a.thread.cpu - b.thread.cpu;
}

function makeRows() {
	const spans = collect(S.n, i => ((S.type[i] & 3) === SPAN_RUN ? "c" : "t") + S.row[i]);
	const ticks = collect(M.n, i => hasOwnRow(i) ? -1 : M.row[i]);
	const runs = collect(S.n, i => (S.type[i] & 3) === SPAN_RUN ? S.name[i] : -1);
	const nodes = D.nodes.map((_, i) => makeNode(i));
	const states = collect(ST.n, i => ST.row[i]);
	const sums = collect(STRIPS.length,
			     i => STRIPS[i].type === STRIP_STATE ? STRIPS[i].row : -1);
	const threads = D.threads.map((_, i) => threadRow(i, spans, ticks, runs,
		statesOf(states.get(i), sums.get(i))));

	D.cpus.forEach((_, i) => {
		const row = cpuRow(i, spans);

		if (row)
			nodes[row.node].rows.push(row);
	});
	for (const c of makeCounters())
		nodes[c.node].rows.push({ type: "counter", node: c.node, counter: c,
					  label: counterTitle(c), sub: "",
					  height: COUNTER_ROW });
	const drawn = threads.filter(row => row.lanes.length || row.ticks || row.strip ||
		row.states || row.runs && row.thread.tid);

	for (const row of groupRows(drawn.sort(byThread)))
		nodes[row.node].rows.push(row);
	return nodes.filter(node => node.rows.length || D.nodes.length === 1);
}

// Sets the position of each row. Returns the visible rows from the top.
function placeRows(nodes) {
	const rows = [];
	let y = 0;

	const place = row => {
		row.y = y;
		y += row.height;
		rows.push(row);
		if (row.rows && row.open)
			row.rows.forEach(place);
	};

	nodes.forEach(place);
	return rows;
}
