// SPDX-License-Identifier: MIT
/*
 * Module and daemon of different releases: a daemon that finds an older module names both
 * versions, does not use it, and keeps its clock without it. A module that finds an older daemon,
 * which wants the module to keep the clock, refuses that request and says so in the kernel's log.
 * guest-test: module=no timeout=60
 * guest-test: files=build/daemon/tsctraced
 */
#include <sys/klog.h>
#include <sys/prctl.h>
#include <tsctrace/version.h>

#include "lib.h"
#include "modules.h"

#define READ_ALL	3	/* SYSLOG_ACTION_READ_ALL */

static char text[1 << 20];

static bool log_has(const char *part)
{
	FILE *file = fopen(LIB_LOG, "r");
	size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[len] = '\0';
	return strstr(text, part);
}

static bool has_clock(void)
{
	struct tsct_clock *clock = NULL;
	const bool has = lib_open_clock(&clock) && lib_is_synchronized(clock);

	tsct_clock_close(clock);
	return has;
}

static void try_old_module(void)
{
	pid_t pid;

	mod_load("/lib/modules/tsct-old.ko", "");
	pid = lib_start_daemon("200");
	t_until(log_has("the module is of version 0.0.9, and this tsctraced of version "
			TSCT_VERSION ": the module is not used"));
	t_until(has_clock());
	lib_stop_daemon(pid);
	t_check(!mod_unload("tsct_old"), "%m");
}

static void try_old_daemon(void)
{
	/* The request of daemons up to version 0.1 for the module's clock */
	const unsigned long clock_set = _IOW(TSCT_IOC_MAGIC, 0x08, struct tsct_clock_state);
	static struct tsct_clock_state state;
	int fd, len;

	mod_load("/lib/modules/tsctrace.ko", "");
	fd = dev_open();
	prctl(PR_SET_NAME, "old-tsctraced");
	t_errno(ioctl(fd, clock_set, &state), ENOTTY);
	close(fd);
	len = klogctl(READ_ALL, text, sizeof(text) - 1);
	text[len < 0 ? 0 : len] = '\0';
	t_check(strstr(text, "tsctrace: version " TSCT_VERSION ": old-tsctraced is of an earlier "
		       "version: use a module and a tsctraced of one release"), "%.500s",
		text + (len > 500 ? len - 500 : 0));
	t_check(!mod_unload("tsctrace"), "%m");
}

int main(void)
{
	try_old_module();
	try_old_daemon();
	return t_status();
}
