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
#include <sys/syscall.h>

#include "clock.h"

#define PROC	"/proc/sys/kernel/random/boot_id"
#define ROOT	"/tmp/root"

static int fd;

static void load(void)
{
	int file = open("/lib/modules/tsctrace.ko", O_RDONLY);

	t_check(!syscall(SYS_finit_module, file, "", 0), "%m");
	close(file);
}

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
	pid = fork();
	if (!pid) {
		if (chroot(ROOT) || chdir("/"))
			_exit(2);
		_exit(!set_clock() ? 3 : errno != ENODATA);
	}
	close(ends[1]);
	*ret_end = ends[0];
	return pid;
}

/* Checks that the child ends, and so closes its end of the pipe, within 10 s. */
static void ends_soon(pid_t pid, int end)
{
	struct pollfd wait = { .fd = end, .events = POLLIN };
	int status = -1;

	if (!t_check(poll(&wait, 1, 10000) == 1, "still blocked on the file"))
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	t_check(WIFEXITED(status) && !WEXITSTATUS(status), "%#x", status);
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

static void make_root(void)
{
	mkdir(ROOT, 0755);
	mkdir(ROOT "/proc", 0755);
	mkdir(ROOT "/proc/sys", 0755);
	mkdir(ROOT "/proc/sys/kernel", 0755);
	t_check(!mkdir(ROOT "/proc/sys/kernel/random", 0755), "%m");
}

int main(void)
{
	const struct tsct_clock_page *page;
	static const __u8 none[16];
	pid_t pid;
	int end;

	t_check(!umount2("/proc", MNT_DETACH), "%m");
	load();
	fd = dev_open();
	page = clk_map(fd);
	t_errno(set_clock(), ENODATA);
	make_root();
	pid = set_elsewhere(make_fifo, &end);
	ends_soon(pid, end);
	pid = set_elsewhere(make_lie, &end);
	ends_soon(pid, end);
	t_check(!memcmp(page->boot_id, none, sizeof(none)));

	t_check(!mount("proc", "/proc", "proc", 0, NULL), "%m");
	t_check(!set_clock(), "%m");
	t_check(memcmp(page->boot_id, none, sizeof(none)));
	t_check(clk_state(page).status == TSCT_STATUS_SYNCHRONIZED);
	munmap((void *)page, TSCT_CLOCK_SIZE(dev_info(fd).nr_cpus));
	close(fd);
	t_check(!syscall(SYS_delete_module, "tsctrace", O_NONBLOCK), "%m");
	return t_status();
}
