// SPDX-License-Identifier: MIT
// Searches in names, and in the fields of the events that are drawn individually.

let searching = 0;

// Searches in names at once, and in fields when the user has not typed for 250 ms.
function search(term) {
	clearTimeout(searching);
	term = term.trim().toLowerCase();
	if (term) {
		findMatches(term, false);
		searching = setTimeout(() => findMatches(term, true), 250);
	} else {
		View.matches = null;
		byId("found").textContent = "";
	}
	redraw();
}

// Returns true if a field's number equals the value, or if a field's text contains the value.
function hasValue([, text, number], value) {
	text = text.toLowerCase();
	return number === undefined ? text.includes(value) : text === value ||
		String(number) === value;
}

// Returns a function that tests whether an event matches a term, "VALUE" or "FIELD=VALUE".
function fieldTest(term) {
	const [, name, value] = /^(\w+)=(.*)$/.exec(term) || [];

	return edge => edge && fieldsOf(edge).some(field => field[0] && (hasValue(field, term) ||
		field[0].toLowerCase() === name && hasValue(field, value)));
}

function findMatches(term, fields) {
	const ranks = new Set([...NAMES.keys()].filter(rank =>
		NAMES[rank].toLowerCase().includes(term)));
	const spans = Uint8Array.from(S.rank, rank => ranks.has(rank));
	const moments = Uint8Array.from(M.rank, rank => ranks.has(rank)), list = [];
	const test = fields ? fieldTest(term) : () => false;

	clearTimeout(searching);
	for (let i = 0; i < S.n; i++)
		if (spans[i] || (spans[i] = spanEdges(i).some(test)))
			list.push({ t: S.from[i], span: i });
	for (let i = 0; i < M.n; i++)
		if (moments[i] || (moments[i] = test(momentEdge(i))))
			list.push({ t: M.t[i], moment: i });
	list.sort((a, b) => a.t - b.t);
	View.matches = { term, fields, spans, moments, ranks, list, at: -1 };
	byId("found").textContent = list.length ? `${count(list.length)} found` +
		(D.summed ? " of those drawn individually" : "") :
		!fields ? "…" : D.summed ? "none drawn individually" : "none";
	redraw();
}

function rowOf(hit) {
	if (hit.span === undefined)
		return View.byThread.get(M.row[hit.moment]);
	return (S.type[hit.span] & 3) === SPAN_RUN ? View.byCpu.get(S.row[hit.span]) :
		View.byThread.get(S.row[hit.span]);
}

function nextMatch(way) {
	if (View.matches && !View.matches.fields)
		findMatches(View.matches.term, true);
	const m = View.matches;

	if (!m || !m.list.length)
		return;
	if (m.at < 0)
		m.at = way > 0 ? above(m.list.map(x => x.t), View.from) - 1 : 0;
	m.at = (m.at + way + m.list.length) % m.list.length;
	const hit = m.list[m.at], row = rowOf(hit);
	const size = View.to - View.from;

	document.getElementById("found").textContent =
		`${count(m.at + 1)} of ${count(m.list.length)}`;
	if (hit.t < View.from || hit.t > View.to)
		setView(hit.t - size / 2, hit.t + size / 2);
	if (row)
		showRow(row);
	choose({ ...hit, row });
}
