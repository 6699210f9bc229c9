#!/bin/sh
# SPDX-License-Identifier: MIT
# The documentation becomes HTML without a warning; all links lead somewhere, nothing is
# loaded from elsewhere, and each man page and each page *.rst is there.
# test-timeout: 1200
set -eu
cd "$(dirname "$0")/../.."
command -v sphinx-build >/dev/null || { echo "python3-sphinx is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
Documentation/html.sh "$work/doc" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for page in Documentation/man/*; do
	grep -q '<dt>\|<p \|<section\|<h1' "$work/doc/html/manual/$(basename "$page").html" ||
		{ echo "$page is missing, or empty"; exit 1; }
done
for page in Documentation/*.rst; do
	[ -s "$work/doc/html/$(basename "$page" .rst).html" ] ||
		{ echo "$page is missing"; exit 1; }
done
tests/abi/doc.py "$work/doc/html"
