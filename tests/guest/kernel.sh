#!/bin/bash
# SPDX-License-Identifier: MIT
#
# kernel.sh - fetch the kernels that the module is built for and tested on
#
#   kernel.sh list            print the names of the Debian kernels to test on
#   kernel.sh default         print the default kernel
#   kernel.sh get NAME|PATH   print a directory with this kernel:
#       vmlinuz   image to boot in QEMU
#       vmlinux   the same, unpacked: it starts faster, but without KASLR (Debian's only)
#       build     build directory, KDIR of Kbuild
#       release   text: uname -r
#       btf       base BTF for pahole and resolve_btfids (may be absent)
#       resolve_btfids  the tool, if `build` lacks it (may be absent)
#       drivers   its network drivers, see `drivers` below (Debian's and installed
#                 kernels only)
#   kernel.sh clean           remove everything that was fetched or built
#
# NAME is one of `list`, or 6.1-cloud-amd64, 6.12-cloud-amd64. Its packages are
# downloaded and unpacked under ${XDG_CACHE_HOME:-~/.cache}/tsctrace/kernels and
# never installed: this machine would boot an installed kernel next. 6.1-debug and
# 6.12-debug are kernels with all checkers, see debug_kernel.sh; for Debian's newest see newest.sh.
# PATH is a kernel build tree, a directory as above, or the release of a kernel that is
# installed here.
#
# Exit status: 0 done, 1 failed, 2 usage, 3 this machine's package sources do
# not offer that kernel.
set -euo pipefail
shopt -s inherit_errexit

names="6.1-amd64 6.1-rt-amd64 6.12-amd64 6.12-rt-amd64"
more="6.1-cloud-amd64 6.12-cloud-amd64"		# further kernels, fetched only by name
# Network drivers in loading order; a driver that is built in has no file.
drivers="failover net_failover virtio_ring virtio virtio_pci_modern_dev
	virtio_pci_legacy_dev virtio_pci virtio_net veth"
cache=${XDG_CACHE_HOME:-${HOME:?set HOME or XDG_CACHE_HOME}/.cache}/tsctrace/kernels
temp=

log() { echo "kernel.sh: $*" >&2; }
die() { log "$1"; exit "${2:-1}"; }
cleanup() { [ -z "$temp" ] || rm -rf "$temp"; }
trap cleanup EXIT

complete() {
	[ -s "$1/vmlinuz" ] && [ -s "$1/release" ] && [ -f "$1/build/Makefile" ]
}

# --- Debian's packages ------------------------------------------------------

has_candidate() {
	local found
	found=$(apt-cache policy "$@" 2>/dev/null |
		grep -c '^  Candidate: [^(]' || true)
	[ "$found" -eq $# ]
}

# Prints the newest release of kernel $1 (such as 6.12-amd64) of which apt offers both
# image and headers. Does not use meta packages, because not every suite has them.
newest_release() {
	local line=${1%%-*} flavour=${1#*-} release
	local form="^linux-image-${line//./\\.}\.[^-]*(-[0-9]+)?-$flavour\$"

	apt-cache pkgnames "linux-image-$line." | grep -E "$form" |
	sed 's/^linux-image-//' | sort -rV |
	while read -r release; do
		has_candidate "linux-image-$release" \
			"linux-headers-$release" || continue
		echo "$release"
		break
	done
}

update_lists() {
	[ "$(id -u)" -eq 0 ] || return 1
	log "reading the package lists (apt-get update)"
	apt-get -qq update >&2
}

offered_release() {
	! command -v apt-cache >/dev/null || newest_release "$1" || true
}

# On a new machine the package lists may still be empty.
fill_lists() {
	command -v apt-get >/dev/null ||
		die "apt-get: not found; use KERNEL=PATH" 3
	[ -z "$(apt-cache pkgnames linux-image-)" ] || return 0
	update_lists || true
	[ -n "$(apt-cache pkgnames linux-image-)" ] ||
		die "the package lists are empty (run apt-get update as root;\
 is the network down?)"
}

header_packages() {
	echo "linux-headers-$1"
	apt-cache depends "linux-headers-$1" |
	sed -n 's/^ *Depends: \(linux-\(headers\|kbuild\)-.*\)$/\1/p'
}

# download DIR PACKAGE...: fetch without installing
download() {
	local dir=$1; shift

	if (cd "$dir" && apt-get -q -o APT::Sandbox::User=root download "$@") \
			>"$dir/apt.log" 2>&1; then
		return
	fi
	cat "$dir/apt.log" >&2
	# Old package lists name removed files: updates the lists and retries.
	if [ -z "${KERNEL_SH_RETRY:-}" ] && update_lists; then
		cleanup
		KERNEL_SH_RETRY=1 exec "$0" get "$wanted"
	fi
	die "cannot download $*"
}

# unpack DEB DIR PATTERN...: extract matching members of a package
unpack() {
	local deb=$1 dir=$2; shift 2
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir" --wildcards "$@"
}

# add_drivers DIR TREE: copies the network drivers among the modules in TREE to
# DIR/drivers, and writes the drivers' names in loading order to DIR/drivers/order.
# Fails if TREE has none.
add_drivers() {
	local new=$1/.drivers name file

	rm -rf "$new"
	mkdir -p "$new"
	for name in $drivers; do
		file=$(find "$2" -name "$name.ko*" -print -quit)
		case $file in
		*.xz) xz -dc "$file" >"$new/$name.ko" ;;
		*.zst) zstd -dcq "$file" >"$new/$name.ko" ;;
		?*) cp "$file" "$new/$name.ko" ;;
		*) continue ;;
		esac
		echo "$name" >>"$new/order"
	done
	if [ ! -s "$new/order" ]; then
		rm -rf "$new"
		return 1
	fi
	mv "$new" "$1/drivers"
}

# unpack_image_package DIR DEB: the image and the network drivers, in one pass over the package
unpack_image_package() {
	local name patterns=("./boot/vmlinuz-*")

	mkdir "$1/.unpacked"
	for name in $drivers; do patterns+=("*/kernel/*/$name.ko*"); done
	# tar reports the drivers that are built in as not found, and fails.
	LC_ALL=C unpack "$2" "$1/.unpacked" "${patterns[@]}" 2>"$temp/tar.log" ||
		! grep -v ': Not found in archive$\|: Exiting with failure' "$temp/tar.log" >&2 ||
		die "$2: unpacking failed"
	mv "$1"/.unpacked/boot/vmlinuz-* "$1/vmlinuz" || die "$2: no image found"
	add_drivers "$1" "$1/.unpacked" || die "$2: no network drivers found"
	rm -rf "$1/.unpacked"
}

# ROOT RELEASE DIR: rewrites the only absolute path in the header packages, unpacked in
# ROOT, for their final place DIR. The path is that of an include line in a Makefile.
relocate_headers() {
	local makefile=$1/usr/src/linux-headers-$2/Makefile
	sed -i "s|^include /usr/src/|include $3/usr/src/|" "$makefile"
	grep -q "^include $3/usr/src/" "$makefile" ||
		die "$makefile: no 'include /usr/src/...' line to rewrite"
}

# 6.1's linux-kbuild has no resolve_btfids; 6.12's works for older kernels too.
add_resolve_btfids() {
	local release deb
	release=$(offered_release 6.12-amd64)
	[ -n "$release" ] || return 0
	download "$1" "linux-kbuild-${release%-amd64}"
	deb=$(echo "$1"/linux-kbuild-"${release%-amd64}"_*.deb)
	mkdir "$1/kbuild"
	unpack "$deb" "$1/kbuild" '*/resolve_btfids/resolve_btfids'
	find "$1/kbuild" -type f -exec cp {} "$1/new/resolve_btfids" \;
}

fetch_debian() {
	local release=$1 dir=$2 deb new
	local packages=()

	mkdir -p "$cache"
	temp=$(mktemp -d "$cache/.new.XXXXXX")
	new=$temp/new
	mkdir "$new"
	mapfile -t packages < <(header_packages "$release")
	log "fetching $release"
	download "$temp" "linux-image-$release" "${packages[@]}"
	unpack_image_package "$new" "$(echo "$temp"/linux-image-*.deb)"
	for deb in "$temp"/linux-headers-*.deb "$temp"/linux-kbuild-*.deb; do
		unpack "$deb" "$new" --exclude='./usr/share/*' './usr/*'
	done
	relocate_headers "$new" "$release" "$dir"
	ln -s "usr/src/linux-headers-$release" "$new/build"
	echo "$release" >"$new/release"
	[ -x "$new/build/tools/bpf/resolve_btfids/resolve_btfids" ] ||
		add_resolve_btfids "$temp"
	add_btf "$new"
	rm -rf "$dir"
	mv "$new" "$dir"
	cleanup
	temp=
}

get_debian() {
	local name=$1 link=$cache/$1 release dir old

	mkdir -p "$cache"
	exec 9>"$cache/.lock"
	flock 9
	release=$(offered_release "$name")
	if [ -z "$release" ] && complete "$link"; then
		# Offline: uses the kernel that was fetched before.
		readlink -f "$link"
		return
	elif [ -z "$release" ]; then
		fill_lists
		release=$(offered_release "$name")
	fi
	if [ -z "$release" ]; then
		die "no package linux-image-${name%%-*}.*-${name#*-} is offered\
 by the package sources of this machine; use another kernel with KERNEL=PATH" 3
	fi
	dir=$cache/$release
	old=$(readlink -f "$link" || true)
	{ complete "$dir" && [ -s "$dir/drivers/order" ]; } || fetch_debian "$release" "$dir"
	[ -s "$dir/vmlinux" ] || unpack_image "$dir"
	[ -e "$dir/btf" ] || add_btf "$dir"
	ln -sfn "$release" "$link"
	[ "$old" = "$dir" ] || [ "$old" = "$link" ] || rm -rf "$old"
	echo "$dir"
}

# --- BTF out of an image ----------------------------------------------------

u32_at() { od -An -tu4 -j "$2" -N 4 "$1" | tr -d ' '; }

# Prints the kernel inside a bzImage, found by the x86 boot protocol's header. All
# formats except gzip are followed by a size of 4 bytes.
extract_payload() {
	local image=$1 setup offset length magic tail=4
	local tool=()

	[ "$(od -An -c -j 514 -N 4 "$image" | tr -d ' ')" = HdrS ] || return 1
	setup=$(od -An -tu1 -j 497 -N 1 "$image" | tr -d ' ')
	[ "$setup" -ne 0 ] || setup=4
	offset=$(((setup + 1) * 512 + $(u32_at "$image" 584)))
	length=$(u32_at "$image" 588)
	magic=$(od -An -tx1 -j "$offset" -N 4 "$image" | tr -d ' ')
	case $magic in
	fd377a58) tool=(xz -dc) ;;
	28b52ffd) tool=(zstd -dcq) ;;
	02214c18) tool=(lz4 -dc) ;;
	5d0000*) tool=(xz --format=lzma -dc) ;;
	425a68*) tool=(bzip2 -dc) ;;
	1f8b*) tool=(gzip -dc) tail=0 ;;
	*) return 1 ;;
	esac
	command -v "${tool[0]}" >/dev/null || return 1
	dd if="$image" iflag=skip_bytes,count_bytes skip="$offset" \
		count=$((length - tail)) bs=1M status=none | "${tool[@]}"
}

unpack_image() {	# DIR
	extract_payload "$1/vmlinuz" >"$1/vmlinux.tmp" || true
	mv "$1/vmlinux.tmp" "$1/vmlinux"
}

extract_btf() {
	local image=$1 out=$2 elf=$2.elf
	if ! { extract_payload "$image" >"$elf" &&
	       objcopy --dump-section ".BTF=$out" "$elf" "$elf.copy"; } \
	       2>/dev/null; then
		rm -f "$out"
	fi
	rm -f "$elf" "$elf.copy"
}

has_btf_section() {
	[ -f "$1" ] && grep -q ' \.BTF ' < <(readelf -SW "$1" 2>/dev/null)
}

add_btf() {
	if has_btf_section "$1/build/vmlinux"; then
		ln -sfn build/vmlinux "$1/btf"
	elif [ "$(cat "$1/release")" = "$(uname -r)" ] &&
	     [ -r /sys/kernel/btf/vmlinux ]; then
		cp /sys/kernel/btf/vmlinux "$1/btf"
	else
		extract_btf "$1/vmlinuz" "$1/btf"
	fi
	[ -e "$1/btf" ] || log "$(cat "$1/release"): no BTF found in its\
 image (built without it, or its decompressor is missing here)"
}

# --- other kernels ----------------------------------------------------------

# view KEY VMLINUZ BUILD RELEASE: makes the directory view-KEY in the cache, with links
# to a kernel image and its build directory, and prints the path of view-KEY
view() {
	local dir=$cache/view-$1

	[ -r "$2" ] || die "$2: cannot read this kernel image"
	[ -f "$3/Makefile" ] || die "$3: no kernel headers here"
	[ -n "$4" ] || die "$3: not ready to build modules against: run\
 'make bzImage modules_prepare' there first"
	mkdir -p "$cache"
	exec 9>"$cache/.lock"
	flock 9
	rm -rf "$dir"
	mkdir "$dir"
	ln -s "$(realpath "$2")" "$dir/vmlinuz"
	ln -s "$(realpath "$3")" "$dir/build"
	echo "$4" >"$dir/release"
	add_btf "$dir"
	echo "$dir"
}

tree_release() {
	sed -n 's/^#define UTS_RELEASE "\(.*\)"/\1/p' \
		"$1/include/generated/utsrelease.h" 2>/dev/null || true
}

installed_image() {	# RELEASE
	local image
	# Debian's packages have it in the second place from 7.2 on.
	for image in "/boot/vmlinuz-$1" "/lib/modules/$1/vmlinuz"; do
		[ -e "$image" ] && echo "$image" && return
	done
	return 1
}

get_path() {
	local path=$1 real image

	if [ -d "$path" ]; then
		real=$(realpath "$path")
		if complete "$real"; then
			echo "$real"
		elif [ -f "$real/arch/x86/boot/bzImage" ]; then
			view "$(echo "$real" | md5sum | head -c 12)" \
				"$real/arch/x86/boot/bzImage" "$real" \
				"$(tree_release "$real")"
		else
			die "$path: neither a built kernel tree (no\
 arch/x86/boot/bzImage) nor a directory with vmlinuz, build and release"
		fi
	elif image=$(installed_image "$path"); then
		[ -d "/lib/modules/$path/build" ] ||
			die "$path: install linux-headers-$path first"
		view "$path" "$image" "/lib/modules/$path/build" "$path"
		add_drivers "$cache/view-$path" "/lib/modules/$path" || true
	else
		die "$path: no such kernel. Known names: $names $more 6.1-debug 6.12-debug; or give a\
 kernel build tree, or the release of an installed kernel"
	fi
}

get_other() {
	local tree
	case $1 in
	6.1-debug|6.12-debug)
		tree=$("$(dirname "$0")/debug_kernel.sh" "${1%-debug}") || exit $?
		get_path "$tree" ;;
	*)
		get_path "$1" ;;
	esac
}

default_name() {
	complete "$cache/6.12-amd64" || fill_lists
	if complete "$cache/6.12-amd64" ||
	   [ -n "$(offered_release 6.12-amd64)" ]; then
		echo 6.12-amd64
		return
	fi
	log "no 6.12 kernel is offered here: using 6.1"
	echo 6.1-amd64
}

case ${1:-} in
list)
	[ $# -eq 1 ] || die "usage: kernel.sh list" 2
	tr ' ' '\n' <<<"$names" ;;
default)
	[ $# -eq 1 ] || die "usage: kernel.sh default" 2
	default_name ;;
get)
	[ $# -eq 2 ] && [ -n "$2" ] || die "usage: kernel.sh get NAME|PATH" 2
	wanted=$2
	case " $names $more " in
	*" $2 "*) get_debian "$2" ;;
	*) get_other "$2" ;;
	esac ;;
clean)
	rm -rf --one-file-system "$cache" "${cache%/kernels}"/{debug,newest}-* ;;
*)
	die "usage: kernel.sh list | default | get NAME|PATH | clean" 2 ;;
esac
