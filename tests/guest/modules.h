/* SPDX-License-Identifier: MIT */
/* Helpers to load modules that use tsctrace and to read their parameters. */
#ifndef TSCT_TEST_MODULES_H
#define TSCT_TEST_MODULES_H

#include <sys/utsname.h>

#include "device.h"
#include "modules/fuzz_call.h"

/* Returns true if the kernel can reserve memory for the module (reserve_mem=). */
T_FN bool mod_can_reserve(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	uname(&name);
	sscanf(name.release, "%d.%d", &major, &minor);
	return major > 6 || (major == 6 && minor >= 12);
}

/* Loads a module. Returns 0 or an errno. */
T_FN int mod_try_load(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 || syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

T_FN void mod_load(const char *path, const char *parameters)
{
	errno = mod_try_load(path, parameters);
	if (errno)
		t_die(path);
}

T_FN int mod_unload(const char *name)
{
	return (int)syscall(SYS_delete_module, name, O_NONBLOCK);
}

/* Sets a module's parameter; returns the result of write(). */
T_FN int mod_set(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		t_die(path);
	err = (int)write(fd, value, strlen(value));
	close(fd);
	return err;
}

/* Sets a module's parameter in a child; exit status 0: the value was accepted. */
T_FN pid_t mod_set_apart(const char *path, const char *value)
{
	pid_t pid = t_fork();

	if (!pid)
		_exit(mod_set(path, value) < 0);
	return pid;
}

/* Returns the contents of a parameter's file, in a static buffer. */
T_FN const char *mod_get(const char *path)
{
	static char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (len < 0)
		t_die(path);
	text[len] = '\0';
	close(fd);
	return text;
}

/* ---- a kernel channel of 4 blocks of 4096 bytes: tsct-fuzz.ko --------------- */

/* A call of tsct-fuzz.ko: see modules/fuzz_call.h */
T_FN bool mod_fuzz(enum fz_kernel_call call, unsigned int s2, unsigned int s3, unsigned int s4)
{
	const uint8_t sel[FZ_KERNEL_SELECTORS] = {
		(uint8_t)call, 0, (uint8_t)s2, (uint8_t)s3, (uint8_t)s4,
	};
	int fd = open("/dev/tsct-fuzz", O_WRONLY | O_CLOEXEC);
	bool done = write(fd, sel, sizeof(sel)) == sizeof(sel);

	close(fd);
	return done;
}

/* Makes the channel in place of the one before, which has no holders. Returns a descriptor that
 * reads it. The module tsct-fuzz.ko is loaded. */
T_FN int mod_channel(unsigned int policy)
{
	int fd = dev_open();

	t_check(mod_fuzz(FZ_KERNEL_OPEN, 0, policy == TSCT_POLICY_DISCARD, 0), "%m");
	t_check(mod_fuzz(FZ_KERNEL_DEFINE, 0, 0, 0), "%m");
	t_check(!dev_attach_name(fd, "k0", TSCT_ROLE_READ), "%m");
	return fd;
}

/* Emits @nr pairs of records, 64 bytes a pair, on this CPU. */
T_FN void mod_emit(unsigned int nr)
{
	for (; nr; nr--)
		t_check(mod_fuzz(FZ_KERNEL_EMIT, 0, 3, 1), "%m");
}

/* ---- runs of the module's work item, by the kernel's tracepoint --------------- */

#define MOD_TRACING	"/tmp/tracing/"

T_FN void mod_trace_runs(bool on)
{
	const char *enable = MOD_TRACING "events/workqueue/workqueue_execute_start/enable";

	mkdir(MOD_TRACING, 0755);
	if (on && (mount("tracefs", MOD_TRACING, "tracefs", 0, NULL) || !dev_put(enable, "1")))
		t_skip("this kernel has no tracepoints of work items");
	if (!on)
		dev_put(enable, "0");
}

/* Returns the number of runs since the trace began; on a CPU of the mask. */
T_FN unsigned int mod_count_runs(uint64_t cpus)
{
	FILE *file = fopen(MOD_TRACING "trace", "r");
	unsigned int nr = 0, cpu;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		nr += strstr(line, "tsct_channel_watch_fn") && strchr(line, '[') &&
			sscanf(strchr(line, '['), "[%u]", &cpu) == 1 && cpus >> cpu & 1;
	if (file)
		fclose(file);
	return nr;
}

/* Results of tsct-nest.ko on one CPU, in one context or in all together */
struct mod_nest {
	uint64_t tried, written, full, nested, other;
};

#define MOD_NEST	"/sys/module/tsct_nest/parameters/"
#define MOD_CONTEXTS	5

/* Gets the sums of each CPU, and, if @each is not NULL, the results of each context. */
T_FN void mod_nest_results(struct mod_nest *sums, struct mod_nest (*each)[MOD_CONTEXTS],
			   unsigned int nr_cpus)
{
	const char *at = mod_get(MOD_NEST "results");
	unsigned int cpu, context, lines = 0;
	struct mod_nest c;
	int len;

	memset(sums, 0, nr_cpus * sizeof(*sums));
	for (; sscanf(at, "%u %u %lu %lu %lu %lu %lu\n%n", &cpu, &context, &c.tried, &c.written,
		      &c.full, &c.nested, &c.other, &len) == 7; at += len, lines++) {
		if (!t_check(cpu < nr_cpus && context < MOD_CONTEXTS, "CPU %u, %u", cpu, context))
			return;
		sums[cpu].tried += c.tried;
		sums[cpu].written += c.written;
		sums[cpu].full += c.full;
		sums[cpu].nested += c.nested;
		sums[cpu].other += c.other;
		if (each)
			each[cpu][context] = c;
	}
	t_check(lines == nr_cpus * MOD_CONTEXTS, "%u lines", lines);
}

#endif
