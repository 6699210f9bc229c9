// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/sysfs_read.h"
#include "lib/clock/clock_page.h"
#include "lib/clock/clock_source.h"
#include "lib/clockpage/clock_segments.h"
#include "lib/clockpage/latch.h"
#include "node_history.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"

#define BOOT_ID		"/proc/sys/kernel/random/boot_id"

bool node_history_parse_boot(const char *text, __u8 ret[16])
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

int node_history_read_boot(__u8 ret[16])
{
	char text[64] = "";

	tsct_sysfs_read_line(BOOT_ID, text, sizeof(text));
	return node_history_parse_boot(text, ret) ? 0 : -EIO;
}

int node_history_present_boot(__u8 ret[16])
{
	if (node_history_read_boot(ret))
		return ctl_fail(EXIT_FAILED, BOOT_ID
				": not readable; mount /proc, or name the boot");
	return EXIT_DONE;
}

void node_history_path(const char *dir, char *text, size_t size)
{
	const char *run = tsct_run_dir();

	snprintf(text, size, "%s/" TSCT_HISTORY_DIR, dir ? dir :
		 strcmp(run, TSCT_RUN_DIR) ? run : NODE_HISTORY_STATE_DIR);
}

static int add_published(struct tsct_history *history)
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

int node_history_end(struct tsct_history *history, bool is_present, const char *dir)
{
	struct tsct_history_pairing now = { 0 };
	int err;

	if (!is_present)
		return tsct_history_end(history, NULL);
	err = dir ? 0 : add_published(history);
	tsct_source_compare(CLOCK_REALTIME, &now.real_min_ns, &now.real_max_ns);
	tsct_source_compare(CLOCK_BOOTTIME, &now.boot_min_ns, &now.boot_max_ns);
	return err ?: tsct_history_end(history, &now);
}

int node_history_open(const char *dir, const __u8 *boot, struct tsct_history **ret)
{
	struct tsct_history_found found;
	char path[4096], why[256];
	__u8 present[16];
	int err;

	node_history_path(dir, path, sizeof(path));
	if (node_history_present_boot(present))
		return EXIT_FAILED;
	err = tsct_history_load(path, boot ?: present, ret, &found, why, sizeof(why));
	if (err == -ENOENT)
		return ctl_fail(EXIT_FAILED, "%s: the daemon has recorded no clock there; start "
				"tsctraced without 'history off' in tsctraced.conf, or name "
				"another directory", path);
	if (err == -ENODATA && !found.foreign_files)
		return ctl_fail(EXIT_FAILED, "%s: nothing is recorded of %s; 'trace-ctl time"
				" --list' prints the recorded boots", path,
				boot && memcmp(boot, present, 16) ? "that boot" : "this boot");
	if (err)
		return ctl_fail(EXIT_FAILED, "%s: %s", path, why);
	if (found.foreign_files)
		ctl_error("%s: %s%s", path, found.foreign, found.foreign_files > 1 ?
			  ", and further files were not read" : "");
	if (found.damaged_records)
		ctl_error("%s: %u damaged records are left out: their times are unknown", path,
			  found.damaged_records);
	if (node_history_end(*ret, !boot || !memcmp(boot, present, 16), dir)) {
		tsct_history_free(*ret);
		return ctl_fail(EXIT_FAILED, "out of memory");
	}
	return EXIT_DONE;
}

const char *node_history_reason(int err)
{
	_Static_assert(TSCT_HISTORY_TIMES == 8, "the text has the number");

	switch (err) {
	case -ERANGE:
		return "before all that is recorded of this boot";
	case -EOVERFLOW:
		return "after all that is recorded of this boot and is still valid";
	case -ENODATA:
		return "nothing is known of that time: no daemon ran, or the clock was disrupted";
	case -ENOENT:
		return "nothing is recorded of that clock";
	case -E2BIG:
		return "the clock had that value more than 8 times";
	default:
		return strerror(-err);
	}
}
