// SPDX-License-Identifier: MIT
// Messages, as arrows between rows

// Returns the vertical middle of a thread's row, or of the header of a folded node or process.
function anchor(index) {
	const row = View.byThread.get(index);

	if (!row)
		return null;
	if (row.y === undefined || !View.nodes[View.nodeAt[row.node]].open)
		return View.top - View.scroll + View.nodes[View.nodeAt[row.node]].y + HEAD / 2;
	if (row.group && !row.group.open)
		return View.top - View.scroll + row.group.y + PROCESS / 2;
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

// Shows the number of messages instead of too many arrows, which nobody could distinguish.
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
	const dim = View.matches && !View.matches.ranks.has(M.rankOf[A.sent[i]]);

	ctx.globalAlpha = lit || wrong ? 1 : dim ? 0.04 :
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
