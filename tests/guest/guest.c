// SPDX-License-Identifier: MIT
/* Setup of the test guest: file systems, serial ports, module loading */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "init.h"

#define MODULE		"tsctrace"
#define OUTPUT_SIZE	(128 * 1024)

static const struct {
	const char *type, *where, *options;
} mounts[] = {
	{ "proc", "/proc", NULL },
	{ "sysfs", "/sys", NULL },
	{ "devtmpfs", "/dev", "mode=0755" },
	{ "devpts", "/dev/pts", NULL },
	{ "tmpfs", "/dev/shm", "mode=1777" },
	{ "tmpfs", "/tmp", "mode=1777" },
	{ "tmpfs", "/run", "mode=0755" },
	{ "debugfs", "/sys/kernel/debug", NULL },
	{ "tracefs", "/sys/kernel/tracing", NULL },
	{ "bpf", "/sys/fs/bpf", NULL },
	{ "cgroup2", "/sys/fs/cgroup", NULL },
};

static int console = -1;
static int results = -1;
static char output[OUTPUT_SIZE];
static size_t output_used;

/* Errors are ignored: tests check for the file systems that they need. */
static void mount_all(void)
{
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		mkdir(mounts[i].where, 0755);
		mount(mounts[i].type, mounts[i].where, mounts[i].type, 0,
		      mounts[i].options);
	}
}

/*
 * Results have a serial port of their own: on the console, kernel messages may
 * appear in the middle of a line.
 */
static void open_ports(void)
{
	struct termios raw;

	console = open("/dev/console", O_RDWR | O_NOCTTY | O_CLOEXEC);
	results = open("/dev/ttyS1", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (results < 0 || tcgetattr(results, &raw)) {
		results = console;
		console = -1;
		return;
	}
	cfmakeraw(&raw);
	tcsetattr(results, TCSANOW, &raw);
}

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		tap_printf("# lo: %s\n", strerror(errno));
	close(fd);
}

void guest_setup(void)
{
	mount_all();
	open_ports();
	for (int fd = 0; fd < 3; fd++)
		dup2(console >= 0 ? console : results, fd);
	umask(022);
	setenv("PATH", "/usr/sbin:/usr/bin", 1);
	setenv("HOME", "/root", 1);
	setenv("TERM", "dumb", 1);
	loopback_up();
}

_Noreturn void guest_power_off(void)
{
	sync();
	if (results >= 0)
		tcdrain(results);
	if (console >= 0)
		tcdrain(console);
	reboot(RB_POWER_OFF);
	reboot(RB_AUTOBOOT);	/* a reboot ends QEMU, which runs with -no-reboot */
	for (;;)
		pause();
}

static void write_all(int fd, const char *text, size_t size)
{
	while (fd >= 0 && size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno != EINTR)
			return;
		if (n > 0) {
			text += n;
			size -= n;
		}
	}
}

void tap_write(const char *text, size_t size)
{
	write_all(results, text, size);
	write_all(console, text, size);
}

void tap_printf(const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	tap_write(line, strlen(line));
}

void output_reset(void)
{
	output_used = 0;
	output[0] = 0;
}

void output_add(const char *text, size_t size)
{
	if (output_used + size >= sizeof(output)) {
		/* Drops the first half of the output: the end explains a failure. */
		size_t half = output_used / 2;

		memmove(output, output + half, output_used - half);
		output_used -= half;
	}
	memcpy(output + output_used, text, size);
	output_used += size;
	output[output_used] = 0;
}

void output_collect(int fd, bool live)
{
	char text[4096];
	ssize_t n;

	while ((n = read(fd, text, sizeof(text))) > 0) {
		if (live)
			tap_write(text, n);
		else
			output_add(text, n);
	}
}

void output_print(void)
{
	char *line = output, *end;

	while (*line) {
		end = strchrnul(line, '\n');
		tap_write("#  ", 3);
		tap_write(line, end - line);
		tap_write("\n", 1);
		line = *end ? end + 1 : end;
	}
}

const char *output_last_line(void)
{
	static char line[256];
	size_t end = output_used, start;

	while (end && output[end - 1] == '\n')
		end--;
	for (start = end; start && output[start - 1] != '\n'; start--)
		;
	snprintf(line, sizeof(line), "%.*s", (int)(end - start), output + start);
	return line[0] ? line : "no reason given";
}

int module_load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret;
}

/* Retries unloading: a dead process's last file may be released with a delay. */
int module_unload(void)
{
	int err = 0;

	for (int i = 0; i < 200; i++) {
		if (syscall(SYS_delete_module, MODULE, O_NONBLOCK) == 0)
			return 0;
		err = -errno;
		/* The test has already unloaded the module. */
		if (err == -ENOENT)
			return 0;
		usleep(10000);
	}
	return err;
}
