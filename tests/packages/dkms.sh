#!/bin/bash
# SPDX-License-Identifier: MIT
#
# dkms.sh [KERNEL]... - build the module by DKMS for kernels of the tests
#
# KERNEL is a name as for tests/guest/kernel.sh (default: 6.1, 6.12 and their -rt). DKMS
# gets folders of its own: on this machine, nothing is installed or changed.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAILED: $*"
	tail -n 30 "$work"/tree/tsctrace/*/build/make.log "$work/log" 2>/dev/null || true
	exit 1
}
PATH=$PATH:/usr/sbin
command -v dkms >/dev/null || { echo "dkms is missing: run tests/deps.sh --packages"; exit 1; }
unset O KDIR MAKEFLAGS MFLAGS MAKELEVEL

version=$("$top/tools/packaging/release.sh" version)
source=$work/source/tsctrace-$version
"$top/tools/packaging/dkms.sh" "$source"
mkdir "$work/tree"
run_dkms() {
	dkms "$1" -m tsctrace -v "$version" --sourcetree "$work/source" --dkmstree "$work/tree" \
		--no-depmod "${@:2}" >"$work/log" 2>&1 || fail "dkms $*"
}
run_dkms add
[ $# -gt 0 ] || set -- 6.1-amd64 6.1-rt-amd64 6.12-amd64 6.12-rt-amd64
for name; do
	dir=$("$top/tests/guest/kernel.sh" get "$name")
	release=$(cat "$dir/release")
	run_dkms build -k "$release" --kernelsourcedir "$dir/build"
	module=$(find "$work/tree/tsctrace/$version/$release" -name 'tsctrace.ko*' | head -n 1)
	[ -s "$module" ] || fail "$release: no module"
	[ "$(modinfo -F vermagic "$module" | cut -d ' ' -f 1)" = "$release" ] ||
		fail "$release: $(modinfo -F vermagic "$module")"
	[ "$(modinfo -F version "$module")" = "$version" ] || fail "$release: another version"
	echo "$release: built"
	if [ "${KEEP:-}" ]; then
		cp "$module" "$KEEP/tsctrace-$release.${module##*tsctrace.}"
	fi
done
