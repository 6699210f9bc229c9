# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Common parts of the tests of trace-ctl merge, in addition to record.sh. Sets the
# variable `here`, the directory of the native tests.
# shellcheck source=tests/native/record.sh
. "$(dirname "${BASH_SOURCE[0]}")/record.sh"

here=$top/tests/native

none_left() {	# fails if merge left a result, or a part of a result
	[ ! -e "$work/o" ] || fail "there is a result"
	[ -z "$(find "$work" -maxdepth 1 -name '.o.*')" ] || fail "a partial result"
}

refused() {	# PATTERN ARGUMENT...
	run 1 merge -o "$work/o" "${@:2}"
	says "$1"
	none_left
}

# Makes an OTF2 archive. Only Debian's /usr/bin/python3 has the Python module otf2.
make_archive() {	# NAME K; standard input: the JSON for otf2_make.py
	cat >"$work/$1.json"
	/usr/bin/python3 "$here/otf2_make.py" "$work/$1" "$2" "$work/$1.json" ||
		fail "otf2_make.py $1"
}
