// SPDX-License-Identifier: MIT
// Finds the item under the pointer, and describes it.

function rowAt(y) {
	const at = y - View.top + View.scroll;

	return y < View.top ? null :
		View.rows.find(row => at >= row.y && at < row.y + row.height) || null;
}

// Returns the event that is nearest to the pointer, if it is within 5 pixels.
function pickTick(row, x) {
	const { t, ids } = row.ticks, i = above(t, View.t(x));
	let best = null, least = 5;

	for (const k of [i - 1, i]) {
		const far = k >= 0 && k < t.length ? Math.abs(View.x(t[k]) - x) : Infinity;

		if (far < least) {
			least = far;
			best = ids[k];
		}
	}
	return best;
}

// Returns the span at the pointer or, if there is none, the nearest one within 2 pixels.
function pickSpan(lane, x) {
	const t = View.t(x), px = 2 / View.scale;
	let best = null, least = Infinity;

	for (let k = above(lane.to, t - px, true);
	     k < lane.ids.length && lane.from[k] <= t + px; k++) {
		const far = Math.max(lane.from[k] - t, t - lane.to[k], 0);

		if (far < least) {
			least = far;
			best = lane.ids[k];
		}
		if (!far)
			break;
	}
	return best;
}

function pickGap(row, x) {
	const t = View.t(x), px = 3 / View.scale;

	return row.gaps.find(gap => gap[2] <= t && gap[3] >= t) ||
		row.gaps.find(gap => gap[2] - px <= t && gap[3] + px >= t) || null;
}

function pickStrip(row, x) {
	const bin = Math.floor(View.t(x) / D.binWidth);
	const parts = row.strip.parts.map(part =>
		[part, part.bins.find(b => b.bin === bin)]).filter(p => p[1]);

	return parts.length ? { bin, parts } : null;
}

function pickThread(row, x, inRow) {
	let at = 3;

	if (row.strip) {
		if (inRow < at + 14) {
			const strip = pickStrip(row, x);

			return strip ? { strip } : null;
		}
		at += 15;
	}
	if (row.ticks) {
		if (inRow < at + 14) {
			const moment = pickTick(row, x);

			return moment === null ? null : { moment };
		}
		at += 15;
	}
	if (row.states) {
		if (inRow < at + STATE_BAND + 1)
			return pickState(row.states, x);
		at += STATE_BAND + 2;
	}
	at += row.runs ? 4 : 0;
	const lane = row.lanes[Math.floor((inRow - at) / LANE)];
	const span = lane ? pickSpan(lane, x) : null;

	return span === null ? null : { span };
}

// Losses are drawn across the lower part of a CPU's row, at GAP_TOP.
function pickCpu(row, x, inRow) {
	const gap = row.gaps.length ? pickGap(row, x) : null;

	if (gap && inRow >= GAP_TOP)
		return { gap };
	for (const lane of row.lanes) {
		const span = lane ? pickSpan(lane, x) : null;

		if (span !== null)
			return { span };
	}
	if (gap)
		return { gap };
	const strip = row.strip ? pickStrip(row, x) : null;
	const t = View.t(x), unknown = row.unknown.find(([from, to]) => from <= t && t < to);

	return strip ? { strip } : unknown ? { unknown } : null;
}

function pickCounter(row, x) {
	const c = row.counter, t = View.t(x), i = above(c.t, t) - 1;

	if (i >= 0 && c.t.length)
		return { moment: c.ids[i], value: c.v[i] };
	const bin = c.bins && c.bins.find(b => b.bin === Math.floor(t / D.binWidth));

	return bin ? { counterBin: bin, counter: c } : null;
}

// Returns the arrow that is nearest to the pointer, if its curve is within 8 pixels.
function pickArrow(x, y) {
	let best = null, least = 8;

	for (const i of View.arrows) {
		if (Math.max(A.to[i], A.from[i]) < View.t(x - 8) ||
		    Math.min(A.from[i], A.to[i]) > View.t(x + 8))
			continue;
		const y1 = anchor(A.fromRow[i]), y2 = anchor(A.toRow[i]);
		const x1 = View.x(A.from[i]), x2 = View.x(A.to[i]);

		if (y1 === null || y2 === null || y < Math.min(y1, y2) - 3 ||
		    y > Math.max(y1, y2) + 3)
			continue;
		const bend = Math.max(6, Math.min(Math.abs(x2 - x1) / 2, 60));

		for (let k = 0; k <= 24; k++) {
			const p = k / 24, q = 1 - p;
			const bx = q * q * q * x1 + 3 * q * q * p * (x1 + bend) +
				3 * q * p * p * (x2 - bend) + p * p * p * x2;
			const by = q * q * q * y1 + 3 * q * q * p * y1 +
				3 * q * p * p * y2 + p * p * p * y2;

			const far = Math.abs(bx - x) + Math.abs(by - y);

			if (far < least) {
				least = far;
				best = i;
			}
		}
	}
	return best;
}

function pick(x, y) {
	const row = rowAt(y);

	if (!row || x < View.label || row.rows)
		return { row };
	const inRow = y - View.top + View.scroll - row.y;
	let found = null;

	if (row.type === "thread")
		found = pickThread(row, x, inRow);
	else if (row.type === "cpu")
		found = pickCpu(row, x, inRow);
	else if (row.type === "counter")
		found = pickCounter(row, x);
	const arrow = found && found.moment === undefined && !found.strip || !A.n ? null :
		pickArrow(x, y);

	if (arrow !== null && !(found && found.moment !== undefined))
		return { row, arrow };
	return { row, ...found };
}

// ---- descriptions: { title, rows: [[name, value], ...], t } -------------------------

function tellTime(rows, name, t, node) {
	const error = errorAt(node, t);

	rows.push([name, absolute(t, 9) + " UTC"]);
	rows.push(["", `${exact(t)}  ${boundText(error)}`]);
}

function tellEdge(rows, edge, head) {
	const def = D.defs[edge.def];

	rows.push([head, `${def.name}, ${KINDS[def.kind]}, channel ${clean(def.channel)}`]);
	rows.push(["CPU", String(edge.cpu)]);
	for (const [name, value] of fieldsOf(edge))
		rows.push([name, value, true]);
}

function tellSpan(i) {
	const rows = [], type = S.type[i], [begin, end] = spanEdges(i);
	const run = (type & 3) === SPAN_RUN;
	const node = run ? D.cpus[S.row[i]].node : D.threads[S.row[i]].node;
	const bound = errorAt(node, S.from[i]);

	rows.push(["Duration", (type & (NO_BEGIN | NO_END) ? "at least " : "") +
		   duration(S.to[i] - S.from[i])]);
	tellTime(rows, type & NO_BEGIN ? "Before" : "From", S.from[i], node);
	rows.push([type & NO_END ? "After" : "To", exact(S.to[i])]);
	rows.push(run ? ["CPU", `${D.cpus[S.row[i]].cpu}, ${D.nodes[node].name}`] :
		  ["Thread", `${threadTitle(D.threads[S.row[i]])}, ${D.nodes[node].name}`]);
	if (!run && D.threads[S.row[i]].process)
		rows.push(["Process", D.threads[S.row[i]].process]);
	if (begin)
		tellEdge(rows, begin, "Begins");
	if (end)
		tellEdge(rows, end, "Ends");
	if (type & NO_BEGIN)
		rows.push(["", "its begin is not on this page"]);
	if (type & NO_END)
		rows.push(["", "its end is not on this page"]);
	return { title: spanName(i), rows, t: S.from[i], bound };
}

const HOW = ["", "a begin without an end, or an end without a begin", "",
	     "message sent", "message received"];

function tellMoment(i) {
	const rows = [], thread = D.threads[M.row[i]];

	tellTime(rows, "At", M.t[i], thread.node);
	rows.push(["Thread", `${threadTitle(thread)}, ${D.nodes[thread.node].name}`]);
	if (thread.process)
		rows.push(["Process", thread.process]);
	tellEdge(rows, momentEdge(i), "Event");
	if (HOW[M.kind[i]])
		rows.push(["", HOW[M.kind[i]]]);
	return { title: D.defs[M.def[i]].name, rows, t: M.t[i] };
}

function tellArrow(i) {
	const rows = [], took = A.to[i] - A.from[i];
	const from = D.threads[A.fromRow[i]], to = D.threads[A.toRow[i]];
	const error = errorAt(from.node, A.from[i]) +
		(from.node === to.node ? 0 : errorAt(to.node, A.to[i]));

	rows.push(["Took", duration(took) +
		   (from.node !== to.node ? ` ${boundText(error)}` : "")]);
	if (took < 0)
		rows.push(["", "received before it was sent: at least one of the times is wrong"]);
	tellTime(rows, "Sent", A.from[i], from.node);
	rows.push(["By", `${threadTitle(from)}, ${D.nodes[from.node].name}`]);
	tellTime(rows, "Received", A.to[i], to.node);
	rows.push(["By", `${threadTitle(to)}, ${D.nodes[to.node].name}`]);
	return { title: `message ${D.defs[A.sent[i]].name}`, rows, t: A.from[i] };
}

function tellGap([cpu, channel, from, to, n]) {
	const rows = [["Lost", n ? count(n) + " events" : "an unknown number of events, if any"],
		      ["Channel", clean(channel)]];

	tellTime(rows, "After", from, D.cpus[cpu].node);
	tellTime(rows, "Before", to, D.cpus[cpu].node);
	rows.push(["", n ? "lost between these events; the exact time is unknown" :
		   "the end of the file is missing"]);
	return { title: n ? "Events were lost here" : "Events may be missing here", rows, t: from };
}

function tellUnknown([from, to], node) {
	const rows = [["Length", duration(to - from)]];

	tellTime(rows, "From", from, node);
	rows.push(["", "no thread switch on this page shows which thread ran here"]);
	return { title: "unknown", rows, t: from };
}

function tellStrip({ bin, parts }, node) {
	const rows = [];
	const name = part => part.def < 0 ? "several" : D.defs[part.def].name;

	tellTime(rows, "From", bin * D.binWidth, node);
	rows.push(["Length", duration(D.binWidth)]);
	for (const [part, { count: n, busy }] of
	     parts.sort((a, b) => b[1].count - a[1].count).slice(0, 12))
		rows.push([name(part), count(n) + " events" +
			   (busy ? `, ${Math.round(busy * 1000) / 10} % of the time` : "")]);
	if (parts.length > 12)
		rows.push(["", `and ${parts.length - 12} more kinds`]);
	rows.push(["", "summarized; use --from and --to to draw them individually"]);
	return { title: "Summarized events", rows, t: bin * D.binWidth };
}

// Returns the text of a value that the page has as a 32-bit float, without inexact digits.
function coarse(value) {
	if (!isFinite(value))
		return "beyond 3.4e38";
	return Math.abs(value) < 2 ** 24 ? compact(value) : "about " + value.toExponential(5);
}

function tellCounterBin({ bin, min, max, last }, c) {
	return { title: counterTitle(c), t: bin * D.binWidth,
		 rows: [["From", exact(bin * D.binWidth)], ["Length", duration(D.binWidth)],
			["Least", coarse(min)], ["Greatest", coarse(max)],
			["Last", coarse(last)]] };
}

function tell(hit) {
	if (hit.span !== undefined)
		return tellSpan(hit.span);
	if (hit.moment !== undefined)
		return tellMoment(hit.moment);
	if (hit.arrow !== undefined)
		return tellArrow(hit.arrow);
	if (hit.gap)
		return tellGap(hit.gap);
	if (hit.unknown)
		return tellUnknown(hit.unknown, hit.row.node);
	if (hit.strip)
		return tellStrip(hit.strip, hit.row.node);
	if (hit.state !== undefined)
		return tellState(hit.state);
	if (hit.stateBin !== undefined)
		return tellStateBin(hit.stateBin, hit.parts, hit.row.node);
	if (hit.counterBin)
		return tellCounterBin(hit.counterBin, hit.counter);
	return null;
}

function showTold(to, told, most) {
	const head = document.createElement("h3"), list = document.createElement("dl");

	head.textContent = told.title;
	for (const [name, value, field] of told.rows.slice(0, most)) {
		const dt = document.createElement("dt"), dd = document.createElement("dd");

		dt.textContent = name;
		dd.textContent = value;
		if (field)
			dt.className = "field";
		list.append(dt, dd);
	}
	if (told.rows.length > most) {
		const dd = document.createElement("dd");

		dd.textContent = `and ${told.rows.length - most} more fields: click to show them`;
		list.append(document.createElement("dt"), dd);
	}
	to.replaceChildren(head, list);
}
