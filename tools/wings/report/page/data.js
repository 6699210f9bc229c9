// SPDX-License-Identifier: MIT
// Reads the data of the page: names and figures as JSON, events as bytes. No text of the
// data becomes markup: all texts are set as textContent or drawn on a canvas.
"use strict";

const SPAN_SLICE = 0, SPAN_CALL = 1, SPAN_RUN = 2;
const NO_BEGIN = 4, NO_END = 8;
const MOMENT_ORPHAN = 1, MOMENT_COUNTER = 2;
const STRIP_THREAD = 0, STRIP_CPU = 1, STRIP_COUNTER = 2, STRIP_STATE = 3;
const KINDS = ["instant", "begin", "end", "counter", "send", "receive"];

// Types of fields, as in tsctrace/abi_channel.h
const T_U64 = 3, T_S64 = 7, T_F32 = 8, T_F64 = 9, T_STRING = 10, T_BYTES = 11;
// Type of a system call's field, which the page has as text: PAGE_TEXT in report_data.c
const T_TEXT = 255;
const SIZES = [1, 2, 4, 8, 1, 2, 4, 8, 4, 8];
const FORMAT_HEX = 1, FORMAT_CALL = 2;

// Invisible characters, and characters that change the text direction, appear as numbers.
const UNSEEN = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f" +
	"\\u1160\\u17b4\\u17b5\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f" +
	"\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]", "gu");

function clean(text) {
	return text.replace(UNSEEN, c =>
		"\\u{" + c.codePointAt(0).toString(16) + "}");
}

function decodeBase64(id) {
	const text = atob(document.getElementById(id).textContent.trim());
	const bytes = new Uint8Array(text.length);

	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	return bytes;
}

class Reader {
	constructor(bytes, at = 0) {
		this.bytes = bytes;
		this.at = at;
	}
	more() {
		return this.at < this.bytes.length;
	}
	// The result is exact below 2^53: 104 days in nanoseconds.
	varint() {
		let value = 0, scale = 1, byte;

		do {
			byte = this.bytes[this.at++];
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte & 128);
		return value;
	}
	zigzag() {
		const value = this.varint();

		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
	skipEdge() {
		this.varint();
		this.varint();
		this.skipPayload();
	}
	// `this.at += ...varint()` would add to the value that `at` has before varint() changes it.
	skipPayload() {
		const len = this.varint();

		this.at += Math.min(len, D.cut);
	}
	edge() {
		const cpu = this.varint(), def = this.varint(), len = this.varint();
		const kept = Math.min(len, D.cut);
		const at = this.bytes.byteOffset + this.at;

		this.at += kept;
		return { cpu, def, len,
			 view: new DataView(this.bytes.buffer, at, kept) };
	}
	float() {
		const at = this.bytes.byteOffset + this.at;

		this.at += 4;
		return new DataView(this.bytes.buffer, at, 4).getFloat32(0, true);
	}
}

const D = JSON.parse(document.getElementById("data").textContent);
const ORIGIN = BigInt(D.origin);

// ---- fields ----------------------------------------------------------------

function readNumber(view, at, type) {
	switch (type) {
	case 0: return view.getUint8(at);
	case 1: return view.getUint16(at, true);
	case 2: return view.getUint32(at, true);
	case T_U64: return view.getBigUint64(at, true);
	case 4: return view.getInt8(at);
	case 5: return view.getInt16(at, true);
	case 6: return view.getInt32(at, true);
	case T_S64: return view.getBigInt64(at, true);
	case T_F32: return view.getFloat32(at, true);
	default: return view.getFloat64(at, true);
	}
}

// Returns the number of bytes of a text before its NUL.
function textLength(view, at, limit) {
	let n = 0;

	while (n < limit && view.getUint8(at + n))
		n++;
	return n;
}

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

function textOf(view, at, len) {
	return clean(UTF8.decode(new Uint8Array(view.buffer, view.byteOffset + at, len)));
}

// Flag in the number of a 32-bit system call: TSCT_SYSCALL_COMPAT. The page has no names for these.
const COMPAT = 2 ** 32;

function callName(number) {
	const nr = Number(number);

	return nr >= COMPAT && nr < 2 * COMPAT ? `32-bit system call ${nr - COMPAT}` :
		D.calls[nr] || "system call " + number;
}

function showNumber(value, field) {
	if (field.format === FORMAT_CALL)
		return callName(value);
	if (field.format !== FORMAT_HEX)
		return String(value);
	return "0x" + (value < 0 ? BigInt.asUintN(SIZES[field.type] * 8,
			BigInt(value)) : value).toString(16);
}

function showBytes(view, at, len) {
	let text = "";

	for (let i = 0; i < len; i++)
		text += view.getUint8(at + i).toString(16).padStart(2, "0");
	return text;
}

// Returns the size of the field at offset `at`; stores the field's text and value in `out`.
function readField(view, at, field, out) {
	const left = view.byteLength - at;
	let len;

	if (field.type < T_STRING) {
		if (SIZES[field.type] > left)
			return left + 1;
		out.value = readNumber(view, at, field.type);
		out.text = showNumber(out.value, field);
		return SIZES[field.type];
	}
	if (field.type === T_TEXT) {
		len = textLength(view, at, left);
		out.text = textOf(view, at, len);
		return len + 1;
	}
	len = field.type === T_STRING ? left : Math.min(field.count, left);
	if (field.type === T_BYTES) {
		out.text = showBytes(view, at, len);
		return field.count;
	}
	const chars = textLength(view, at, len);

	out.text = "\"" + textOf(view, at, chars) + "\"";
	return field.type === T_STRING ? chars + 1 : field.count;
}

// Returns the fields of an event: [[name, text, number or undefined], ...]
function fieldsOf(edge) {
	const fields = [];
	let at = 0;

	for (const field of D.defs[edge.def].fields) {
		const out = { text: "…" };

		at += at < edge.view.byteLength ? readField(edge.view, at, field, out) : 0;
		fields.push([field.name, out.text, out.value]);
	}
	if (edge.len > edge.view.byteLength)
		fields.push(["", `${edge.len} bytes, of which the page has ` +
			edge.view.byteLength]);
	return fields;
}

// ---- names -----------------------------------------------------------------

function cleanNames() {
	for (const def of D.defs) {
		def.name = clean(def.name);
		def.fields = def.fields.map(([name, type, format, count]) =>
			({ name: clean(name), type, format, count }));
	}
	for (const node of D.nodes)
		node.name = clean(node.name);
	D.threads = D.threads.map(([node, tid, cpu, name, events, process]) =>
		({ node, tid, cpu, name: clean(name), events, process: clean(process) }));
	D.cpus = D.cpus.map(([node, cpu]) => ({ node, cpu }));
}

function threadTitle(thread) {
	if (thread.tid < 0)
		return thread.name;
	if (!thread.tid)
		return "idle, CPU " + thread.cpu;
	return thread.name ? `${thread.name} ${thread.tid}` : "thread " + thread.tid;
}

function spanName(i) {
	const name = S.name[i];

	switch (S.type[i] & 3) {
	case SPAN_SLICE: return D.defs[name].name;
	case SPAN_CALL: return callName(name);
	default: return D.threads[name].tid ? threadTitle(D.threads[name]) : "idle";
	}
}

// ---- events ----------------------------------------------------------------

function readMoments() {
	const bytes = decodeBase64("moments"), r = new Reader(bytes);
	const n = D.moments;
	const m = { n, bytes, t: new Float64Array(n), row: new Int32Array(n),
		    kind: new Uint8Array(n), def: new Int32Array(n),
		    cpu: new Int32Array(n), at: new Int32Array(n) };
	let t = 0;

	for (let i = 0; i < n; i++) {
		m.t[i] = t += r.varint();
		m.row[i] = r.varint();
		m.kind[i] = r.varint();
		m.at[i] = r.at;
		m.cpu[i] = r.varint();
		m.def[i] = r.varint();
		r.skipPayload();
	}
	return m;
}

function readSpans() {
	const bytes = decodeBase64("spans"), r = new Reader(bytes), n = D.spans;
	const s = { n, bytes, from: new Float64Array(n), to: new Float64Array(n),
		    row: new Int32Array(n), lane: new Uint16Array(n),
		    type: new Uint8Array(n), name: new Float64Array(n),
		    at: new Int32Array(n) };
	let t = 0;

	for (let i = 0; i < n; i++) {
		s.type[i] = r.varint();
		s.row[i] = r.varint();
		s.lane[i] = r.varint();
		s.to[i] = t += r.zigzag();
		s.from[i] = t - r.varint();
		s.name[i] = r.zigzag();
		s.at[i] = r.at;
		if (!(s.type[i] & NO_BEGIN))
			r.skipEdge();
		if ((s.type[i] & 3) !== SPAN_RUN && !(s.type[i] & NO_END))
			r.skipEdge();
	}
	return s;
}

function readArrows() {
	const r = new Reader(decodeBase64("arrows")), n = D.arrows;
	const a = { n, from: new Float64Array(n), to: new Float64Array(n),
		    fromRow: new Int32Array(n), toRow: new Int32Array(n),
		    sent: new Int32Array(n), got: new Int32Array(n) };
	let t = 0;

	for (let i = 0; i < n; i++) {
		t += r.zigzag();
		a.to[i] = t;
		a.from[i] = t - r.zigzag();
		a.fromRow[i] = r.varint();
		a.toRow[i] = r.varint();
		a.sent[i] = r.varint();
		a.got[i] = r.varint();
	}
	return a;
}

// Reads times in which a thread had a state, in the order of their ends.
function readStates() {
	const r = new Reader(decodeBase64("states")), n = D.states;
	const s = { n, row: new Int32Array(n), state: new Uint8Array(n), from: new Float64Array(n),
		    to: new Float64Array(n), other: new Float64Array(n),
		    call: new Float64Array(n) };
	let t = 0;

	for (let i = 0; i < n; i++) {
		s.row[i] = r.varint();
		s.state[i] = r.varint();
		s.to[i] = t += r.varint();
		s.from[i] = t - r.varint();
		s.other[i] = r.varint() - 1;
		s.call[i] = r.varint() - 1;
	}
	return s;
}

// Reads the sums of events that are not drawn individually: for each time bin, the number
// of events, and the share of the bin that their spans cover.
function readStrips() {
	const r = new Reader(decodeBase64("strips")), strips = [];

	while (r.more()) {
		const s = { type: r.varint(), row: r.varint(), def: r.varint() - 1,
			    field: r.varint(), bins: [] };
		let bin = -1, skip;

		while ((skip = r.varint())) {
			bin += skip;
			if (s.type === STRIP_COUNTER)
				s.bins.push({ bin, min: r.float(), max: r.float(),
					      last: r.float() });
			else
				s.bins.push({ bin, count: r.varint(),
					      busy: r.varint() / 1000 });
		}
		strips.push(s);
	}
	return strips;
}

function momentEdge(i) {
	return new Reader(M.bytes, M.at[i]).edge();
}

// Returns the events that begin and end a span: [begin or null, end or null].
function spanEdges(i) {
	const r = new Reader(S.bytes, S.at[i]), type = S.type[i];
	const begin = type & NO_BEGIN ? null : r.edge();

	return [begin, (type & 3) === SPAN_RUN || type & NO_END ? null : r.edge()];
}

// Returns the index of the first element of a sorted array that is greater than t
// or, if or_same, also of one that is equal to t.
function above(array, t, or_same = false) {
	let low = 0, high = array.length;

	while (low < high) {
		const mid = (low + high) >> 1;

		if (or_same ? array[mid] >= t : array[mid] > t)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

// Returns the error bound of a node at time t, ns; Infinity: unknown.
function errorAt(node, t) {
	const { error } = D.nodes[node];
	let i = error.findIndex((point) => point[0] >= t);

	if (i < 0)
		i = error.length - 1;
	if (i < 0)
		return Infinity;
	const [b, high] = error[i], [a, low] = error[i && b >= t ? i - 1 : i];

	if (low === null || high === null)
		return Infinity;
	let most = b > a ? low + (high - low) * (t - a) / (b - a) : high;

	// If several points have this time, the largest of their bounds holds.
	for (i++; i < error.length && error[i][0] === t; i++)
		most = error[i][1] === null ? Infinity : Math.max(most, error[i][1]);
	return most;
}

function boundText(error) {
	return `± ${Number.isFinite(error) ? duration(error) : "unknown"}`;
}

cleanNames();
const M = readMoments(), S = readSpans(), A = readArrows(), STRIPS = readStrips();
const ST = readStates();
