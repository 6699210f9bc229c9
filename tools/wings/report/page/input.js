// SPDX-License-Identifier: MIT
// Handles zooming, moving, pointing and searching.

const LEAST = 20;			// ns, the narrowest view
const canvas = document.getElementById("timeline");
const tip = document.getElementById("tip");
let wanted = false;

// Redraws at most once per frame.
function redraw() {
	if (wanted)
		return;
	wanted = true;
	requestAnimationFrame(() => {
		wanted = false;
		draw();
	});
}

function setView(from, to) {
	const most = D.span * 1.1 + LEAST;
	let size = Math.min(Math.max(to - from, LEAST), most);
	const mid = (from + to) / 2;

	from = (isFinite(mid) ? mid : D.span / 2) - size / 2;
	from = Math.min(Math.max(from, -size * 0.5), D.span - size * 0.5);
	View.from = from;
	View.to = from + size;
	showWhere();
	redraw();
}

let linking = 0;

// Stores the visible range in the page's address, so that users can share a link to the range.
function link() {
	clearTimeout(linking);
	linking = setTimeout(() => history.replaceState(null, "",
			`#t=${Math.round(View.from)},${Math.round(View.to)}`), 300);
}

function showWhere() {
	const digits = digitsOf((View.to - View.from) / 100);

	link();
	document.getElementById("where").textContent =
		`${absolute(View.from, digits)} … ${absolute(View.to, digits, false)} UTC, ` +
		duration(View.to - View.from);
}

function zoom(factor, x = (View.label + View.width) / 2) {
	const at = View.t(x);

	setView(at - (at - View.from) * factor, at + (View.to - at) * factor);
}

function pan(part) {
	const by = (View.to - View.from) * part;

	setView(View.from + by, View.to + by);
}

function scrollRows(by) {
	const room = View.height - View.top;

	View.scroll = Math.max(0, Math.min(View.scroll + by, View.total - room));
	redraw();
}

function showAll() {
	const margin = D.span * 0.01;

	setView(-margin, D.span + margin);
}

// Makes a row visible: unfolds its node and its process, and scrolls to it.
function showRow(row) {
	const room = View.height - View.top, node = View.nodes[View.nodeAt[row.node]];

	if (!node.open || row.group && !row.group.open) {
		node.open = true;
		if (row.group)
			row.group.open = true;
		layRows();
	}

	if (row.y < View.scroll || row.y + row.height > View.scroll + room)
		scrollRows(row.y - View.scroll - room / 3);
}

// ---- pointing ------------------------------------------------------------------

const pointers = new Map();
let drag = null;

function place(event) {
	const box = canvas.getBoundingClientRect();

	return [event.clientX - box.left, event.clientY - box.top];
}

function pointAt(x, y) {
	const hit = y > MAP && x > View.label ? pick(x, y) : { row: rowAt(y) };
	const told = tell(hit);

	View.hover = told ? hit : null;
	View.hoverRow = hit.row;
	View.cursor = x > View.label ? View.t(x) : null;
	canvas.style.cursor = hit.row && hit.row.rows || told ? "pointer" :
		y < MAP ? "ew-resize" : "default";
	showTip(told, x, y);
	redraw();
}

function showTip(told, x, y) {
	tip.hidden = !told;
	if (!told)
		return;
	showTold(tip, told, 16);
	const wide = tip.offsetWidth, tall = tip.offsetHeight, box = canvas.getBoundingClientRect();
	const right = x + 18 + wide > View.width, below = box.top + y + 18 + tall > innerHeight;

	tip.style.left = Math.max(4, right ? x - wide - 14 : x + 16) + "px";
	tip.style.top = Math.max(4 - box.top, below ? y - tall - 12 : y + 16) + "px";
}

function leave() {
	View.hover = View.hoverRow = View.cursor = null;
	tip.hidden = true;
	redraw();
}

function moveMap(x) {
	const t = (x - View.label) / (View.width - View.label) * D.span;
	const half = (View.to - View.from) / 2;

	setView(t - half, t + half);
}

function down(event) {
	const [x, y] = place(event);

	canvas.setPointerCapture(event.pointerId);
	pointers.set(event.pointerId, [x, y]);
	tip.hidden = true;
	drag = { x, y, from: View.from, to: View.to, scroll: View.scroll, moved: false,
		 kind: y < MAP ? "map" : event.shiftKey ? "range" : "pan" };
	if (pointers.size === 2)
		drag = startPinch();
	if (drag.kind === "map" && x > View.label)
		moveMap(x);
	if (drag.kind === "range")
		View.range = [View.t(x), View.t(x)];
	canvas.focus({ preventScroll: true });
}

function startPinch() {
	const [a, b] = [...pointers.values()];

	return { kind: "pinch", size: Math.max(Math.abs(a[0] - b[0]), 10), moved: true,
		 at: View.t((a[0] + b[0]) / 2), span: View.to - View.from };
}

function movePinch() {
	const [a, b] = [...pointers.values()];
	const size = Math.max(Math.abs(a[0] - b[0]), 10), mid = (a[0] + b[0]) / 2;
	const span = drag.span * drag.size / size;
	const part = (mid - View.label) / (View.width - View.label);

	setView(drag.at - span * part, drag.at + span * (1 - part));
}

function movePan(x, y) {
	const perPx = (drag.to - drag.from) / (View.width - View.label);

	setView(drag.from - (x - drag.x) * perPx, drag.to - (x - drag.x) * perPx);
	View.scroll = drag.scroll;
	scrollRows(drag.y - y);
}

function move(event) {
	const [x, y] = place(event);

	if (!drag)
		return pointAt(x, y);
	if (pointers.has(event.pointerId))
		pointers.set(event.pointerId, [x, y]);
	if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4)
		drag.moved = true;
	if (drag.kind === "pinch" && pointers.size === 2)
		movePinch();
	else if (drag.kind === "map")
		moveMap(x);
	else if (drag.kind === "range")
		View.range[1] = View.t(x);
	else if (drag.kind === "pan" && drag.moved)
		movePan(x, y);
	redraw();
}

function up(event) {
	const [x, y] = place(event), was = drag;

	pointers.delete(event.pointerId);
	drag = null;
	if (!was || was.moved || was.kind === "map")
		return;
	View.range = null;
	if (event.pointerType !== "mouse")
		pointAt(x, y);
	click(x, y);
}

function click(x, y) {
	const hit = pick(x, y);

	if (hit.row && hit.row.rows)
		return toggle(hit.row);
	choose(hit);
}

// Folds or unfolds a node or a process.
function toggle(row) {
	row.open = !row.open;
	layRows();
	scrollRows(0);
}

// Shows the details of a clicked item below the timeline until another item is clicked.
function choose(hit) {
	const told = tell(hit), details = document.getElementById("details");

	View.chosen = hit.span !== undefined ? S : hit.moment !== undefined ? M : null;
	View.chosenIndex = hit.span !== undefined ? hit.span : hit.moment;
	details.hidden = !told;
	if (told)
		showTold(details, told, Infinity);
	redraw();
}

// Handles a double click: zooms to the item under the pointer.
function twice(event) {
	const hit = pick(...place(event));

	if (hit.span === undefined)
		return zoom(0.4, place(event)[0]);
	const size = S.to[hit.span] - S.from[hit.span];

	setView(S.from[hit.span] - size * 0.15, S.to[hit.span] + size * 0.15);
}

// Zooms to the span at @place, "THREAD,FROM,LENGTH". Selects the span if it is drawn individually.
// @name: the span's name; other spans may have the same times
function showSpan(place, name) {
	const [thread, from, size] = place.split(",").map(Number);
	const row = View.byThread.get(thread);

	setView(from - size * 0.15, from + size * 1.15);
	if (!row)
		return;
	showRow(row);
	canvas.scrollIntoView({ block: "nearest" });
	let span = null;

	for (let i = 0; i < S.n; i++) {
		if (S.to[i] !== from + size || S.from[i] !== from || S.row[i] !== thread ||
		    (S.type[i] & 3) === SPAN_RUN)
			continue;
		const named = [name, "sys_" + name].includes(spanName(i));

		span = span === null || named ? i : span;
		if (named)
			break;
	}
	if (span !== null)
		choose({ span });
}

function wheel(event) {
	const [x] = place(event), line = event.deltaMode ? 30 : 1;
	const dx = event.deltaX * line, dy = event.deltaY * line;

	event.preventDefault();
	tip.hidden = true;
	if (x < View.label || event.shiftKey)
		return scrollRows(dy || dx);
	if (Math.abs(dx) > Math.abs(dy))
		return pan(dx / (View.width - View.label));
	zoom(Math.exp(Math.max(-400, Math.min(400, dy)) / 400), x);
}

// ---- keys ----------------------------------------------------------------------

const KEYS = {
	w: () => zoom(0.7), s: () => zoom(1 / 0.7), a: () => pan(-0.2), d: () => pan(0.2),
	"+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7),
	"0": showAll, ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1),
	ArrowUp: () => scrollRows(-60), ArrowDown: () => scrollRows(60),
	PageUp: () => scrollRows(View.top - View.height),
	PageDown: () => scrollRows(View.height - View.top),
	Home: () => setView(0, View.to - View.from),
	End: () => setView(D.span - View.to + View.from, D.span),
	n: () => nextMatch(1), p: () => nextMatch(-1),
	"/": () => document.getElementById("search").focus(),
	Escape: () => {
		View.range = null;
		document.getElementById("search").value = "";
		search("");
		choose({});
	},
};

function key(event) {
	const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);

	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (typing) {
		if (event.key === "Enter")
			nextMatch(event.shiftKey ? -1 : 1);
		if (event.key === "Escape")
			canvas.focus();
		return;
	}
	// Arrow and page keys scroll the page, unless the timeline has the focus.
	if (event.key.length > 1 && document.activeElement !== canvas &&
	    event.key !== "Escape")
		return;
	const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];

	if (!act)
		return;
	event.preventDefault();
	act();
}
