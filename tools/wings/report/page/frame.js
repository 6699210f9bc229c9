// SPDX-License-Identifier: MIT
// Draws the frame of the rows: map of the whole recording, ruler, line at the pointer.

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
	for (const [, , from, to] of D.gaps) {
		const since = Math.max(from, 0);

		fill(Theme.css.bad, left + since * scale, 0, Math.max((to - since) * scale, 1), 4);
	}
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
	// Labels are at round absolute times. Relative times have their labels at the same places.
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

// Draws the error bound at the pointer as a stripe in the rows of each node.
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

		if (end <= View.top || e < 0.75 || !Number.isFinite(e))
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
