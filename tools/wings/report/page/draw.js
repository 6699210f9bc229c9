// SPDX-License-Identifier: MIT
// Draws the timeline. Items narrower than a pixel are joined with their neighbours, so that
// the time to draw a frame depends on the number of pixels, not on the number of events.

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

// Returns the width of a text in the current font; each text is measured once.
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

// Draws as much of a text as fits into the width.
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

// These functions return true for an item that does not match the search.
function isDimSpan(i) {
	return View.matches && !View.matches.spans[i];
}

function isDimMoment(i) {
	return View.matches && !View.matches.moments[i];
}

// ---- spans -----------------------------------------------------------------

// Fades the ends of a span that lie outside the recording.
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

	ctx.globalAlpha = isDimSpan(i) ? 0.13 : 1;
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

// Draws several narrow spans as one box, in the colour of the longest span. The box is
// darker if the spans cover more of the time.
function drawCrowd(from, to, covered, y, h, i) {
	const x = View.x(from), w = Math.max(View.x(to) - x, 1);

	ctx.globalAlpha = (isDimSpan(i) ? 0.13 : 1) *
		(0.3 + 0.65 * Math.min(1, covered / (to - from || 1)));
	fill(STRONG[S.rank[i]], x, y, w, h);
	ctx.globalAlpha = 1;
}

// Joins spans narrower than 1.6 pixels with their neighbours. Idle time is not drawn.
function drawLane(lane, y, h) {
	const px = 1 / View.scale, narrow = 1.6 * px;
	const end = above(lane.from, View.to);
	let i = above(lane.to, View.from, true);
	const whiskers = [];

	while (i < end) {
		if (lane.to[i] - lane.from[i] > narrow) {
			drawSpan(lane.ids[i], View.label - 8, View.width + 8, y, h);
			whiskers.push(lane.ids[i++]);
			continue;
		}
		const from = lane.from[i];
		let to = from, covered = 0, longest = -1, best = -1;

		do {
			const size = lane.to[i] - lane.from[i], id = lane.ids[i];

			to = lane.to[i++];
			if (S.rank[id] === View.idle && (S.type[id] & 3) === SPAN_RUN)
				continue;
			covered += size;
			// Spans that match the search take precedence, so that they stay visible.
			const weight = size + (View.matches && !isDimSpan(id) ? D.span : 0);

			if (weight > longest) {
				longest = weight;
				best = id;
			}
		} while (i < end && lane.from[i] - to < px && to - from < 12 * px &&
			 lane.to[i] - lane.from[i] <= narrow);
		if (best >= 0)
			drawCrowd(from, to, covered, y, h, best);
	}
	return whiskers;
}

// ---- error bounds ------------------------------------------------------------

function drawWhisker(t, error, y, h) {
	if (!Number.isFinite(error))
		return;
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
