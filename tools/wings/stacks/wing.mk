# SPDX-License-Identifier: MIT
WING_PKGS += libdw
