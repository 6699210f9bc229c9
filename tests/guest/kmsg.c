// SPDX-License-Identifier: MIT
/* State of the guest's kernel: its log, taint flags, leak detector */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "init.h"

#define KMEMLEAK	"/sys/kernel/debug/kmemleak"
#define CONTEXT_LINES	40
#define LOG_SIZE	(256 * 1024)

/*
 * Substrings that mark a log line as a kernel warning. The warnings of the kernel's
 * checkers (lockdep, KASAN, RCU ...) have no word in common.
 */
static const char *const warning_words[] = {
	"BUG:", "WARNING:", "Oops", "Kernel panic", "general protection",
	"unable to handle", "kernel BUG at", "invalid opcode:",
	"KASAN:", "KCSAN:", "KFENCE:", "UBSAN:", "ODEBUG:",
	"possible recursive locking", "possible circular locking",
	"INFO: possible", "possible irq lock inversion",
	"possible deadlock", "inconsistent lock state",
	"bad unlock balance", "held lock freed", "lock held when returning",
	"still has locks held", "Invalid wait context", "DEBUG_LOCKS_WARN_ON",
	"INFO: trying to register non-static key",
	"suspicious RCU usage", "rcu: INFO", "Voluntary context switch within",
	"self-detected stall", "detected stalls", "rcu_sched kthread",
	"blocked for more than", "soft lockup", "hard LOCKUP",
	"scheduling while atomic", "sleeping function called",
	"refcount_t:", "list_add corruption", "list_del corruption",
	"Bad page state", "Bad page map", "Bad rss-counter", "nonzero _refcount",
	"Object already free", "Redzone overwritten", "Poison overwritten",
	"Objects remaining", "kmem_cache_destroy",
	"IRQ handler enabled interrupts", "irq event", "NMI watchdog: Watchdog",
	"disagrees about version of symbol", "failed to validate module",
	"Unpatched return thunk", "missing ENDBR", "CFI failure",
	"unchecked MSR access", "Modules linked in:",
};

static int fd = -1;
/* kernel warnings that this test caused, with the lines after them, and messages of the module:
 * printed if the test fails */
static char log_text[LOG_SIZE];
static size_t log_used;
static int nr_warnings;
static int context_left;

int kmsg_fd(void)
{
	if (fd < 0)
		fd = open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return fd;
}

static bool is_warning(const char *line)
{
	/* A fault of a program: "traps: prog[1] general protection fault". */
	if (strncmp(line, "traps: ", 7) == 0)
		return false;
	for (size_t i = 0; i < sizeof(warning_words) / sizeof(warning_words[0]); i++)
		if (strstr(line, warning_words[i]))
			return true;
	return false;
}

static void log_append(const char *line)
{
	size_t size = strlen(line);

	if (log_used + size + 5 > sizeof(log_text))
		return;
	log_used += sprintf(log_text + log_used, "#  %s\n", line);
}

/* "prio,seq,time,flags;message\n", followed by lines of " KEY=value" */
static void parse_record(char *record)
{
	char *message = strchr(record, ';');

	if (!message)
		return;
	message++;
	message[strcspn(message, "\n")] = 0;
	if (is_warning(message)) {
		nr_warnings++;
		context_left = CONTEXT_LINES;
	}
	if (context_left > 0 || strstr(message, "tsctrace: "))
		log_append(message);
	context_left -= context_left > 0;
}

void kmsg_collect(void)
{
	char record[8192];
	ssize_t n;

	if (kmsg_fd() < 0)
		return;
	for (;;) {
		n = read(fd, record, sizeof(record) - 1);
		if (n > 0) {
			record[n] = 0;
			parse_record(record);
		} else if (n < 0 && errno == EPIPE) {
			/* A message was overwritten before it was read: it may have
			 * been a warning. */
			nr_warnings++;
			log_append("(kernel log lines were lost)");
		} else if (!(n < 0 && errno == EINTR)) {
			return;
		}
	}
}

/* Begins a test: forgets the kernel warnings so far, and writes the test's name to the
 * kernel log, and so to the console. */
void kmsg_mark(const char *name)
{
	char line[128];
	int size = snprintf(line, sizeof(line), "<3>test: %s\n", name);

	kmsg_collect();
	log_used = 0;
	log_text[0] = 0;
	nr_warnings = 0;
	context_left = 0;
	if (kmsg_fd() >= 0 && write(fd, line, size) < 0)
		tap_printf("# /dev/kmsg: %s\n", strerror(errno));
}

int kmsg_warnings(void)
{
	return nr_warnings;
}

void kmsg_print(void)
{
	if (log_used)
		tap_printf("# kernel log:\n");
	tap_write(log_text, log_used);
}

unsigned long taint_read(void)
{
	/* Taint by an out-of-tree, unsigned or live-patched module is no warning. */
	const unsigned long benign = 1UL << 12 | 1UL << 13 | 1UL << 15;
	unsigned long taint = 0;
	FILE *file = fopen("/proc/sys/kernel/tainted", "r");

	if (!file)
		return 0;
	if (fscanf(file, "%lu", &taint) != 1)
		taint = 0;
	fclose(file);
	return taint & ~benign;
}

static bool kmemleak_write(const char *command)
{
	int file = open(KMEMLEAK, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (file < 0)
		return false;
	ok = write(file, command, strlen(command)) > 0;
	close(file);
	return ok;
}

/* Returns false if the kernel has no leak detector. */
bool kmemleak_start(void)
{
	return kmemleak_write("clear");
}

bool kmemleak_clean(void)
{
	char text[4096];
	bool clean = true;
	ssize_t n;
	int file;

	/*
	 * kmemleak only reports allocations older than 5 s. It scans twice: a stale
	 * pointer on a stack may hide a leak from the first scan.
	 */
	sleep(6);
	if (!kmemleak_write("scan") || !kmemleak_write("scan"))
		return false;
	file = open(KMEMLEAK, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	while ((n = read(file, text, sizeof(text))) > 0) {
		output_add(text, n);
		clean = false;
	}
	close(file);
	return clean && n == 0;
}
