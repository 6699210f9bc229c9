#!/bin/bash
# SPDX-License-Identifier: MIT
#
# deb.sh DIR - build the Debian packages of this tree in DIR
#
# Unpacks the release's tarball to DIR/tsctrace-VERSION, with debian/ from this folder at
# its top, and runs dpkg-buildpackage there. The packages have the date in NEWS, so the
# same sources, built with the same tools, give the same packages.
# The packages that the build needs are in debian/control; from the top of the source tree,
# `apt-get build-dep ./tools/packaging` installs them. Variables: DEB_REVISION is appended to
# the version (such as ~deb12u1); DEB_MAINTAINER="NAME <ADDRESS>" is the maintainer.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:?usage: deb.sh DIR}")
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES O DESTDIR PREFIX
umask 022	# of the files in the packages
version=$("$here/release.sh" version)
SOURCE_DATE_EPOCH=$("$here/release.sh" epoch)
export SOURCE_DATE_EPOCH
export LC_ALL=C.UTF-8 TZ=UTC

command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || {
	echo "deb.sh: install debhelper and dpkg-dev, or all that the build needs:" \
		"sudo apt-get build-dep ./tools/packaging" >&2
	exit 1
}

[ -n "${DEB_MAINTAINER:-}" ] ||
	echo "deb.sh: DEB_MAINTAINER is not set: the packages name an address that gets no mail" >&2
mkdir -p "$out"
rm -rf "${out:?}/tsctrace-$version"
tar -xf "$("$here/dist.sh" "$out")" -C "$out"
cd "$out/tsctrace-$version"
cp -R tools/packaging/debian debian
mkdir debian/source
echo '3.0 (native)' >debian/source/format
[ -z "${DEB_MAINTAINER:-}" ] || sed -i "s/^Maintainer: .*/Maintainer: $DEB_MAINTAINER/" debian/control
cat >debian/changelog <<END
tsctrace ($version${DEB_REVISION:-}) unstable; urgency=medium

  * Release $version; see NEWS.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -u -d "@$SOURCE_DATE_EPOCH" -R)
END
dpkg-buildpackage --build=full --unsigned-source --unsigned-changes
