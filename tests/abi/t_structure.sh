#!/bin/sh
# SPDX-License-Identifier: MIT
# The structure of the sources, measured: circles between files, headers with one client that
# promise nothing, clients of a private header, the lines of the core, and the walks of an event
# and of a packet through the functions. structure.table has today's values.
set -eu
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-build}") exec python3 tests/abi/structure.py
