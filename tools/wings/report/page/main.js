// SPDX-License-Identifier: MIT
// Sets up the page: event rates, legend, sizes, colour themes.

let NAMES, COLOURS, STRONG;

function byId(id) {
	return document.getElementById(id);
}

// Numbers the names, so that an index finds the colour of an item.
function numberNames() {
	RANKS = rankNames();
	NAMES = [...RANKS.keys()];
	View.idle = NAMES.indexOf("idle");
	S.rank = Int32Array.from({ length: S.n }, (_, i) => RANKS.get(spanName(i)));
	M.rankOf = D.defs.map(def => RANKS.get(def.name));
	M.rank = Int32Array.from(M.def, def => M.rankOf[def]);
}

function paint() {
	Theme.read();
	COLOURS = NAMES.map(name => colourOf(name));
	STRONG = NAMES.map(name => colourOf(name, true));
	hatch = makeHatch(Theme.css.bad, 2);
	hatchUnknown = makeHatch(Theme.css.line, 1);
}

function layRows() {
	View.rows = placeRows(View.nodes);
	View.total = View.rows.reduce((y, row) => y + row.height, 0);
}

function makeLayout() {
	View.nodes = makeRows();
	View.nodeAt = [];
	View.byThread = new Map();
	View.byCpu = new Map();
	View.nodes.forEach((node, i) => {
		View.nodeAt[node.node] = i;
		for (const row of allRows(node)) {
			if (row.type === "thread")
				View.byThread.set(row.index, row);
			if (row.type === "cpu")
				View.byCpu.set(row.index, row);
		}
	});
	layRows();
}

function resize() {
	const box = canvas.parentElement.getBoundingClientRect();
	const dpr = devicePixelRatio || 1;
	const most = matchMedia("print").matches ? 480 :	// when printed
		Math.max(260, Math.min(innerHeight * 0.74, 900));

	View.width = Math.max(Math.floor(box.width), 240);	// the width is 0 in a hidden frame
	View.height = Math.floor(Math.min(View.total + MAP + RULER + 8, most));
	View.label = View.width < 700 ? 118 : 212;
	canvas.width = View.width * dpr;
	canvas.height = View.height * dpr;
	canvas.style.height = View.height + "px";
	ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
	scrollRows(0);
	draw();
	drawRates();
}

// ---- legend --------------------------------------------------------------------

const LEGEND = 18;

function makeLegend() {
	const seen = [...new Set([...S.rank, ...M.rank])].sort((a, b) => a - b);

	for (const rank of seen.filter(r => NAMES[r] !== "idle").slice(0, LEGEND)) {
		const chip = document.createElement("button");
		const dot = document.createElement("i");

		chip.type = "button";
		chip.dataset.rank = rank;
		chip.append(dot, NAMES[rank]);
		chip.onclick = () => {
			const box = byId("search");

			box.value = box.value === NAMES[rank] ? "" : NAMES[rank];
			search(box.value);
		};
		byId("legend").append(chip);
	}
}

function paintLegend() {
	for (const chip of byId("legend").children)
		chip.firstChild.style.background = STRONG[chip.dataset.rank];
}

// ---- rates ---------------------------------------------------------------------

// Returns the series that are stacked: [name, bins, hue], the most frequent ones first.
function stacked() {
	const by = byId("rates-by").value;

	if (by === "node")
		return D.rates.nodes.map(([node, bins]) =>
			[node < 0 ? "all others" : D.nodes[node].name, bins,
			 node < 0 ? null : HUES[node % HUES.length]]);
	return addUp(D.rates.events.map(([def, bins]) =>
		[def < 0 ? "all others" : D.defs[def].name, bins, null]));
}

// Adds up series that have the same name, such as the series of begin events and of end events.
function addUp(list) {
	const byName = new Map();

	for (const [name, bins, hue] of list) {
		const sum = byName.get(name);

		byName.set(name, [name, sum ? sum[1].map((n, i) => n + bins[i]) : bins, hue]);
	}
	return [...byName.values()];
}

function rateColour(name, hue) {
	if (hue !== null)
		return `hsl(${hue},55%,${Theme.dark ? 55 : 50}%)`;
	return name === "all others" ? Theme.css.dim : colourOf(name, true);
}

function drawRates() {
	const chart = byId("rates"), c = chart.getContext("2d"), dpr = devicePixelRatio || 1;
	const w = Math.floor(chart.parentElement.getBoundingClientRect().width), h = 230;
	const left = 74, bottom = 28, top = 14, right = 14;
	const seconds = D.rates.width / 1e9;
	const peak = Math.max(1, ...D.rates.total) / seconds;
	const x = i => left + i * D.rates.width / D.span * (w - left - right);
	const y = v => h - bottom - v / peak * (h - top - bottom);

	chart.width = w * dpr;
	chart.height = h * dpr;
	chart.style.height = h + "px";
	c.setTransform(dpr, 0, 0, dpr, 0, 0);
	c.fillStyle = Theme.css.bg;
	c.fillRect(0, 0, w, h);
	drawRateAxes(c, w, h, { left, bottom, top, right, peak, y });
	const base = D.rates.total.map(() => 0);

	c.save();
	c.beginPath();
	c.rect(left, 0, w - left - right, h);
	c.clip();
	for (const [name, bins, hue] of stacked()) {
		c.fillStyle = rateColour(name, hue);
		bins.forEach((n, i) => {
			if (!n)
				return;
			const low = y(base[i] / seconds), high = y((base[i] += n) / seconds);

			c.fillRect(x(i), high, Math.max(x(i + 1) - x(i) - 0.25, 0.75),
				   Math.max(low - high, 0.5));
		});
	}
	c.restore();
	showRateLegend();
}

function drawRateAxes(c, w, h, { left, bottom, top, right, peak, y }) {
	const step = 10 ** Math.floor(Math.log10(peak / 2));
	const lines = [1, 2, 5, 10].map(f => f * step).find(s => peak / s <= 5) || peak;
	const dt = stepOf(D.span / Math.max(2, (w - left) / 120));

	c.font = "11px system-ui, sans-serif";
	for (let v = 0; v <= peak; v += lines) {
		c.fillStyle = Theme.css.line;
		c.fillRect(left, y(v), w - left - right, 1);
		c.fillStyle = Theme.css.dim;
		c.textAlign = "right";
		c.fillText(rate(v), left - 8, y(v) + 4);
	}
	c.textAlign = "center";
	for (let t = 0; t <= D.span; t += dt)
		c.fillText(relative(t, dt, unitOf(D.span)),
			   left + t / D.span * (w - left - right), h - bottom + 17);
	c.textAlign = "left";
}

function showRateLegend() {
	const items = stacked().map(([name, bins, hue]) => {
		const item = document.createElement("span"), dot = document.createElement("i");

		dot.style.background = rateColour(name, hue);
		item.append(dot, `${name} (${count(bins.reduce((a, b) => a + b, 0))})`);
		return item;
	});

	byId("rates-legend").replaceChildren(...items);
}

// ---- start -----------------------------------------------------------------------

function listen() {
	canvas.addEventListener("pointerdown", down);
	canvas.addEventListener("pointermove", move);
	canvas.addEventListener("pointerup", up);
	canvas.addEventListener("pointercancel", event => {
		pointers.delete(event.pointerId);
		drag = null;
	});
	canvas.addEventListener("pointerleave", leave);
	canvas.addEventListener("dblclick", twice);
	canvas.addEventListener("wheel", wheel, { passive: false });
	document.addEventListener("keydown", key);
	document.addEventListener("click", ({ target }) =>
		target.dataset.span && showSpan(target.dataset.span,
			target.closest("tr").querySelector("th").textContent));
	byId("search").addEventListener("input", event => search(event.target.value));
	byId("previous").onclick = () => nextMatch(-1);
	byId("next").onclick = () => nextMatch(1);
	byId("in").onclick = () => zoom(0.6);
	byId("out").onclick = () => zoom(1 / 0.6);
	byId("all").onclick = showAll;
	byId("fold").onclick = () => {
		const open = !View.nodes.some(node => node.open);

		View.nodes.forEach(node => { node.open = open; });
		layRows();
		scrollRows(0);
	};
	const processes = View.nodes.flatMap(node => node.rows.filter(row => row.rows));

	byId("fold-processes").hidden = !processes.length;
	byId("fold-processes").onclick = () => {
		const open = !processes.some(row => row.open);

		processes.forEach(row => { row.open = open; });
		layRows();
		scrollRows(0);
	};
	document.querySelectorAll(".flame svg").forEach(svg =>
		svg.addEventListener("click", event => zoomFlame(svg, event.target.closest("g"))));
	byId("rates-by").onchange = drawRates;
	addEventListener("resize", resize);
	for (const query of ["(prefers-color-scheme: dark)", "print"])
		matchMedia(query).addEventListener("change", repaint);
}

function repaint() {
	paint();
	paintLegend();
	resize();
}

// Shows the time range that the page's address states: PAGE#t=FROM,TO, ns since its beginning.
function showLinked() {
	const match = /^#t=(-?\d+),(-?\d+)$/.exec(location.hash);

	if (match && +match[1] < +match[2])
		setView(+match[1], +match[2]);
	else
		showAll();
}

function start() {
	ctx = canvas.getContext("2d", { alpha: false });
	numberNames();
	paint();
	makeLayout();
	makeLegend();
	paintLegend();
	listen();
	resize();
	showLinked();
	addEventListener("hashchange", showLinked);
	document.documentElement.classList.add("ready");
}

start();
