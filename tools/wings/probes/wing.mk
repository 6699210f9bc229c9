# SPDX-License-Identifier: MIT
WING_PKGS += libelf libtracefs libtraceevent
