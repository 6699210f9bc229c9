#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mkinitrd.sh OUT HOST[=GUEST]... - pack files of the host into an initrd
#
# Each HOST file or directory goes to GUEST (default: the same path); hard links of one
# file stay that. Shared libraries and their loader are added. Busybox gives the guest a shell and
# the usual commands; a HOST file of the same name takes precedence over it.
# Root is not needed.
set -euo pipefail

die() { echo "mkinitrd.sh: $*" >&2; exit 1; }

[ $# -ge 1 ] || { echo "usage: mkinitrd.sh OUT HOST[=GUEST]..." >&2; exit 2; }
out=$1
shift
command -v cpio >/dev/null || die "cpio is missing: install cpio"
busybox=$(command -v busybox) || die "busybox is missing: install busybox-static"
! ldd "$busybox" >/dev/null 2>&1 ||
	die "$busybox is dynamically linked: install busybox-static"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# In the initrd, /bin, /sbin, /lib and /lib64 are links to directories in /usr, as on
# the host, so both forms of a path to a program or library name the same file.
mkdir -p "$root"/{dev,proc,sys,tmp,run,root,etc,var/tmp,mnt} \
	"$root"/usr/{bin,sbin,lib,lib64}
for dir in bin sbin lib lib64; do
	ln -s "usr/$dir" "$root/$dir"
done
chmod 1777 "$root/tmp" "$root/var/tmp"
printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' \
	>"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"

add_libraries() {
	local path list
	# ldd fails if the file is statically linked, or is no program.
	list=$(ldd "$1" 2>/dev/null) || return 0
	[[ $list != *"not found"* ]] || die "$1: $(grep 'not found' <<<"$list")"
	# Copies each PATH in ldd's lines "NAME => PATH (0x...)" and "PATH (0x...)".
	for path in $(grep -o '/[^ ]*' <<<"$list"); do
		[ ! -e "$root$path" ] || continue
		mkdir -p "$root${path%/*}"
		cp -L "$path" "$root$path"
	done
}

declare -A link_of	# guest's path by inode of the host's file
add() {
	local host=$1 guest=$2 file inode
	[ -e "$host" ] || die "$host: no such file"
	mkdir -p "$root${guest%/*}"
	inode=$(stat -Lc %d:%i "$host")
	if [ -n "${link_of[$inode]:-}" ]; then
		# Several tests may name one file.
		[ "${link_of[$inode]}" = "$guest" ] ||
			ln -f "$root${link_of[$inode]}" "$root$guest"
		return
	fi
	[ -d "$host" ] || link_of[$inode]=$guest
	if [ -d "$host" ]; then
		mkdir -p "$root$guest"
		cp -RL --preserve=mode "$host/." "$root$guest"
	else
		cp -L --preserve=mode "$host" "$root$guest"
	fi
	while read -r file; do
		add_libraries "$file"
	done < <(find -L "$host" -type f -perm -100)
}

cp -L "$busybox" "$root/usr/bin/busybox"
"$busybox" --list-full | grep bin/ | while read -r applet; do
	applet=/usr/${applet#usr/}
	[ -e "$root$applet" ] || ln -s /usr/bin/busybox "$root$applet"
done
for spec; do
	host=${spec%%=*} guest=${spec#*=}
	[ "$guest" != "$spec" ] || guest=$(realpath -s "$host")
	# Replaces a busybox applet's link instead of writing through the link.
	[ ! -L "$root$guest" ] || rm "$root$guest"
	add "$host" "$guest"
done
(cd "$root" && find . -print0 | LC_ALL=C sort -z |
	cpio --quiet -0 -o -H newc -R 0:0) >"$out.tmp"
mv "$out.tmp" "$out"
