#!/bin/sh
# SPDX-License-Identifier: MIT
#
# release.sh version	print the version, from kmod/uapi/tsctrace/version.h
# release.sh epoch	print SOURCE_DATE_EPOCH, or else midnight UTC at the beginning of
#			the day of the release in NEWS, in seconds since 1970
set -eu
cd "$(dirname "$0")/../.."
version=$(sed -n 's/.*TSCT_VERSION[^"]*"\(.*\)"/\1/p' kmod/uapi/tsctrace/version.h)
case ${1:-} in
version) echo "$version" ;;
epoch)
	day=$(sed -n "s/^tsctrace $version (\(....-..-..\))$/\1/p" NEWS)
	[ "${SOURCE_DATE_EPOCH:-}$day" ] || {
		echo "release.sh: NEWS has no line 'tsctrace $version (YYYY-MM-DD)'" >&2
		exit 1
	}
	echo "${SOURCE_DATE_EPOCH:-$(date -u -d "$day" +%s)}"
	;;
*)
	echo "usage: release.sh version | epoch" >&2
	exit 2
	;;
esac
