// SPDX-License-Identifier: MIT
// The timeline: what is too narrow to be seen is drawn as one with its neighbours, so
// that a frame costs as much as there are pixels, however many events there are.

const MAP = 44, RULER = 42, WHISKERS = 240, CROWD = 400;

const View = {
	from: 0, to: 1,			// ns since the page's first moment
	scroll: 0, width: 0, height: 0, label: 210, total: 0,
	cursor: null, hover: null, chosen: null, range: null,
	rows: [], nodes: [], arrows: [], matches: null,
	get scale() { return (this.width - this.label) / (this.to - this.from); },
	x(t) { return this.label + (t - this.from) * this.scale; },
	t(x) { return this.from + (x - this.label) / this.scale; },
	get top() { return MAP + RULER; },
};

let ctx;

function font(size, weight = "") {
	ctx.font = `${weight} ${size}px system-ui, sans-serif`;
}

function fill(colour, x, y, w, h) {
	ctx.fillStyle = colour;
	ctx.fillRect(x, y, w, h);
}

const widths = new Map();

// Of a text in the font that is set; measured once
function widthOf(string) {
	const key = ctx.font + string;
	let width = widths.get(key);

	if (width === undefined) {
		if (widths.size > 20000)
			widths.clear();
		widths.set(key, width = ctx.measureText(string).width);
	}
	return width;
}

// As much of a text as fits
function text(string, x, y, width, colour) {
	if (width < 14)
		return;
	if (widthOf(string) > width) {
		let n = Math.floor(string.length * width / widthOf(string));

		while (n > 1 && widthOf(string.slice(0, n) + "…") > width)
			n--;
		string = string.slice(0, n) + "…";
	}
	ctx.fillStyle = colour;
	ctx.fillText(string, x, y);
}

function isDim(rank) {
	return View.matches && !View.matches.ranks.has(rank);
}

// ---- spans -----------------------------------------------------------------

// Open ends fade: it began before, or went on behind.
function drawFade(x, y, w, h, left, right) {
	const part = Math.min(0.4, 14 / w), shade = ctx.createLinearGradient(x, 0, x + w, 0);
	const full = Theme.css.bg, none = Theme.css.bg + "00";

	if (left) {
		shade.addColorStop(0, full);
		shade.addColorStop(part, none);
	}
	if (right) {
		shade.addColorStop(1 - part, none);
		shade.addColorStop(1, full);
	}
	ctx.fillStyle = shade;
	ctx.fillRect(x, y, w, h);
}

function drawSpan(i, left, right, y, h) {
	const x = Math.max(View.x(S.from[i]), left), w = Math.min(View.x(S.to[i]), right) - x;
	const rank = S.rank[i], type = S.type[i];

	ctx.globalAlpha = isDim(rank) ? 0.13 : 1;
	ctx.fillStyle = COLOURS[rank];
	if (w >= 9) {
		ctx.beginPath();
		ctx.roundRect(x + 0.25, y, w - 0.5, h, 2.5);
		ctx.fill();
		if (type & (NO_BEGIN | NO_END))
			drawFade(x, y, w, h, type & NO_BEGIN, type & NO_END);
	} else {
		ctx.fillRect(x, y, Math.max(w, 1), h);
	}
	const seen = Math.max(x, View.label);

	if (x + w - seen > 26)
		text(NAMES[rank], seen + 5, y + h / 2 + 4, x + w - seen - 9, Theme.css.text);
	ctx.globalAlpha = 1;
	if (View.chosen === S && View.chosenIndex === i || View.hover &&
	    View.hover.span === i) {
		ctx.strokeStyle = Theme.css.text;
		ctx.lineWidth = 1.5;
		ctx.strokeRect(x + 0.5, y + 0.5, Math.max(w - 1, 2), h - 1);
	}
}

function drawCrowd(from, to, count_, y, h, rank) {
	const x = View.x(from), w = Math.max(View.x(to) - x, 1);

	ctx.globalAlpha = (isDim(rank) ? 0.13 : 1) * Math.min(1, 0.55 + count_ / w / 12);
	fill(STRONG[rank], x, y, w, h);
	ctx.globalAlpha = 1;
}

// Narrower than a pixel or two: as one, with what touches it
function drawLane(lane, y, h) {
	const px = 1 / View.scale, narrow = 1.6 * px;
	const end = above(lane.from, View.to);
	let i = above(lane.to, View.from, true);
	const whiskers = [];

	while (i < end) {
		const id = lane.ids[i];

		if (lane.to[i] - lane.from[i] > narrow) {
			drawSpan(id, View.label - 8, View.width + 8, y, h);
			whiskers.push(id);
			i++;
			continue;
		}
		const from = lane.from[i];
		let last = i, to = lane.to[i];

		while (last + 1 < end && lane.from[last + 1] - to < px &&
		       lane.to[last + 1] - lane.from[last + 1] <= narrow)
			to = lane.to[++last];
		drawCrowd(from, to, last - i + 1, y, h, S.rank[id]);
		i = last + 1;
	}
	return whiskers;
}

// ---- how sure it is ----------------------------------------------------------

function drawWhisker(t, error, y, h) {
	const x = View.x(t), e = error * View.scale;
	const left = Math.max(x - e, View.label), right = Math.min(x + e, View.width);

	if (right <= left)
		return;
	ctx.globalAlpha = 0.16;
	fill(Theme.css.sure, left, y + 1, right - left, h - 2);
	ctx.globalAlpha = 0.85;
	ctx.strokeStyle = Theme.css.sure;
	ctx.lineWidth = 1;
	ctx.beginPath();
	ctx.moveTo(left, y + h / 2);
	ctx.lineTo(right, y + h / 2);
	for (const side of [x - e, x + e]) {
		ctx.moveTo(side, y + h / 2 - 4);
		ctx.lineTo(side, y + h / 2 + 4);
	}
	ctx.stroke();
	ctx.globalAlpha = 1;
}

function canSee(node) {
	return errorAt(node, (View.from + View.to) / 2) * View.scale >= 2;
}

function drawSpanWhiskers(row, ids, y, h) {
	if (!canSee(row.node) || ids.length > WHISKERS)
		return;
	for (const i of ids) {
		if (!(S.type[i] & NO_BEGIN))
			drawWhisker(S.from[i], errorAt(row.node, S.from[i]), y, h);
		if (!(S.type[i] & NO_END))
			drawWhisker(S.to[i], errorAt(row.node, S.to[i]), y, h);
	}
}

// ---- rows --------------------------------------------------------------------

function drawTicks(row, y, h) {
	const { t, ids } = row.ticks, end = above(t, View.to), px = 1 / View.scale;
	let i = above(t, View.from, true);
	const few = end - i <= WHISKERS && canSee(row.node);

	while (i < end) {
		let last = i;

		while (last + 1 < end && t[last + 1] - t[last] < 1.2 * px)
			last++;
		if (last === i)
			drawTick(ids[i], y, h);
		else
			drawTickCrowd(row, i, last, y, h);
		if (few)
			drawWhisker(t[i], errorAt(row.node, t[i]), y, h);
		i = last + 1;
	}
}

function drawTick(i, y, h) {
	const x = View.x(M.t[i]), rank = M.rank[i], kind = M.kind[i];
	const chosen = View.hover && View.hover.moment === i ||
		View.chosen === M && View.chosenIndex === i;

	ctx.globalAlpha = isDim(rank) ? 0.13 : 1;
	ctx.fillStyle = chosen ? Theme.css.text : STRONG[rank];
	ctx.fillRect(x - 0.75, y + 3, chosen ? 2.5 : 1.5, h - 3);
	ctx.beginPath();
	if (kind === 3 || kind === 4) {		/* sent, received */
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
	let dim = isDim(rank);

	for (let k = first; dim && k <= last && k < first + 64; k++)
		dim = isDim(M.rank[ids[k]]);
	ctx.globalAlpha = (dim ? 0.13 : 1) * Math.min(1, 0.45 + (last - first) / w / 8);
	fill(STRONG[rank], x - 0.75, y + 2, w + 0.75, h - 2);
	ctx.globalAlpha = 1;
}

// What is not there one by one: as dark as there is much of it
function drawStrip(strip, y, h) {
	const width = D.binWidth, last = Math.floor(View.to / width);
	const px = width * View.scale;

	for (let bin = Math.max(0, Math.floor(View.from / width)); bin <= last; bin++) {
		const n = strip.count[bin];

		if (!n)
			continue;
		const x = Math.max(View.x(bin * width), View.label);
		const tall = Math.max(1.5, h * Math.sqrt(n / strip.max));

		ctx.globalAlpha = 0.75;
		fill(Theme.css.accent, x, y + h - tall, Math.max(px, 1), tall);
		if (strip.busy[bin]) {
			ctx.globalAlpha = 0.25;
			fill(Theme.css.accent, x, y, Math.max(px, 1), h);
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

// When it had a CPU: a thin line
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

let hatch;

function makeHatch() {
	const tile = document.createElement("canvas"), c = tile.getContext("2d");

	tile.width = tile.height = 8;
	c.strokeStyle = Theme.css.bad;
	c.lineWidth = 2;
	for (const x of [-8, 0, 8]) {
		c.moveTo(x, 8);
		c.lineTo(x + 8, 0);
	}
	c.stroke();
	hatch = ctx.createPattern(tile, "repeat");
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
	if (row.strip)
		drawStrip(row.strip, y + 3, 17);
	for (const lane of row.lanes)
		if (lane)
			drawSpanWhiskers(row, drawLane(lane, y + 3, 17), y + 3, 17);
	drawGaps(row, y + 16, 7);
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
	text(compact(c.high), View.label - 6, y + 13, 90, Theme.css.dim);
	text(compact(c.low), View.label - 6, base, 90, Theme.css.dim);
	ctx.textAlign = "left";
	font(11);
}

// A step at each value; where many share a pixel, from the least to the greatest
function drawCounterLine(c, at, base, colour) {
	const px = 1 / View.scale, end = Math.min(above(c.t, View.to) + 1, c.t.length);
	let i = Math.max(above(c.t, View.from) - 1, 0), x = View.x(c.t[i]), y = null;

	ctx.beginPath();
	while (i < end) {
		const edge = c.t[i] + px;
		let low = Infinity, high = -Infinity, last = NaN;

		x = View.x(c.t[i]);
		for (; i < end && c.t[i] < edge; i++) {
			last = c.v[i];
			low = Math.min(low, last);
			high = Math.max(high, last);
		}
		if (!isFinite(low) || !isFinite(high) || isNaN(last)) {
			y = null;
			continue;
		}
		if (y === null)
			ctx.moveTo(x, at(last));
		else
			ctx.lineTo(x, y);
		ctx.lineTo(x, at(high));
		ctx.lineTo(x, at(low));
		y = at(last);
		ctx.lineTo(x, y);
	}
	if (y !== null)
		ctx.lineTo(Math.min(View.x(D.span), View.width), y);
	ctx.stroke();
	ctx.lineTo(Math.min(View.x(D.span), View.width), base);
	ctx.lineTo(Math.max(View.x(c.t[0]), View.label), base);
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

// How many events it had: also of a node that is folded
function drawBusy(row, y, h) {
	const width = D.rates.width, px = width * View.scale;
	const last = Math.min(row.bins.length - 1, Math.floor(View.to / width));

	if (px > 100)		// so near, it says nothing of what is seen
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
	const label = error ? `± ${duration(error)}` : "";

	drawBusy(row, y + 4, row.height - 5);
	font(11);
	ctx.textAlign = "right";
	text(label, View.width - 12, y + 19, 200, Theme.css.sure);
	ctx.textAlign = "left";
	text(row.sub, View.label + 10, y + 19, View.width - View.label - 140, Theme.css.dim);
}

function drawLabel(row, y) {
	const inset = row.type === "node" ? 26 : 22;
	const mid = y + (row.type === "node" ? 20 : 16);

	if (row.type === "node") {
		ctx.beginPath();
		if (row.open) {
			ctx.moveTo(9, y + 12);
			ctx.lineTo(19, y + 12);
			ctx.lineTo(14, y + 19);
		} else {
			ctx.moveTo(11, y + 10);
			ctx.lineTo(18, y + 15);
			ctx.lineTo(11, y + 20);
		}
		ctx.fillStyle = Theme.css.dim;
		ctx.fill();
		font(13, 600);
		text(row.label, inset, mid, View.label - 30, Theme.css.text);
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

const DRAWERS = { node: drawNode, cpu: drawCpu, counter: drawCounter,
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

// ---- messages ------------------------------------------------------------------

// The middle of a thread's ticks; of a closed node, its head
function anchor(index) {
	const row = View.byThread.get(index);

	if (!row)
		return null;
	if (row.y === undefined || !View.nodes[View.nodeAt[row.node]].open)
		return View.top - View.scroll + View.nodes[View.nodeAt[row.node]].y + HEAD / 2;
	return View.top - View.scroll + row.y + (row.strip ? 24 : 9);
}

function drawArrows() {
	const shown = [];

	for (let i = 0; i < A.n; i++) {
		const from = Math.min(A.from[i], A.to[i]), to = Math.max(A.from[i], A.to[i]);

		if (to >= View.from && from <= View.to)
			shown.push(i);
	}
	ctx.lineWidth = 1.2;
	ctx.save();
	ctx.beginPath();
	ctx.rect(View.label, View.top, View.width - View.label, View.height);
	ctx.clip();
	View.arrows = shown.length <= CROWD ? shown :
		shown.filter(i => A.to[i] < A.from[i]).slice(0, 2 * CROWD);
	for (const i of View.arrows)
		drawArrow(i, A.to[i] < A.from[i], shown.length);
	ctx.restore();
	if (shown.length > CROWD)
		tellArrows(shown.length);
}

// More than can be told apart: nearer, each is an arrow.
function tellArrows(n) {
	const label = `${count(n)} messages: zoom in to see arrows`;

	font(11);
	ctx.globalAlpha = 0.85;
	fill(Theme.css.panel, View.label + 8, View.height - 26, label.length * 6 + 16, 20);
	ctx.globalAlpha = 1;
	text(label, View.label + 16, View.height - 12, 400, Theme.css.dim);
}

function drawArrow(i, wrong, crowd) {
	const y1 = anchor(A.fromRow[i]), y2 = anchor(A.toRow[i]);

	if (y1 === null || y2 === null || Math.max(y1, y2) < View.top ||
	    Math.min(y1, y2) > View.height)
		return;
	const x1 = View.x(A.from[i]), x2 = View.x(A.to[i]), bend = Math.max(6,
			Math.min(Math.abs(x2 - x1) / 2, 60));
	const lit = View.hover && View.hover.arrow === i;

	ctx.globalAlpha = lit || wrong ? 1 : isDim(M.rankOf[A.sent[i]]) ? 0.04 :
		Math.max(0.3, Math.min(0.75, 120 / crowd));
	ctx.strokeStyle = ctx.fillStyle = wrong ? Theme.css.bad :
		lit ? Theme.css.text : colourOf(D.defs[A.sent[i]].name, true);
	ctx.beginPath();
	ctx.moveTo(x1, y1);
	ctx.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
	ctx.stroke();
	if (crowd <= CROWD || lit || wrong) {
		ctx.beginPath();
		ctx.moveTo(x2, y2);
		ctx.lineTo(x2 - 6, y2 - 3);
		ctx.lineTo(x2 - 6, y2 + 3);
		ctx.fill();
	}
	ctx.globalAlpha = 1;
}

// ---- the frame around it ---------------------------------------------------------

function drawMap() {
	const bins = D.rates.total, peak = Math.max(1, ...bins), width = D.rates.width;
	const left = View.label, scale = (View.width - left) / D.span;

	fill(Theme.css.panel, 0, 0, View.width, MAP);
	ctx.globalAlpha = 0.65;
	bins.forEach((n, i) => {
		const tall = n && Math.max(1, (MAP - 10) * Math.sqrt(n / peak));

		fill(Theme.css.accent, left + i * width * scale, MAP - 3 - tall,
		     Math.max(width * scale - 0.3, 0.6), tall);
	});
	for (const [, , from, to] of D.gaps)
		fill(Theme.css.bad, left + from * scale, 0, Math.max((to - from) * scale, 1), 4);
	ctx.globalAlpha = 1;
	const x1 = left + View.from * scale, x2 = Math.max(left + View.to * scale, x1 + 2);

	ctx.globalAlpha = 0.7;
	if (x1 > left)
		fill(Theme.css.bg, left, 0, x1 - left, MAP);
	fill(Theme.css.bg, x2, 0, View.width - x2, MAP);
	ctx.globalAlpha = 1;
	ctx.strokeStyle = Theme.css.accent;
	ctx.lineWidth = 1.5;
	ctx.strokeRect(Math.max(x1, left) + 0.75, 0.75,
		       Math.min(x2, View.width) - Math.max(x1, left) - 1.5, MAP - 1.5);
	font(11);
	text("whole recording", 22, 18, left - 26, Theme.css.dim);
	text(`${duration(D.span)}, ${count(D.events)} events`, 22, 33, left - 26,
	     Theme.css.dim);
}

function drawRuler() {
	const step = stepOf((View.to - View.from) / ((View.width - View.label) / 130));
	const unit = unitOf(Math.max(Math.abs(View.to), Math.abs(View.from)));
	const digits = digitsOf(step);

	fill(Theme.css.bg, 0, MAP, View.width, RULER);
	fill(Theme.css.line, 0, View.top - 1, View.width, 1);
	font(11);
	text(absolute(View.from, 0).slice(0, 10) + " UTC", 22, MAP + 16, View.label - 26,
	     Theme.css.text);
	text("since the beginning", 22, MAP + 33, View.label - 26, Theme.css.dim);
	ctx.save();
	ctx.beginPath();
	ctx.rect(View.label, MAP, View.width, View.height);
	ctx.clip();
	// Round in absolute time; the other line is told at the same places
	const base = Number(ORIGIN % 86400000000000n) % step;

	for (let k = Math.ceil((View.from + base) / step); k * step - base <= View.to; k++) {
		const t = k * step - base, x = View.x(t);

		fill(Theme.css.line, x, MAP + 6, 1, RULER - 6);
		ctx.globalAlpha = 0.45;
		fill(Theme.css.line, x, View.top, 1, View.height - View.top);
		ctx.globalAlpha = 1;
		text(absolute(t, digits, false), x + 5, MAP + 16, 400, Theme.css.text);
		text(relative(t, base ? step / 1000 : step, unit), x + 5,
		     MAP + 33, 400, Theme.css.dim);
	}
	ctx.restore();
}

// How far the truth may be from the pointer, in the rows of each node
function drawCursor() {
	if (View.cursor === null)
		return;
	const x = View.x(View.cursor);

	for (const node of View.nodes) {
		const e = errorAt(node.node, View.cursor) * View.scale;
		const next = View.nodes[View.nodes.indexOf(node) + 1];
		const top = Math.max(View.top + node.y - View.scroll, View.top);
		const end = next ? View.top + next.y - View.scroll :
			Math.min(View.height, View.top + View.total - View.scroll);

		if (end <= View.top || e < 0.75)
			continue;
		ctx.globalAlpha = 0.13;
		fill(Theme.css.sure, Math.max(x - e, View.label), top,
		     Math.min(x + e, View.width) - Math.max(x - e, View.label), end - top);
		ctx.globalAlpha = 1;
	}
	ctx.globalAlpha = 0.6;
	fill(Theme.css.accent, x - 0.5, MAP, 1, View.height - MAP);
	ctx.globalAlpha = 1;
}

function drawRange() {
	if (!View.range)
		return;
	const [a, b] = View.range, x1 = View.x(Math.min(a, b)), x2 = View.x(Math.max(a, b));

	ctx.globalAlpha = 0.14;
	fill(Theme.css.accent, x1, MAP, x2 - x1, View.height - MAP);
	ctx.globalAlpha = 1;
	for (const x of [x1, x2])
		fill(Theme.css.accent, x - 0.5, MAP, 1, View.height - MAP);
	const label = duration(Math.abs(b - a)), wide = label.length * 7 + 14;

	fill(Theme.css.accent, (x1 + x2 - wide) / 2, View.top + 4, wide, 20);
	ctx.textAlign = "center";
	font(12, 600);
	text(label, (x1 + x2) / 2, View.top + 18, 300, Theme.css.bg);
	ctx.textAlign = "left";
}

function drawScrollBar() {
	const room = View.height - View.top;

	if (View.total <= room)
		return;
	const tall = Math.max(24, room * room / View.total);

	ctx.globalAlpha = 0.5;
	fill(Theme.css.dim, View.width - 6,
	     View.top + (room - tall) * View.scroll / (View.total - room), 4, tall);
	ctx.globalAlpha = 1;
}

function draw() {
	ctx.globalAlpha = 1;
	fill(Theme.css.bg, 0, 0, View.width, View.height);
	drawRuler();
	drawRows();
	drawRange();
	drawCursor();
	fill(Theme.css.line, View.label - 1, MAP, 1, View.height - MAP);
	drawMap();
	drawScrollBar();
}
