#!/bin/bash
# SPDX-License-Identifier: MIT
#
# dist.sh DIR - write DIR/tsctrace-VERSION.tar.xz, the sources of this release
#
# The same sources give the same bytes, wherever and whenever they are packed, be it from a
# git checkout or from an unpacked tarball: files that git tracks (without git: all but
# build/), sorted, owned by root, dated by SOURCE_DATE_EPOCH or the release in NEWS.
# Prints the path of the tarball.
set -euo pipefail
export LC_ALL=C

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$(realpath -m "${1:?usage: dist.sh DIR}")
cd "$top"
name=tsctrace-$(tools/packaging/release.sh version)

list_files() {
	if [ -e .git ]; then
		git ls-files -z
	else
		find . -path ./build -prune -o \( -type f -o -type l \) -printf '%P\0'
	fi | sort -z
}

mkdir -p "$out"
# One thread: the number of threads changes what xz writes.
list_files | tar --create --no-recursion --null --format=gnu \
	--transform="flags=r;s|^|$name/|" --mtime="@$(tools/packaging/release.sh epoch)" \
	--owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --files-from=- |
	xz --threads=1 -6 >"$out/$name.tar.xz.new"
mv "$out/$name.tar.xz.new" "$out/$name.tar.xz"
echo "$out/$name.tar.xz"
