# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Shell functions for t_pure*.sh, to check the calls and the data of object files. Each
# sets `fail` if an object file calls a forbidden function, or has writable data.
fail=0

# PATTERN OBJECT: sets `fail` if OBJECT calls a symbol that neither matches PATTERN nor
# is in $own
calls_only() {
	for sym in $(nm -u "$2" | awk '{print $2}'); do
		echo "$own" | grep -qx "$sym" && continue
		echo "$sym" | grep -qxE "$1" && continue
		echo "$(basename "$2"): calls $sym"
		fail=1
	done
}

holds_nothing() {	# OBJECT: fails if OBJECT has data that can be written
	# .data.rel.ro is constant: tables of pointers
	for sym in $(objdump -t "$1" |
		awk '/ O (\.data|\.bss|\*COM\*)\t/ {print $NF}'); do
		echo "$(basename "$1"): has writable data: $sym"
		fail=1
	done
}
