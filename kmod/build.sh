#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh module|samples|sparse|install - the steps behind kmod/Makefile
#
# Kbuild writes its output beside the sources, so it builds in a farm of symlinks
# below build/, one per kernel, and the source tree stays clean. BPF programs need
# the module's BTF to call it. Kbuild generates BTF if the kernel's build directory
# has vmlinux and resolve_btfids. Headers of older kernels lack them: there, this
# script does what the kernel's scripts/Makefile.modfinal would do.
#
# With CONFIG_TSCTRACE_RESERVED=n, the module is tsctrace-unreserved.ko, built beside the usual
# one. With COVER=1, a kernel with KCOV records which code of the module ran.
#
# Environment: KDIR, O, CONFIG_TSCTRACE_RESERVED, COVER, WERROR, V, BASE_BTF, RESOLVE_BTFIDS,
# INSTALL_MOD_PATH.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
out=${O:-$top/build}
kdir=${KDIR:-}
base=${BASE_BTF:-}
resolve=${RESOLVE_BTFIDS:-}
variant=
[ "${CONFIG_TSCTRACE_RESERVED:-y}" = y ] || variant=-unreserved

log_step() { printf '  %-7s %s\n' "$1" "$2"; }
die() { echo "kmod: $*" >&2; exit 1; }

# Sets kdir: the user's KDIR, the running kernel's headers, or the kernel that the
# tests use by default.
choose_kernel() {
	local running dir name
	running=$(uname -r)

	if [ -n "$kdir" ]; then
		[ -f "$kdir/Makefile" ] ||
			die "KDIR=$kdir: no kernel build directory (no Makefile)"
	elif [ -f "/lib/modules/$running/build/Makefile" ]; then
		kdir=/lib/modules/$running/build
	else
		name=$("$top/tests/guest/kernel.sh" default)
		echo "kmod: no headers for the running kernel $running:" \
			"building for $name instead" >&2
		dir=$("$top/tests/guest/kernel.sh" get "$name")
		kdir=$dir/build
	fi
	# The release is read from utsrelease.h, which agrees with uname -r
	# (6.1.0-56-amd64 on Debian), not from include/config/kernel.release,
	# which has 6.1.192 in the same headers.
	release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"/\1/p' \
		"$kdir/include/generated/utsrelease.h" 2>/dev/null || true)
	[ -n "$release" ] ||
		die "$kdir: not ready for modules (run 'make modules_prepare')"
	farm=$out/module/$release/src$variant
	built=$farm/kmod/tsctrace.ko
	module=$out/module/$release/tsctrace$variant.ko
}

sync_farm() {
	local dir file

	[ -f "$top/Kbuild" ] && [ -f "$top/kmod/Kbuild" ] ||
		die "no Kbuild or kmod/Kbuild in $top"
	while read -r dir; do
		mkdir -p "$farm/$dir"
	done < <(cd "$top" && find kmod lib/abi lib/core -type d)
	while read -r file; do
		[ "$farm/$file" -ef "$top/$file" ] ||
			ln -sfn "$top/$file" "$farm/$file"
	done < <(cd "$top" && find Kbuild kmod lib/abi lib/core -type f \
		'(' -name '*.[chS]' ! -name '*.mod.c' -o -name Kbuild ')')
	# Remove symlinks whose sources no longer exist.
	find "$farm" -xtype l -delete
}

# Sets base and resolve: base BTF and resolve_btfids, if found. A kernel directory
# made by tests/guest/kernel.sh has both files beside `build`.
find_btf_tools() {
	local beside=${kdir%/build} candidate

	if [ -z "$base" ]; then
		for candidate in "$kdir/vmlinux" "$beside/btf"; do
			[ -s "$candidate" ] && base=$candidate && break
		done
	fi
	if [ -z "$base" ] && [ "$release" = "$(uname -r)" ] &&
	   [ -r /sys/kernel/btf/vmlinux ]; then
		base=/sys/kernel/btf/vmlinux
	fi
	[ -z "$resolve" ] || return 0
	for candidate in "$kdir/tools/bpf/resolve_btfids/resolve_btfids" \
			"$beside/resolve_btfids" \
			/usr/lib/linux-kbuild-*/tools/bpf/resolve_btfids/resolve_btfids; do
		[ -x "$candidate" ] && resolve=$candidate && break
	done
	return 0
}

# Sets btf to `kbuild`, `script` or `none`, the source of the module's BTF, and why to
# the reason for `none`. Kbuild does not use a base or a tool that the user names.
choose_btf() {
	btf=none why=''
	if ! grep -q '^CONFIG_DEBUG_INFO_BTF_MODULES=y' \
			"$kdir/include/config/auto.conf"; then
		why="kernel $release has no module BTF (CONFIG_DEBUG_INFO_BTF_MODULES)"
	elif ! command -v pahole >/dev/null; then
		why="pahole is missing: install the package dwarves"
	elif [ -z "$base$resolve" ] && [ -s "$kdir/vmlinux" ] &&
	     [ -x "$kdir/tools/bpf/resolve_btfids/resolve_btfids" ]; then
		btf=kbuild
	else
		find_btf_tools
		if [ -z "$base" ]; then
			why="no BTF of kernel $release found: name its vmlinux with BASE_BTF="
		elif [ -z "$resolve" ]; then
			why="resolve_btfids is missing: install a linux-kbuild-6.12*"
			why+=" package or name the tool with RESOLVE_BTFIDS="
		else
			btf=script
		fi
	fi
}

# kbuild_in DIR SYMVERS ARG...: runs Kbuild in DIR, with the exports of other
# modules in SYMVERS. Without pahole, Kbuild's BTF step would fail. O and KBUILD_OUTPUT
# have another meaning in Kbuild; kmod/Makefile keeps O= of the command line out of
# MAKEFLAGS.
kbuild_in() {
	local dir=$1 symvers=$2 no_btf=()
	shift 2

	# After a build of only bzImage, the kernel's exports are in vmlinux.symvers.
	if [ ! -e "$kdir/Module.symvers" ] && [ -e "$kdir/vmlinux.symvers" ]; then
		symvers="$kdir/vmlinux.symvers $symvers"
	fi
	[ "$btf" = kbuild ] || no_btf=(CONFIG_DEBUG_INFO_BTF_MODULES=)
	env -u O -u KBUILD_OUTPUT "${MAKE:-make}" --no-print-directory -C "$kdir" \
		M="$dir" "${no_btf[@]}" W=1 KCFLAGS="${WERROR:-}" \
		KBUILD_EXTRA_SYMBOLS="$symvers" "$@" modules
}

kbuild() { kbuild_in "$farm" '' "$@"; }

add_btf() {
	log_step BTF "${module#"$top/"}"
	"${MAKE:-make}" -s --no-print-directory -f "$top/kmod/btf.mk" KDIR="$kdir" \
		BASE_BTF="$base" RESOLVE_BTFIDS="$resolve" KO="$1" ||
		die "pahole or resolve_btfids could not add BTF to the module"
}

build_module() {
	local stamp=$out/module/$release/.btf$variant want temp

	sync_farm
	want="$btf $base $resolve$why"
	# Kbuild does not add BTF to a module that is up to date.
	[ "$(cat "$stamp" 2>/dev/null)" = "$want" ] || rm -f "$built" "$stamp"
	kbuild
	if [ ! -e "$stamp" ] || [ ! "$module" -nt "$built" ]; then
		temp=$module.tmp
		cp "$built" "$temp"
		[ "$btf" != script ] || add_btf "$temp"
		mv "$temp" "$module"
		# Modules that call tsctrace are built against the exports of tsctrace.ko.
		cp "$farm/Module.symvers" "$out/module/$release/Module.symvers"
		echo "$want" >"$stamp"
		log_step MODULE "${module#"$top/"}"
	fi
	[ -z "$why" ] || explain "$why"
}

# Builds the modules that call tsctrace: the example and the modules of the tests.
build_samples() {
	local from src file to=$out/module/$release/samples
	local symvers=$out/module/$release/Module.symvers

	build_module
	for from in Documentation/examples/kernel tests/guest/modules; do
		src=$to/src/${from//\//-}
		mkdir -p "$src"
		for file in "$top/$from"/*.[ch] "$top/$from/Kbuild"; do
			[ ! -e "$file" ] || ln -sfn "$file" "$src/${file##*/}"
		done
		# Kbuild does not notice that another module's exports have changed.
		[ ! "$symvers" -nt "$src/Module.symvers" ] || rm -f "$src/Module.symvers"
		kbuild_in "$src" "$symvers" TSCTRACE="$top"
		cp "$src"/*.ko "$to"
	done
}

explain() {
	echo "kmod: tsctrace.ko for $release: built without BTF, so BPF" \
		"programs cannot emit events (the rest works): $1" >&2
}

# sparse also reports on the kernel's headers; only reports on kmod/, lib/abi/ and
# lib/core/ are errors.
check_sparse() {
	local log=$out/module/$release/sparse.log

	command -v sparse >/dev/null || die "sparse is missing: install sparse"
	sync_farm
	kbuild C=2 CHECK=sparse 2>&1 | tee "$log"
	if grep -E "/(kmod|lib/abi|lib/core)/[^:]*:[0-9]+:[0-9]+: (warning|error):" \
			"$log" >/dev/null; then
		die "sparse reported warnings"
	fi
	log_step SPARSE "clean"
}

# A module that calls tsctrace is built with TSCTRACE= set to this tree or to
# /usr/src/tsctrace, so headers and Module.symvers have the same paths below both.
install_module() {
	local root=${INSTALL_MOD_PATH:-} file

	build_module
	install -D -m 644 "$module" \
		"$root/lib/modules/$release/updates/tsctrace.ko"
	for file in kmod/include/linux/tsctrace.h \
			$(cd "$top" && echo kmod/uapi/tsctrace/abi*.h); do
		install -D -m 644 "$top/$file" "$root/usr/src/tsctrace/$file"
	done
	install -D -m 644 "$out/module/$release/Module.symvers" \
		"$root/usr/src/tsctrace/build/module/$release/Module.symvers"
	install -D -m 644 "$top/kmod/70-tsctrace.rules" \
		"$root/usr/lib/udev/rules.d/70-tsctrace.rules"
	install -D -m 644 "$top/kmod/modules-load.conf" \
		"$root/usr/lib/modules-load.d/tsctrace.conf"
	depmod ${root:+-b "$root"} "$release"
}

choose_kernel
choose_btf
case ${1:-} in
module) build_module ;;
samples) build_samples ;;
sparse) check_sparse ;;
install) install_module ;;
*) die "usage: build.sh module|samples|sparse|install" ;;
esac
