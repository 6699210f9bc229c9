// SPDX-License-Identifier: GPL-2.0-only
#include "../lib/core/clock_params.c"
