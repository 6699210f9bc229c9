// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/clock/clock_page.h"
#include "lib/clockpage/clock_segments.h"
#include "lib/clockpage/latch.h"
#include "node_history.h"

void history_default_dir(const char *dir, char *text, size_t size)
{
	const char *run = tsct_run_dir();

	snprintf(text, size, "%s/" TSCT_HISTORY_DIR, dir ? dir :
		 strcmp(run, TSCT_RUN_DIR) ? run : HISTORY_STATE_DIR);
}

bool history_parse_boot(const char *text, __u8 ret[16])
{
	unsigned int nr = 0, byte;
	char two[3] = "";

	for (; *text && nr < 16; text++) {
		if (*text == '-')
			continue;
		two[0] = text[0];
		two[1] = text[1];
		if (!isxdigit((unsigned char)two[0]) || !isxdigit((unsigned char)two[1]))
			return false;
		sscanf(two, "%2x", &byte);
		ret[nr++] = (__u8)byte;
		text++;
	}
	return nr == 16 && (!*text || *text == '\n');
}

int history_add_present(struct tsct_history *history)
{
	struct tsct_clock_area area;
	struct tsct_clock_copy copy;
	char why[256];
	int err;

	if (tsct_clock_area_map_file(tsct_run_dir(), &area, why, sizeof(why)))
		return 0;
	err = tsct_latch_read_copy(area.page, &copy) ||
		tsct_segments_valid(&copy) ? 0 : tsct_history_add_copy(history, &copy);
	tsct_clock_area_unmap(&area);
	return err;
}
