// SPDX-License-Identifier: GPL-2.0-only
#include "../lib/core/event_def_parse.c"
