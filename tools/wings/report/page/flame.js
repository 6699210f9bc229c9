// SPDX-License-Identifier: MIT
// Zooms flame graphs: a click on a box makes it as wide as the graph; the lowest box shows all.

const FLAME_CHARACTER = 6.6;		// as in report_flame.c

// Sets the position of a box, and its label: as much of the name as fits into the box.
function placeBox(box, x, width, name) {
	const room = Math.floor(width / FLAME_CHARACTER) - 1;
	let label = box.querySelector("text");

	box.toggleAttribute("hidden", width < 0.6);
	box.querySelector("rect").setAttribute("x", x);
	box.querySelector("rect").setAttribute("width", Math.max(width, 0));
	if (!label) {
		label = document.createElementNS("http://www.w3.org/2000/svg", "text");
		label.setAttribute("y", Number(box.querySelector("rect").getAttribute("y")) + 12);
		box.append(label);
	}
	label.setAttribute("x", x + 3);
	label.textContent = room < 3 ? "" : name.length > room ? name.slice(0, room) + "…" : name;
}

function zoomFlame(svg, chosen) {
	const whole = svg.viewBox.baseVal.width;
	// Returns the position and the width of a box in the whole graph.
	const place = box => {
		const rect = box.querySelector("rect");

		rect.dataset.x = rect.dataset.x || rect.getAttribute("x");
		rect.dataset.width = rect.dataset.width || rect.getAttribute("width");
		return [Number(rect.dataset.x), Number(rect.dataset.width)];
	};

	if (!chosen)
		return;
	const [from, size] = place(chosen);

	for (const box of svg.querySelectorAll("g")) {
		const [x, width] = place(box).map((v, i) => (i ? v : v - from) / size * whole);
		const left = Math.max(x, 0), right = Math.min(x + width, whole);

		placeBox(box, left, right - left,
			 box.querySelector("title").textContent.replace(/: [^:]*$/, ""));
	}
}
