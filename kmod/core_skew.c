// SPDX-License-Identifier: GPL-2.0-only
#include "../lib/core/skew_interval.c"
