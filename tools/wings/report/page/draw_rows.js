// SPDX-License-Identifier: MIT
// Draws the rows of the timeline.

function drawTicks(row, y, h) {
	const { t, ids } = row.ticks, end = above(t, View.to), px = 1 / View.scale;
	let i = above(t, View.from, true);
	const few = end - i <= WHISKERS && canSee(row.node);
	const heads = end - i <= 4 * WHISKERS;

	while (i < end) {
		let last = i;

		while (last + 1 < end && t[last + 1] - t[last] < 1.2 * px)
			last++;
		if (last === i)
			drawTick(ids[i], y, h, heads);
		else
			drawTickCrowd(row, i, last, y, h);
		if (few)
			drawWhisker(t[i], errorAt(row.node, t[i]), y, h);
		i = last + 1;
	}
}

function drawTick(i, y, h, head) {
	const x = View.x(M.t[i]), rank = M.rank[i], kind = M.kind[i];
	const chosen = View.hover && View.hover.moment === i ||
		View.chosen === M && View.chosenIndex === i;

	ctx.globalAlpha = isDimMoment(i) ? 0.13 : 1;
	ctx.fillStyle = chosen ? Theme.css.text : STRONG[rank];
	ctx.fillRect(x - 0.75, y + 3, chosen ? 2.5 : 1.5, h - 3);
	if (!head && !chosen) {
		ctx.globalAlpha = 1;
		return;
	}
	ctx.beginPath();
	if (kind === 3 || kind === 4) {		// sent, received
		const way = kind === 3 ? 1 : -1;

		ctx.moveTo(x - 3.5 * way, y);
		ctx.lineTo(x + 3.5 * way, y + 3.5);
		ctx.lineTo(x - 3.5 * way, y + 7);
	} else {
		ctx.arc(x, y + 3, 2.6, 0, 7);
	}
	ctx.fill();
	ctx.globalAlpha = 1;
}

function drawTickCrowd(row, first, last, y, h) {
	const { t, ids } = row.ticks, rank = M.rank[ids[first]];
	const x = View.x(t[first]), w = Math.max(View.x(t[last]) - x, 1.5);
	let dim = isDimMoment(ids[first]);

	for (let k = first; dim && k <= last && k < first + 64; k++)
		dim = isDimMoment(ids[k]);
	ctx.globalAlpha = (dim ? 0.13 : 1) * Math.min(1, 0.45 + (last - first) / w / 8);
	fill(STRONG[rank], x - 0.75, y + 2, w + 0.75, h - 2);
	ctx.globalAlpha = 1;
}

// Draws the sums of events: bars for the number of events, a shade where spans cover time.
function drawStrip(strip, y, h) {
	const width = D.binWidth, last = Math.floor(View.to / width);

	for (let bin = Math.max(0, Math.floor(View.from / width)); bin <= last; bin++) {
		const n = strip.count[bin];

		if (!n && !strip.busy[bin])
			continue;
		const x = Math.max(View.x(bin * width), View.label);
		const wide = Math.max(View.x((bin + 1) * width) - x, 1);
		const tall = n ? Math.max(1.5, h * Math.sqrt(n / strip.max)) : 0;

		ctx.globalAlpha = 0.75;
		fill(Theme.css.accent, x, y + h - tall, wide, tall);
		if (strip.busy[bin]) {
			ctx.globalAlpha = 0.25;
			fill(Theme.css.accent, x, y, wide, h);
		}
	}
	ctx.globalAlpha = 1;
}

function drawThread(row, y) {
	let at = y + 3;

	if (row.strip) {
		drawStrip(row.strip, at, 13);
		at += 15;
	}
	if (row.ticks) {
		drawTicks(row, at, 13);
		at += 15;
	}
	if (row.states) {
		drawStates(row.states, at);
		at += STATE_BAND + 2;
	}
	if (row.runs) {
		drawRuns(row.runs, at);
		at += 4;
	}
	row.lanes.forEach((lane, k) => {
		if (lane)
			drawSpanWhiskers(row, drawLane(lane, at + k * LANE, LANE - 2),
					 at + k * LANE, LANE - 2);
	});
}

// Draws a thin line for the times in which the thread runs on a CPU.
function drawRuns(lane, y) {
	const px = 1 / View.scale, end = above(lane.from, View.to);
	let i = above(lane.to, View.from, true);

	ctx.fillStyle = Theme.css.dim;
	while (i < end) {
		const from = lane.from[i];
		let to = lane.to[i];

		while (++i < end && lane.from[i] - to < px)
			to = lane.to[i];
		ctx.fillRect(View.x(from), y, Math.max((to - from) * View.scale, 1), 2);
	}
}

let hatch, hatchUnknown;

function makeHatch(colour, width) {
	const tile = document.createElement("canvas"), c = tile.getContext("2d");

	tile.width = tile.height = 8;
	c.strokeStyle = colour;
	c.lineWidth = width;
	for (const x of [-8, 0, 8]) {
		c.moveTo(x, 8);
		c.lineTo(x + 8, 0);
	}
	c.stroke();
	return ctx.createPattern(tile, "repeat");
}

// Draws the times in which the running thread is unknown; omits those narrower than a pixel.
function drawUnknown(row, y, h) {
	for (const [from, to] of row.unknown) {
		const x = Math.max(View.x(from), View.label);
		const right = Math.min(View.x(to), View.width);

		if (from > View.to)
			break;
		if (right - x >= 1)
			fill(hatchUnknown, x, y, right - x, h);
	}
}

function drawGaps(row, y, h) {
	let edge = -Infinity;

	for (const [, , from, to] of row.gaps) {
		const x = Math.max(View.x(from), View.label - 4);
		const right = Math.max(Math.min(View.x(to), View.width + 4), x + 3);

		if (to < View.from || from > View.to || right < edge + 1)
			continue;
		edge = right;
		fill(hatch, x, y, right - x, h);
		ctx.globalAlpha = 0.15;
		fill(Theme.css.bad, x, y, right - x, h);
		ctx.globalAlpha = 1;
	}
}

function drawCpu(row, y) {
	drawUnknown(row, y + 3, 17);
	if (row.strip)
		drawStrip(row.strip, y + 3, 17);
	for (const lane of row.lanes)
		if (lane)
			drawSpanWhiskers(row, drawLane(lane, y + 3, 17), y + 3, 17);
	drawGaps(row, y + GAP_TOP, 7);
}

function drawCounter(row, y) {
	const c = row.counter, h = row.height - 12, base = y + row.height - 5;
	const at = v => base - h * (v - c.low) / (c.high - c.low);
	const colour = colourOf(D.defs[c.def].name, true);

	ctx.save();
	ctx.beginPath();
	ctx.rect(View.label, y, View.width, row.height);
	ctx.clip();
	ctx.strokeStyle = ctx.fillStyle = colour;
	ctx.lineWidth = 1.4;
	if (c.bins)
		drawCounterBins(c, at);
	if (c.t.length)
		drawCounterLine(c, at, base, colour);
	ctx.restore();
	font(10);
	ctx.textAlign = "right";
	if (!c.empty) {
		text(compact(c.high), View.label - 6, y + 13, 90, Theme.css.dim);
		text(compact(c.low), View.label - 6, base, 90, Theme.css.dim);
	}
	ctx.textAlign = "left";
	font(11);
}

// Returns the time up to which a counter certainly has its value of time t: the time of the next
// value, or an earlier time from which on values may have been lost or are in sums.
function heldUntil({ from, to }, t, next) {
	const i = above(to, t);

	return i < to.length && from[i] < next ? Math.max(from[i], t) : next;
}

// Returns the lines of a counter, [[[x, y], ...], ...], with a step at each value. If a pixel has
// several values, the line shows their range. A line ends where the value is no longer known.
function counterLines(c, at) {
	const px = 1 / View.scale, end = Math.min(above(c.t, View.to) + 1, c.t.length);
	const place = t => Math.min(Math.max(View.x(t), View.label - 8), View.width + 8);
	const lines = [];
	let i = Math.max(above(c.t, View.from) - 1, 0), line = null;

	while (i < end) {
		const edge = c.t[i] + px, x = place(c.t[i]);
		let low = Infinity, high = -Infinity, last = NaN;

		do {
			last = c.v[i];
			low = Math.min(low, last);
			high = Math.max(high, last);
		} while (++i < end && c.t[i] < edge);
		if (!isFinite(low) || !isFinite(high)) {
			line = null;
			continue;
		}
		const next = i < c.t.length ? c.t[i] : D.span;
		const held = heldUntil(c.unknown, c.t[i - 1], next);

		if (!line)
			lines.push(line = [[x, at(last)]]);
		line.push([x, at(high)], [x, at(low)], [x, at(last)],
			  [Math.max(place(held), x + 1), at(last)]);
		if (held < next)
			line = null;
	}
	return lines;
}

function drawCounterLine(c, at, base, colour) {
	const lines = counterLines(c, at);
	const trace = line => line.forEach(([x, y], k) => k ? ctx.lineTo(x, y) : ctx.moveTo(x, y));

	ctx.beginPath();
	lines.forEach(trace);
	ctx.stroke();
	ctx.beginPath();
	for (const line of lines) {
		trace(line);
		ctx.lineTo(line[line.length - 1][0], base);
		ctx.lineTo(line[0][0], base);
		ctx.closePath();
	}
	ctx.globalAlpha = 0.1;
	ctx.fillStyle = colour;
	ctx.fill();
	ctx.globalAlpha = 1;
}

function drawCounterBins(c, at) {
	const px = Math.max(D.binWidth * View.scale, 1);

	ctx.globalAlpha = 0.8;
	for (const { bin, min, max } of c.bins) {
		const t = bin * D.binWidth;

		if (t + D.binWidth < View.from || t > View.to)
			continue;
		const top = at(Math.min(max, c.high));

		ctx.fillRect(View.x(t), top, px,
			     Math.max(at(Math.max(min, c.low)) - top, 1.5));
	}
	ctx.globalAlpha = 1;
}

// Draws the number of events of a node over time.
function drawBusy(row, y, h) {
	const width = D.rates.width, px = width * View.scale;
	const last = Math.min(row.bins.length - 1, Math.floor(View.to / width));

	if (px > 100)		// too few bins are visible for a curve
		return;
	ctx.globalAlpha = row.open ? 0.14 : 0.5;
	for (let i = Math.max(0, Math.floor(View.from / width)); i <= last; i++) {
		const tall = row.bins[i] ? Math.max(1, h * Math.sqrt(row.bins[i] / row.peak)) : 0;
		const x = Math.max(View.x(i * width), View.label);
		const right = View.x((i + 1) * width);

		if (tall && right > x)
			fill(Theme.css.accent, x, y + h - tall, Math.max(right - x - (px > 4), 1),
			     tall);
	}
	ctx.globalAlpha = 1;
}

function drawNode(row, y) {
	fill(Theme.css.panel, 0, y, View.width, row.height);
	fill(Theme.css.line, 0, y, View.width, 1);
	const error = errorAt(row.node, View.cursor === null ?
			      (View.from + View.to) / 2 : View.cursor);

	drawBusy(row, y + 4, row.height - 5);
	font(11);
	ctx.textAlign = "right";
	text(boundText(error), View.width - 12, y + 19, 200, Theme.css.sure);
	ctx.textAlign = "left";
	text(row.sub, View.label + 10, y + 19, View.width - View.label - 140, Theme.css.dim);
}

// Draws the outermost bars of a folded process's threads on top of each other.
function drawProcess(row, y) {
	if (row.open) {
		font(10);
		text(row.sub, View.label + 10, y + 15, View.width - View.label - 20, Theme.css.dim);
		font(11);
		return;
	}
	for (const { lanes } of row.rows)
		if (lanes[0])
			drawLane(lanes[0], y + 3, PROCESS - 6);
}

// Draws the triangle of a row that can be folded.
function drawTriangle(open, x, y) {
	ctx.beginPath();
	if (open) {
		ctx.moveTo(x, y - 3);
		ctx.lineTo(x + 10, y - 3);
		ctx.lineTo(x + 5, y + 4);
	} else {
		ctx.moveTo(x + 2, y - 5);
		ctx.lineTo(x + 9, y);
		ctx.lineTo(x + 2, y + 5);
	}
	ctx.fillStyle = Theme.css.dim;
	ctx.fill();
}

function drawLabel(row, y) {
	const inset = row.type === "node" ? 26 : row.group || row.type === "process" ? 34 : 22;
	const mid = y + (row.type === "node" ? 20 : 16);

	if (row.rows) {
		drawTriangle(row.open, inset - 17, mid - 5);
		font(row.type === "node" ? 13 : 12, 600);
		text(row.label, inset, mid, View.label - inset - 4, Theme.css.text);
		font(11);
		return;
	}
	font(12);
	text(row.label, inset, mid, View.label - inset - (row.type === "counter" ? 64 : 8),
	     row === View.hoverRow ? Theme.css.accent : Theme.css.text);
	font(10);
	if (row.sub && row.height > 34)
		text(row.sub, inset, mid + 13, View.label - 30, Theme.css.dim);
	else if (row.sub && row.type === "cpu") {
		ctx.textAlign = "right";
		text(row.sub, View.label - 8, mid, 90, Theme.css.bad);
		ctx.textAlign = "left";
	}
	font(11);
}

const DRAWERS = { node: drawNode, cpu: drawCpu, counter: drawCounter, process: drawProcess,
		  thread: drawThread };

function drawRows() {
	const bottom = View.height;

	ctx.save();
	ctx.beginPath();
	ctx.rect(0, View.top, View.width, bottom - View.top);
	ctx.clip();
	for (const row of View.rows) {
		const y = View.top + row.y - View.scroll;

		if (y + row.height < View.top || y > bottom)
			continue;
		ctx.save();
		ctx.beginPath();
		ctx.rect(row.type === "node" || row.type === "counter" ? 0 : View.label, y,
			 View.width, row.height);
		ctx.clip();
		if (row === View.hoverRow && row.type !== "node")
			fill(Theme.css.panel, View.label, y, View.width, row.height);
		DRAWERS[row.type](row, y);
		ctx.restore();
		drawLabel(row, y);
		ctx.globalAlpha = 0.6;
		fill(Theme.css.line, 0, y + row.height - 1, View.width, 1);
		ctx.globalAlpha = 1;
	}
	drawArrows();
	ctx.restore();
}
