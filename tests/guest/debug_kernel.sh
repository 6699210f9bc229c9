#!/bin/bash
# SPDX-License-Identifier: MIT
#
# debug_kernel.sh LINE - build a debug kernel of the tests, once
#
# Prints a kernel build tree that kernel.sh takes as PATH: the newest
# linux-source-LINE (6.1, 6.12) that this machine's package sources offer,
# configured by debug.config (KASAN, lockdep, UBSAN, kmemleak, fault injection, ...).
# It is in ${XDG_CACHE_HOME:-~/.cache}/tsctrace/debug-VERSION-HASH, HASH being that of
# debug.config, and is built if it is not there: 6 to 20 minutes on two CPUs,
# 4 GiB while it is built, 2 GiB afterwards. Nothing is installed. Offline, one
# that was built before is used.
#
# Exit status: 0 done, 1 failed, 3 this machine's package sources do not offer
# the source.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "$0")" && pwd)
config=$here/debug.config
cache=${XDG_CACHE_HOME:-${HOME:?set HOME or XDG_CACHE_HOME}/.cache}/tsctrace
hash=$(sha256sum <"$config" | head -c 12)
temp=

log() { echo "debug_kernel.sh: $*" >&2; }
die() { log "$1"; exit "${2:-1}"; }
cleanup() { [ -z "$temp" ] || rm -rf "$temp"; }
trap cleanup EXIT

complete() { [ -f "$1/.tsctrace-complete" ]; }

offered_version() {
	! command -v apt-cache >/dev/null ||
		apt-cache policy "$package" 2>/dev/null |
		sed -n 's/^  Candidate: \([^(]*\)$/\1/p'
}

# Prints the newest kernel that was built with this debug.config.
built_before() {
	local dir
	for dir in "$cache/debug-$line".*-"$hash"; do
		! complete "$dir" || echo "$dir"
	done | sort -V | tail -n 1
}

need_tools() {
	local tool
	for tool in gcc make flex bison bc pahole xz; do
		command -v "$tool" >/dev/null ||
			die "$tool is missing: run tests/deps.sh --debug-kernel"
	done
}

fetch() {	# VERSION DIR
	log "fetching $package $1"
	(cd "$2" && apt-get -q -o APT::Sandbox::User=root download \
		"$package=$1") >"$2/apt.log" 2>&1 || {
		cat "$2/apt.log" >&2
		die "cannot download $package $1"
	}
	dpkg-deb --fsys-tarfile "$(echo "$2/$package"_*.deb)" |
		tar -x -O --wildcards "./usr/src/$package.tar.*" |
		tar -x -J -C "$2"
	mv "$2/$package" "$2/tree"
}

# Fails if Kconfig dropped a line of debug.config: a checker would be missing.
check_config() {	# TREE
	local option missing=()
	while read -r option; do
		case $option in
		"# CONFIG_"*" is not set")
			option=${option#\# } option=${option%% *}
			! grep -q "^$option=" "$1/.config" ||
				missing+=("$option is set") ;;
		CONFIG_*)
			grep -qxF "$option" "$1/.config" || missing+=("$option") ;;
		esac
	done <"$config"
	[ ${#missing[@]} -eq 0 ] ||
		die "debug.config: Kconfig did not take ${missing[*]}"
}

configure() {	# TREE
	make -s -C "$1" tinyconfig
	# From 6.2 on, tinyconfig's allocator is one that cannot be checked.
	(cd "$1" && scripts/config --disable SLUB_TINY &&
		scripts/kconfig/merge_config.sh -m .config "$config")
	make -s -C "$1" olddefconfig
}

# Deletes files of the kernel tree that builds of modules do not need. Object files are
# half of the tree's size.
slim() {	# TREE
	find "$1" -name '*.o' ! -path '*/scripts/*' ! -path '*/tools/*' -delete
	find "$1" -name '*.a' ! -path '*/tools/*' -delete
	rm -f "$1"/.tmp_vmlinux* "$1"/.btf.*
	rm -rf "$1/Documentation" "$1/sound"
}

build() {	# VERSION DIR
	local log=$cache/debug-build-$line.log tree

	need_tools
	mkdir -p "$cache"
	temp=$(mktemp -d "$cache/.debug.XXXXXX")
	tree=$temp/tree
	fetch "$1" "$temp"
	log "building it with $(nproc) jobs, which takes a while; see $log"
	configure "$tree" >"$log" 2>&1 || { tail "$log" >&2; die "make olddefconfig failed"; }
	check_config "$tree"
	# The build writes absolute file names into its output, so the source is moved
	# to its final directory before the kernel is built.
	rm -rf "$2"
	mv "$tree" "$2"
	if ! nice make -s -C "$2" -j"$(nproc)" bzImage modules_prepare \
			>>"$log" 2>&1; then
		tail -n 30 "$log" >&2
		die "the build failed: $log"
	fi
	slim "$2"
	touch "$2/.tsctrace-complete"
}

[ $# -eq 1 ] || die "usage: debug_kernel.sh 6.1|6.12" 1
line=$1
package=linux-source-$line
unset MAKEFLAGS MFLAGS MAKELEVEL O KDIR
mkdir -p "$cache"
exec 8>"$cache/.debug-lock-$line"
flock 8
version=$(offered_version)
if [ -z "$version" ] && command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
	apt-get -qq update >&2 || true
	version=$(offered_version)
fi
dir=$cache/debug-$version-$hash
if [ -z "$version" ]; then
	dir=$(built_before)
	[ -n "$dir" ] || die "no $package is offered by the package sources of\
 this machine: build a kernel with $config yourself, and name it: make\
 check-guest KERNEL=PATH" 3
fi
complete "$dir" || build "$version" "$dir"
echo "$dir"
