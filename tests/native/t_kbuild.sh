#!/bin/bash
# SPDX-License-Identifier: MIT
# The module builds as any module does, by one make in the kernel's build directory, in
# a copy of the sources: with W=1 and no warning, and with BTF in which BPF programs
# find the kfunc. Variables O and KBUILD_OUTPUT for kmod/Makefile do not reach Kbuild.
# KERNEL= names a kernel other than the default, as for tests/guest/kernel.sh get. The
# time limit is for a first run, which downloads the kernel.
# test-timeout: 900
needs_no_programs=yes
. "$(dirname "$0")/lib.sh"
need bpftool objcopy readelf

unset O KDIR MAKEFLAGS MFLAGS MAKELEVEL KBUILD_OUTPUT

kernel=${KERNEL:-$("$top/tests/guest/kernel.sh" default)}
dir=$("$top/tests/guest/kernel.sh" get "$kernel")

# Checks that the module $1 has the kfunc in its BTF, and its id in .BTF_ids, which are a
# count, flags, and an id and flags of each function.
check_btf() {
	local id base=(--base-btf "$dir/btf")
	# Newer kernels have modules carry the part of the base that they refer to.
	! grep -q ' \.BTF\.base ' < <(readelf -SW "$1") || base=()
	bpftool "${base[@]}" btf dump file "$1" >"$work/btf" 2>&1 ||
		fail "$1: $(cat "$work/btf")"
	id=$(sed -n "s/^\[\([0-9]*\)\] FUNC 'tsct_bpf_emit'.*/\1/p" "$work/btf")
	[ -n "$id" ] || fail "$1: no tsct_bpf_emit in its BTF"
	objcopy -O binary --only-section=.BTF_ids --set-section-flags .BTF_ids=alloc \
		"$1" "$work/ids"
	# shellcheck disable=SC2046
	set -- $(od -An -v -tu4 "$work/ids")
	[ "$1" = 1 ] && [ "$3" = "$id" ] ||
		fail "BTF ids are $*, but tsct_bpf_emit is $id"
}

# --- plain Kbuild ---------------------------------------------------------------

mkdir -p "$work/tree/lib"
cp -R "$top/Kbuild" "$top/kmod" "$work/tree"
cp -R "$top/lib/abi" "$top/lib/core" "$work/tree/lib"
make -C "$dir/build" M="$work/tree" W=1 modules >"$work/log" 2>&1 || fail "make"
! grep -i 'warning:' "$work/log" || fail "warnings"
# Headers of older kernels lack vmlinux, and Kbuild generates no BTF.
[ ! -s "$dir/build/vmlinux" ] || check_btf "$work/tree/kmod/tsctrace.ko"

# --- kmod/Makefile --------------------------------------------------------------

# The given build directory is another one than Kbuild's, which must not use it.
KBUILD_OUTPUT=$work/none make -C "$work/tree/kmod" KDIR="$dir/build" O="$work/out" \
	>"$work/log" 2>&1 || fail "make -C kmod O="
[ ! -e "$work/none" ] || fail "KBUILD_OUTPUT was used"
check_btf "$work/out/module/$(cat "$dir/release")/tsctrace.ko"
# With a base that the user names, build.sh generates BTF and not Kbuild.
make -C "$work/tree/kmod" KDIR="$dir/build" O="$work/own" BASE_BTF="$dir/btf" \
	>"$work/log" 2>&1 || fail "make -C kmod BASE_BTF="
grep -q '^  BTF  ' "$work/log" || fail "Kbuild generated the BTF"
check_btf "$work/own/module/$(cat "$dir/release")/tsctrace.ko"
echo "built for $(cat "$dir/release")"
