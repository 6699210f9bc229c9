#!/bin/bash
# SPDX-License-Identifier: MIT
#
# dkms.sh DIR - write the sources of the module, with dkms.conf, to DIR
#
# DIR is /usr/src/tsctrace-VERSION on the machine where `dkms add tsctrace/VERSION` is run.
set -euo pipefail

dir=$(realpath -m "${1:?usage: dkms.sh DIR}")
cd "$(dirname "$0")/../.."
version=$(tools/packaging/release.sh version)

# Only the module's own sources: products of a build next to them stay out.
sources() {
	find kmod lib/abi lib/core \( -name '*.[ch]' -o -name Kbuild \) ! -name '*.mod.c'
	echo Kbuild
}

while read -r file; do
	install -D -m 644 "$file" "$dir/$file"
done < <(sources | sort)
for file in LICENSE LICENSES/*; do
	install -D -m 644 "$file" "$dir/$file"
done
sed "s/@VERSION@/$version/" tools/packaging/dkms.conf.in >"$dir/dkms.conf"
