#!/bin/sh
# SPDX-License-Identifier: MIT
# Documentation/netlink/tsctrace.yaml agrees with abi_netlink.h, with the other headers
# and with kmod/netlink.c: see netlink_spec.py. With $YNL_SCHEMA, a copy of
# Documentation/netlink/genetlink-c.yaml of Linux, it is also validated by that schema.
# test-fast: yes
set -eu
cd "$(dirname "$0")/../.."
exec python3 tests/abi/netlink_spec.py ${YNL_SCHEMA:+"$YNL_SCHEMA"}
