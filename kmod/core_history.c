// SPDX-License-Identifier: GPL-2.0-only
#include "../lib/core/segment_history.c"
