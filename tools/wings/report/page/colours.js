// SPDX-License-Identifier: MIT
// Each name has one colour everywhere on the page.

const HUES = [212, 28, 145, 340, 265, 48, 185, 95, 10, 300, 235, 70, 165, 320, 120, 200];

const Theme = {
	dark: false, css: {},
	read() {
		const style = getComputedStyle(document.documentElement);

		this.dark = matchMedia("(prefers-color-scheme: dark)").matches &&
			!matchMedia("print").matches;
		for (const name of ["bg", "panel", "line", "faint", "text", "dim",
				    "accent", "bad", "sure"])
			this.css[name] = style.getPropertyValue("--" + name).trim();
		this.cache = new Map();
	},
};

// Ranks names: the most frequent names come first, because the first colours differ most.
function rankNames() {
	const weight = new Map();
	const add = (name, n) => weight.set(name, (weight.get(name) || 0) + n);

	for (const def of D.defs)
		add(def.name, def.count);
	for (let i = 0; i < S.n; i++)
		add(spanName(i), 1);
	return new Map([...weight].sort((a, b) => b[1] - a[1] ||
			(a[0] < b[0] ? -1 : 1)).map(([name], i) => [name, i]));
}

let RANKS;

function colourOf(name, strong = false) {
	const key = name + (strong ? "!" : "");
	let colour = Theme.cache.get(key);

	if (!colour) {
		const rank = RANKS.get(name) || 0, hue = HUES[rank % HUES.length];
		const shift = Math.floor(rank / HUES.length) % 3 * 6;

		if (name === "idle")
			colour = Theme.css.faint;
		else if (Theme.dark)
			colour = `hsl(${hue},${strong ? 70 : 42}%,${(strong ? 62 : 36) + shift}%)`;
		else
			colour = `hsl(${hue},${strong ? 65 : 62}%,${(strong ? 42 : 74) - shift}%)`;
		Theme.cache.set(key, colour);
	}
	return colour;
}
