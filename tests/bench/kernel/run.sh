#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [KERNEL] - cost of an event in the kernel, in instructions
#
# Boots a guest on one CPU whose counter counts instructions (-icount), so that
# the figures are the same in every run, and prints "name value unit" lines:
# tsct_emit() from a kernel module, tsct_bpf_emit() from a BPF program, and the
# usual alternatives to each, all with 8 bytes of payload. KERNEL is an argument
# of `tests/guest/kernel.sh get`; default: 6.12-amd64.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
guest=$top/tests/guest
build=$(realpath -m "${O:-$top/build}")
work=$build/bench/kernel
export O=$build
unset MAKEFLAGS MFLAGS MAKELEVEL

die() { echo "bench-kernel: $*" >&2; exit 1; }
quietly() {	# LOG COMMAND...: prints its output only if it fails
	local log=$work/$1
	shift
	"$@" >"$log" 2>&1 || { tail -n 30 "$log" >&2; die "$* failed"; }
}

# Kbuild writes beside the sources, so it gets a folder of links below build/.
build_module() {	# KERNEL_DIR RELEASE
	local src=$work/$2 symvers=$build/module/$2/Module.symvers

	[ -e "$1/build/Module.symvers" ] ||
		symvers="$1/build/vmlinux.symvers $symvers"
	rm -rf "$src"	# Kbuild does not notice another Module.symvers
	mkdir -p "$src"
	ln -sfn "$here/Kbuild" "$here/tsct-bench.c" "$src"
	quietly module.log make -C "$1/build" M="$src" TSCTRACE="$top" W=1 \
		CONFIG_DEBUG_INFO_BTF_MODULES= KBUILD_EXTRA_SYMBOLS="$symvers" \
		modules
}

mkdir -p "$work"
dir=$("$guest/kernel.sh" get "${1:-6.12-amd64}")
release=$(cat "$dir/release")
quietly tsctrace.log make -C "$top/kmod" KDIR="$dir/build"
build_module "$dir" "$release"
quietly insns.log make -C "$here"
quietly init.log make -C "$guest" "$build/tests/guest/init"

cat >"$work/plan" <<PLAN
test load 60 - insmod /lib/modules/tsctrace.ko && insmod /lib/modules/tsct-bench.ko
test bench 600 live /usr/bin/insns
PLAN
"$guest/mkinitrd.sh" "$work/initrd" "$build/tests/guest/init=/init" \
	"$build/module/$release/tsctrace.ko=/lib/modules/tsctrace.ko" \
	"$work/$release/tsct-bench.ko=/lib/modules/tsct-bench.ko" \
	"$work/insns=/usr/bin/insns" "$work/plan=/tests/plan"
echo "# $release, one CPU, QEMU -icount: instructions per event of 8 bytes"
"$guest/boot.sh" --icount --time 900 --console "$work/console" "$dir" \
	"$work/initrd" >"$work/out" 2>&1 || true
tr -d '\r' <"$work/out" | grep -E '^[a-z0-9_]+ [0-9.]+ [a-z]+$|^# [a-z]+_[a-z_]+:' || true
if ! grep -q '^ok 2 - bench' "$work/out"; then
	cat "$work/out" >&2
	tail -n 20 "$work/console" | tr -d '\r' >&2
	die "the benchmark in the guest failed (console: $work/console)"
fi
