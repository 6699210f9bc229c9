#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rpm.sh DIR - build the RPM packages of this tree in DIR, by tsctrace.spec
#
# On a system without RPM packages of its own, such as Debian, rpmbuild cannot check the
# build's dependencies; then the build itself says which one is missing.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:?usage: rpm.sh DIR}")
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES O DESTDIR PREFIX
umask 022	# of the files in the packages
command -v rpmbuild >/dev/null || { echo "rpm.sh: install rpmbuild (rpm-build; rpm)" >&2; exit 1; }
SOURCE_DATE_EPOCH=$("$here/release.sh" epoch)
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8

nodeps=
rpm -q --quiet rpm 2>/dev/null || nodeps=--nodeps
mkdir -p "$out/SOURCES"
"$here/dist.sh" "$out/SOURCES"
install -D -m 644 "$here/tsctrace.spec" "$out/SPECS/tsctrace.spec"
rpmbuild -ba $nodeps --define "_topdir $out" \
	--define "release_version $("$here/release.sh" version)" \
	--define "release_day $(date -u -d "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y')" \
	--define 'clamp_mtime_to_source_date_epoch 1' \
	--define 'use_source_date_epoch_as_buildtime 1' --define '_buildhost reproducible' \
	"$out/SPECS/tsctrace.spec"
find "$out/RPMS" "$out/SRPMS" -name '*.rpm'
