// SPDX-License-Identifier: MIT
// States of threads: a band in the row of each thread that a recorded switch or waking names

const STATE_NAMES = ["unknown", "running", "runnable", "blocked", "off CPU"];
const STATE_UNKNOWN = 0, STATE_RUNNABLE = 2;
const STATE_BAND = 6;

// Returns the states of a row's thread: individual times in order, and sums of shorter times.
function statesOf(ids, strips) {
	if (!ids && !strips)
		return null;
	return { strips: (strips || []).map(i => STRIPS[i]), ids: Int32Array.from(ids || []),
		 from: Float64Array.from(ids || [], i => ST.from[i]),
		 to: Float64Array.from(ids || [], i => ST.to[i]) };
}

function stateColour(state) {
	return [hatchUnknown, `hsl(145,50%,${Theme.dark ? 55 : 40}%)`, Theme.css.sure,
		Theme.css.dim, Theme.css.line][state];
}

// Draws each state's share of a bin, from times that are too short to be drawn individually.
function drawStateSums({ strips }, y) {
	const width = Math.max(D.binWidth * View.scale, 1), base = [];

	ctx.globalAlpha = 0.6;
	for (const { def, bins } of strips)
		for (const { bin, busy } of bins) {
			const x = View.x(bin * D.binWidth), low = base[bin] || 0;
			const high = Math.min(low + busy, 1);

			base[bin] = high;
			if (x + width > View.label && x < View.width)
				fill(stateColour(def + 1), x, y + STATE_BAND * (1 - high), width,
				     STATE_BAND * (high - low));
		}
	ctx.globalAlpha = 1;
}

// Draws the times with a state. A pixel shows the state of the longest time in it.
function drawStates(states, y) {
	const px = 1 / View.scale, end = above(states.from, View.to);
	let i = above(states.to, View.from, true);

	drawStateSums(states, y);
	while (i < end) {
		const from = states.from[i];
		let longest = i, last = i;

		while (++i < end && states.to[i] - from < px) {
			last = i;
			if (states.to[i] - states.from[i] >
			    states.to[longest] - states.from[longest])
				longest = i;
		}
		const x = Math.max(View.x(from), View.label);
		const right = Math.min(View.x(states.to[last]), View.width);
		const state = ST.state[states.ids[longest]];
		const thin = state > STATE_RUNNABLE ? 2 : 0;

		fill(stateColour(state), x, y + thin, Math.max(right - x, 1),
		     STATE_BAND - 2 * thin);
	}
}

function pickState({ ids, from, to, strips }, x) {
	const t = View.t(x), i = above(to, t, true), bin = Math.floor(t / D.binWidth);

	if (i < ids.length && from[i] <= t)
		return { state: ids[i] };
	const parts = strips.map(s => [s.def + 1, s.bins.find(b => b.bin === bin)])
		.filter(p => p[1]);

	return parts.length ? { stateBin: bin, parts } : null;
}

// Returns the name of thread `tid` on the node of a row; `none` if `tid` is 0.
function otherThread(row, tid, none) {
	const node = D.threads[row].node;
	const threads = D.threads.filter(t => t.node === node && t.tid === tid);

	// If several threads had this id, one after the other, it is unknown which one is meant.
	return !tid ? none : threads.length === 1 ? threadTitle(threads[0]) : "thread " + tid;
}

function tellState(i) {
	const row = ST.row[i], state = ST.state[i], rows = [];

	// A state that reaches an end of the page may have lasted longer.
	rows.push(["Length", (ST.from[i] > 0 && ST.to[i] < D.span ? "" : "at least ") +
		   duration(ST.to[i] - ST.from[i])]);
	tellTime(rows, "From", ST.from[i], D.threads[row].node);
	rows.push(["To", exact(ST.to[i])]);
	rows.push(["Thread", threadTitle(D.threads[row])]);
	if (ST.call[i] >= 0)
		rows.push(["In call", callName(ST.call[i])]);
	if (ST.other[i] >= 0)
		rows.push(state === STATE_RUNNABLE ?
			  ["Behind", otherThread(row, ST.other[i], "no thread: the CPU was idle")] :
			  ["Woken by", otherThread(row, ST.other[i], "an interrupt")]);
	if (state === STATE_UNKNOWN)
		rows.push(["", "no event on this page shows what the thread did"]);
	return { title: STATE_NAMES[state], rows, t: ST.from[i] };
}

function tellStateBin(bin, parts, node) {
	const rows = [];

	tellTime(rows, "From", bin * D.binWidth, node);
	rows.push(["Length", duration(D.binWidth)]);
	for (const [state, { busy }] of parts)
		rows.push([STATE_NAMES[state], `${Math.round(busy * 1000) / 10} % of the time`]);
	rows.push(["", "in times too short to be drawn individually"]);
	return { title: "Summarized states", rows, t: bin * D.binWidth };
}
