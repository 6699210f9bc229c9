// SPDX-License-Identifier: MIT
/*
 * Loaded without /proc, the module reads the boot id when the clock is set. A
 * process that sets the clock in another root directory, with another file at that
 * path, affects only itself.
 * guest-test: module=no timeout=60
 */
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>

#include "clock.h"
#include "modules.h"

#define PROC	"/proc/sys/kernel/random/boot_id"
#define ROOT	"/tmp/root"

static int fd;

static int set_clock(void)
{
	struct tsct_clock_set set = clk_params(dev_info(fd).source, 1);

	return clk_set(fd, &set);
}

/* Calls @make to create a false boot_id file (a FIFO or a text file) below ROOT, and
 * starts a child that changes its root directory to ROOT and sets the clock. *ret_end:
 * read end of a pipe, whose write end the child holds open until the child ends */
static pid_t set_elsewhere(void (*make)(const char *path), int *ret_end)
{
	int ends[2];
	pid_t pid;

	make(ROOT PROC);
	t_check(!pipe(ends), "%m");
	pid = t_fork();
	if (!pid) {
		if (chroot(ROOT) || chdir("/"))
			_exit(2);
		_exit(!set_clock() ? 3 : errno != ENODATA);
	}
	close(ends[1]);
	*ret_end = ends[0];
	return pid;
}

/* Checks that the child ends, and so closes its end of the pipe. */
static void check_end(pid_t pid, int end)
{
	struct pollfd wait = { .fd = end, .events = POLLIN };

	if (!t_check(poll(&wait, 1, T_HANG_S * 1000) == 1, "still blocked on the file"))
		kill(pid, SIGKILL);
	t_check(!t_wait(pid));
	close(end);
	unlink(ROOT PROC);
}

static void make_fifo(const char *path)
{
	t_check(!mkfifo(path, 0666), "%m");
}

static void make_lie(const char *path)
{
	static const char id[] = "01234567-89ab-cdef-0123-456789abcdef";
	FILE *file = fopen(path, "w");

	t_check(file && fputs(id, file) >= 0 && !fclose(file), "%m");
}

int main(void)
{
	const struct tsct_clock_page *page;
	static const __u8 none[16];
	pid_t pid;
	int end;

	t_check(!umount2("/proc", MNT_DETACH), "%m");
	mod_load("/lib/modules/tsctrace.ko", "");
	fd = dev_open();
	page = clk_map(fd);
	t_errno(set_clock(), ENODATA);
	t_check(!system("mkdir -p " ROOT "/proc/sys/kernel/random"));
	pid = set_elsewhere(make_fifo, &end);
	check_end(pid, end);
	pid = set_elsewhere(make_lie, &end);
	check_end(pid, end);
	t_check(!memcmp(page->boot_id, none, sizeof(none)));

	t_check(!mount("proc", "/proc", "proc", 0, NULL), "%m");
	t_check(!set_clock(), "%m");
	t_check(memcmp(page->boot_id, none, sizeof(none)));
	t_check(clk_state(page).status == TSCT_STATUS_SYNCHRONIZED);
	munmap((void *)page, TSCT_CLOCK_SIZE(dev_info(fd).nr_cpus));
	close(fd);
	t_check(!mod_unload("tsctrace"), "%m");
	return t_status();
}
