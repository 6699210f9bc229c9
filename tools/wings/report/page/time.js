// SPDX-License-Identifier: MIT
// Formats times and figures as text.

const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

function pad(number, digits) {
	return String(number).padStart(digits, "0");
}

// Returns a time in UTC with fractions of a second: "2026-11-21 12:27:50.123456".
function absolute(t, digits, date = true) {
	const ns = ORIGIN + BigInt(Math.round(t));
	let seconds = ns / 1000000000n, rest = ns % 1000000000n;

	if (rest < 0n) {
		rest += 1000000000n;
		seconds--;
	}
	const d = new Date(Number(seconds) * 1000);

	if (isNaN(d))
		return seconds + " s";
	const day = `${d.getUTCFullYear()}-${pad(d.getUTCMonth() + 1, 2)}-` +
		pad(d.getUTCDate(), 2);
	const time = `${pad(d.getUTCHours(), 2)}:${pad(d.getUTCMinutes(), 2)}:` +
		pad(d.getUTCSeconds(), 2);
	const part = digits ? "." + pad(rest, 9).slice(0, digits) : "";

	return (date ? day + " " : "") + time + part;
}

// Returns a duration with its unit: "12.3 µs".
function duration(ns) {
	if (!isFinite(ns))
		return "unknown";
	const size = Math.abs(ns);
	const [unit, scale] = UNITS.find(u => size >= u[1]) || UNITS[3];
	const value = ns / scale, tenths = Math.round(size / 1e8);

	if (size >= 60e9 && unit === "s")
		return `${ns < 0 ? "-" : ""}${Math.floor(tenths / 600)} min ` +
			`${(tenths % 600 / 10).toFixed(1)} s`;
	return `${Number(value.toPrecision(size >= 1e3 * scale ? 6 : 3))} ${unit}`;
}

// Returns a time since the beginning, exact to the ns: "+1.234 567 890 s".
function exact(ns) {
	const size = Math.abs(Math.round(ns));
	const text = `${Math.floor(size / 1e9)}.` +
		pad(size % 1e9, 9).replace(/(\d{3})(?=\d)/g, "$1\u2009");

	return (ns < 0 ? "−" : "+") + text + " s";
}

// Returns a label of the ruler, with as many digits as the step between labels needs.
function relative(t, step, unit) {
	const scale = unit[1];
	const digits = Math.max(0, Math.ceil(Math.log10(scale / step) - 1e-9));

	return `${t >= 0 ? "+" : "−"}${(Math.abs(t) / scale).toFixed(digits)} ${unit[0]}`;
}

function unitOf(span) {
	return UNITS.find(u => span >= u[1]) || UNITS[3];
}

// Steps of the ruler from 1 s on; below 1 s, steps are 1, 2 or 5 times a power of ten
const CLOCK = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400,
	       21600, 43200, 86400].map(s => s * 1e9);

function stepOf(least) {
	if (least > 5e8)
		return CLOCK.find(s => s >= least) ||
			86400e9 * Math.ceil(least / 86400e9);
	const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));

	return power * [1, 2, 5, 10].find(f => f * power >= least - 1e-9);
}

function digitsOf(step) {
	return Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(step) - 1e-9)));
}

function count(n) {
	return n.toLocaleString("en").replace(/,/g, "\u2009");
}

function rate(perSecond) {
	if (perSecond >= 1e6)
		return (perSecond / 1e6).toPrecision(3) + " M/s";
	if (perSecond >= 1e3)
		return (perSecond / 1e3).toPrecision(3) + " k/s";
	return Number(perSecond.toPrecision(3)) + "/s";
}

// Returns a counter's value as a short text.
function compact(value) {
	const size = Math.abs(value);

	if (!isFinite(value))
		return String(value);
	if (size >= 1e15 || (size && size < 1e-3))
		return value.toExponential(2);
	if (size >= 1e4)
		return count(Math.round(value));
	return String(Number(value.toPrecision(5)));
}
