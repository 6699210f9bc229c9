# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the tests of merge share, beside record.sh. Sets: here.
# shellcheck source=tests/native/record.sh
. "$(dirname "${BASH_SOURCE[0]}")/record.sh"

here=$top/tests/native

none_left() {	# no result, nor a part of one
	[ ! -e "$work/o" ] || fail "there is a result"
	[ -z "$(find "$work" -maxdepth 1 -name '.o.*')" ] || fail "a part is left"
}

refused() {	# PATTERN ARGUMENT...
	run 1 merge -o "$work/o" "${@:2}"
	says "$1"
	none_left
}

# An OTF2 archive. Debian's own interpreter has the bindings.
make_archive() {	# NAME K, what it is made of on standard input
	cat >"$work/$1.json"
	/usr/bin/python3 "$here/otf2_make.py" "$work/$1" "$2" "$work/$1.json" ||
		fail "otf2_make.py $1"
}
