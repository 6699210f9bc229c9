#!/bin/bash
# SPDX-License-Identifier: MIT
#
# html.sh DIR - write this documentation as HTML to DIR/html, without a network
#
# By Sphinx (python3-sphinx), from the pages *.rst here and the man pages, which mandoc
# converts. Warnings are errors. DIR/source has what Sphinx read.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:?usage: html.sh DIR}")
for tool in sphinx-build mandoc; do
	command -v $tool >/dev/null || {
		echo "html.sh: $tool is missing; install python3-sphinx and mandoc" >&2
		exit 1
	}
done
TSCT_VERSION=$("$here/../tools/packaging/release.sh" version)
SOURCE_DATE_EPOCH=$("$here/../tools/packaging/release.sh" epoch)
export TSCT_VERSION SOURCE_DATE_EPOCH

rm -rf "$out"
mkdir -p "$out/source/manual"
cp "$here"/*.rst "$here/conf.py" "$out/source"
sed -i 's|<\([a-z-]*\)\.rst>`_|<\1.html>`_|g' "$out/source"/*.rst

list_pages() {	# SECTION TITLE: prints the list of a section's pages
	local file
	printf '\n.. toctree::\n   :caption: %s\n   :maxdepth: 1\n\n' "$2"
	for file in "$here/man"/*."$1"; do
		echo "   manual/${file##*/}"
	done
}
{
	printf 'Man pages\n=========\n'
	list_pages 1 Commands
	list_pages 3 Functions
	list_pages 4 Devices
	list_pages 5 Files
	list_pages 7 Overviews
	list_pages 8 Daemon
} >"$out/source/manuals.rst"

for file in "$here"/man/*.[1-9]; do
	page=${file##*/} target=$(sed -n 's|^\.so man[0-9]/||p' "$file")
	# A page ".so man3/TARGET" stands for that page.
	mandoc -T html -O fragment,man=%N.%S.html "$here/man/${target:-$page}" \
		>"$out/source/manual/$page.html"
	# Pages of others are named, but not linked.
	for other in $(grep -o 'href="[^"/#]*\.html"' "$out/source/manual/$page.html" |
		cut -d '"' -f 2 | sort -u); do
		[ -e "$here/man/${other%.html}" ] ||
			sed -i "s|<a class=\"Xr\" href=\"$other\">\([^<]*\)</a>|\1|g" \
				"$out/source/manual/$page.html"
	done
	title="${page%.*}(${page##*.})"
	printf '%s\n%s\n\n.. raw:: html\n   :file: %s.html\n' "$title" "${title//?/=}" "$page" \
		>"$out/source/manual/$page.rst"
done
sphinx-build -q -W --keep-going -b html -d "$out/doctrees" "$out/source" "$out/html"
echo "$out/html/index.html"
