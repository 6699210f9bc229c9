# SPDX-License-Identifier: MIT
WING_PKGS += otf2
