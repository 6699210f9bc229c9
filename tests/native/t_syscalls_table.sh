#!/bin/bash
# SPDX-License-Identifier: MIT
# The table of system calls agrees with the numbers in the headers, and its
# arguments with those of the running kernel, as tracefs describes them. The
# headers have all constants that symbols_*.table names without a value.
# test-wing: kernel
. "$(dirname "$0")/record.sh"
need mount unshare

if has_wing strace; then
	grep -h 'not in the headers' "$out"/gen/symbols_*.c >"$work/absent" && fail "$(cat "$work/absent")"
	[ "$(grep -c '^SYMBOLS(' "$out/gen/symbols_files.c")" -gt 40 ] || fail "symbols_files.c"
fi

"$helpers/calls" --table >"$work/table"

# Compares the numbers and names of calls with those of a header.
compare() {	# HEADER KNOWN
	echo "#include <$1>" | ${CC:-cc} -E -dM - |
		sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$/\2 \1/p' | sort >"$work/numbers"
	[ "$(wc -l <"$work/numbers")" -gt 350 ] || fail "$1: $(wc -l <"$work/numbers") numbers"
	sort "$2" | comm -23 "$work/numbers" - >"$work/unknown"
	[ ! -s "$work/unknown" ] || fail "not in the table: $(tr '\n' ' ' <"$work/unknown")"
}
sed -n 's/^compat //p' "$work/table" >"$work/known32"
sed -i '/^compat /d' "$work/table"
cut -d ' ' -f 1,2 "$work/table" >"$work/known"
compare asm/unistd_64.h "$work/known"
compare asm/unistd_32.h "$work/known32"

mkdir "$work/tracefs"
unshare -m bash -c 'mount -t tracefs none "$1" &&
	cd "$1/events/syscalls" && grep -H field: sys_enter_*/format' - "$work/tracefs" \
	>"$work/formats" 2>/dev/null || skip "tracefs cannot be mounted here"
python3 "$here/callcheck.py" "$work/table" "$work/formats"
