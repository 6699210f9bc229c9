/* SPDX-License-Identifier: MIT */
/* Detection of clock disruptions: reading of indicators, and their comparison. */
#include "daemon/clock/disruption.c"
#include "suite.h"
#include <tsctrace/tsctrace.h>

static const struct disruption quiet = {
	.suspended_min_ns = 1000000000, .suspended_max_ns = 1000000100,
	.clocksource = "tsc", .cpus_online = "0-3", .cpus_hash = 7,
	.has_vmclock = true, .vm_marker = 1, .vm_generation = 2,
	.realtime_min_ns = 1700000000000000000, .realtime_max_ns = 1700000000000000100,
	.has_module = true, .count = 5 * TSCT_DISRUPTIONS_COUNTER + 3,
};

/* For each cause of a disruption, a change of its indicator alone; in the order of
 * precedence */
static const struct {
	__u32 cause;
	const char *error_text;
} table[] = {
	{ TSCT_CAUSE_MIGRATION, "migrated or restored: disruption marker 9" },
	{ TSCT_CAUSE_SUSPEND, "suspended for 3.5" },
	{ TSCT_CAUSE_UNSTABLE, "marked the TSC unstable; its clocksource is hpet" },
	{ TSCT_CAUSE_CLOCKSOURCE, "changed from tsc to hpet" },
	{ TSCT_CAUSE_HOTPLUG, "measured or assumed before (online CPUs: 0-2)" },
	{ TSCT_CAUSE_STEP, "CLOCK_REALTIME was set by -3600.000000 s" },
};
#define NR_CAUSES	ROWS(table)

static void set_by(struct disruption *s, __s64 ns)
{
	s->realtime_min_ns += ns;
	s->realtime_max_ns += ns;
}

static void set(struct disruption *s, __u32 cause)
{
	switch (cause) {
	case TSCT_CAUSE_MIGRATION:
		s->vm_marker = 9;
		break;
	case TSCT_CAUSE_SUSPEND:
		s->suspended_min_ns += 3500000000;
		s->suspended_max_ns += 3500000000;
		break;
	case TSCT_CAUSE_UNSTABLE:
		s->tsc_unavailable = true;
		strcpy(s->clocksource, "hpet");
		break;
	case TSCT_CAUSE_CLOCKSOURCE:
		strcpy(s->clocksource, "hpet");
		break;
	case TSCT_CAUSE_HOTPLUG:
		s->count += TSCT_DISRUPTIONS_COUNTER;
		s->cause = cause;
		strcpy(s->cpus_online, "0-2");
		break;
	case TSCT_CAUSE_STEP:
		set_by(s, -3600000000000);
		break;
	}
}

LOOP_TEST(test_each_indicator, 0, NR_CAUSES)
{
	struct disruption now = quiet;
	char text[256];

	set(&now, table[_i].cause);
	ck_assert_uint_eq(disruption_compare(&quiet, &now), table[_i].cause);
	disruption_describe(&quiet, &now, table[_i].cause, text, sizeof(text));
	ck_assert_msg(strstr(text, table[_i].error_text), "%s", text);
	ck_assert_uint_eq(disruption_compare(&now, &now), TSCT_CAUSE_NONE);
}

/* If two indicators change, the reported cause is the one with the higher
 * precedence. */
TEST(test_precedence)
{
	struct disruption now;

	for (size_t i = 0; i < NR_CAUSES; i++) {
		for (size_t j = i; j < NR_CAUSES; j++) {
			now = quiet;
			set(&now, table[i].cause);
			set(&now, table[j].cause);
			ck_assert_uint_eq(disruption_compare(&quiet, &now),
					  table[i].cause);
		}
	}
}

/* A step of CLOCK_REALTIME is detected in both directions; a change that may be a
 * measurement error is no step. */
TEST(test_steps)
{
	struct disruption now;

	for (__s64 ns = -3000; ns <= 3000; ns += 100) {
		now = quiet;
		set_by(&now, ns);
		ck_assert_uint_eq(disruption_compare(&quiet, &now),
				  ns > 1100 || ns < -1100 ? TSCT_CAUSE_STEP :
				  TSCT_CAUSE_NONE);
	}
}

TEST(test_no_disruption)
{
	struct disruption before = quiet, now = quiet;

	/* No disruption: the suspended time and CLOCK_REALTIME, unchanged, were
	 * measured with a larger error. */
	now.suspended_min_ns -= 5000;
	now.suspended_max_ns += 5000;
	now.realtime_min_ns -= 7000;
	now.realtime_max_ns += 5000;
	ck_assert_uint_eq(disruption_compare(&before, &now), TSCT_CAUSE_NONE);
	ck_assert_uint_eq(disruption_compare(&now, &before), TSCT_CAUSE_NONE);
	/* It is no disruption if an indicator becomes known. */
	now = quiet;
	before.has_vmclock = false;
	before.vm_marker = 0;
	before.clocksource[0] = '\0';
	before.cpus_hash = 0;
	before.count = 0;
	ck_assert_uint_eq(disruption_compare(&before, &now), TSCT_CAUSE_NONE);
	ck_assert_uint_eq(disruption_compare(&now, &before), TSCT_CAUSE_NONE);
	/* It is no disruption if the module is loaded or unloaded. */
	before = now = quiet;
	now.has_module = false;
	now.count = 0;
	ck_assert_uint_eq(disruption_compare(&before, &now), TSCT_CAUSE_NONE);
	/* Nor if CPUs come or go, or the module counts a step, which has an indicator of its
	 * own */
	before = now = quiet;
	now.cpus_hash++;
	now.count += TSCT_DISRUPTIONS_STEP;
	now.cause = TSCT_CAUSE_STEP;
	ck_assert_uint_eq(disruption_compare(&before, &now), TSCT_CAUSE_NONE);
	/* Nor if a module that had counted restores is loaded again */
	before = now = quiet;
	before.restore_seq = 2;
	ck_assert_uint_eq(disruption_compare(&before, &now), TSCT_CAUSE_NONE);
}

TEST(test_small_changes)
{
	struct disruption now = quiet;
	char text[200];

	now.suspended_min_ns += 2000;	/* a disruption: suspend to idle for a very
					 * short time */
	now.suspended_max_ns += 2000;
	ck_assert_uint_eq(disruption_compare(&quiet, &now), TSCT_CAUSE_SUSPEND);
	now = quiet;
	now.vm_generation++;
	ck_assert_uint_eq(disruption_compare(&quiet, &now), TSCT_CAUSE_MIGRATION);
	/* With other disruptions, too, as the hypervisor has set the clock, perhaps */
	now = quiet;
	now.restore_seq++;
	now.count += 2 * TSCT_DISRUPTIONS_COUNTER;
	set_by(&now, 3600000000000);
	ck_assert_uint_eq(disruption_compare(&quiet, &now), TSCT_CAUSE_MIGRATION);
	disruption_describe(&quiet, &now, TSCT_CAUSE_MIGRATION, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "was restored: VM Generation ID"));
	now = quiet;
	now.count += TSCT_DISRUPTIONS_COUNTER;	/* a disruption: a change to another
						 * clocksource and back */
	now.cause = TSCT_CAUSE_CLOCKSOURCE;
	ck_assert_uint_eq(disruption_compare(&quiet, &now), TSCT_CAUSE_CLOCKSOURCE);
	/* A step came after it: what it was is not known. */
	now.cause = TSCT_CAUSE_STEP;
	ck_assert_uint_eq(disruption_compare(&quiet, &now), TSCT_CAUSE_JUMP);
	/* A disruption: the TSC becomes available again, for instance at the end of the
	 * boot. */
	ck_assert_uint_eq(disruption_compare(&(struct disruption) { .tsc_unavailable = true },
					&(struct disruption) { 0 }),
			  TSCT_CAUSE_CLOCKSOURCE);
}

/* ---- reading the indicators ---------------------------------------------- */

static struct tsct_clock_snapshot snapshot_result;
static int snapshot_error;

static int snapshot(void *ctx, struct tsct_clock_snapshot *ret)
{
	ck_assert_ptr_eq(ctx, &snapshot_result);
	*ret = snapshot_result;
	return snapshot_error;
}

static struct disruption_reader reader = {
	.clock_set_fd = -1, .clocksource.fd = -1, .clocksources.fd = -1, .cpus_online.fd = -1,
};
static struct disruption now;		/* what look() read */

static void open_reader(const char *vmclock)
{
	disruption_close(&reader);
	ck_assert_int_eq(disruption_open(&reader, vmclock), 0);
	reader.snapshot = snapshot;
	reader.ctx = &snapshot_result;
}

static void begin(void)
{
	snapshot_error = -ENOENT;
	open_reader("/nonexistent");
}

static void end(void)
{
	disruption_close(&reader);
}

static void look(void)
{
	disruption_read(&reader, &now);
}

CASE("reading", begin, end);

/* Reads the indicators of this machine twice: nothing happens in between. */
TEST(test_this_machine)
{
	struct disruption first;

	disruption_read(&reader, &first);
	ck_assert_str_ne(first.clocksource, "");
	ck_assert_uint_ne(first.cpus_hash, 0);
	ck_assert(first.cpus_online[0] == '0');
	ck_assert(!first.has_vmclock && !first.has_module && !first.count);
	ck_assert_int_le(first.suspended_min_ns, first.suspended_max_ns);
	ck_assert_int_lt(first.suspended_max_ns - first.suspended_min_ns, 100000000);
	ck_assert_int_le(first.realtime_min_ns, first.realtime_max_ns);
	ck_assert_int_gt(first.realtime_min_ns, 1000000000000000000);
	for (int i = 0; i < 1000; i++) {
		look();
		ck_assert_uint_eq(disruption_compare(&first, &now),
				  TSCT_CAUSE_NONE);
		ck_assert_uint_eq(disruption_compare(&now, &first),
				  TSCT_CAUSE_NONE);
	}
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* The indicators are what the files have at the moment of the reading; a file that is
 * missing, or cannot be read, leaves its indicator as it was. */
TEST(test_files)
{
	char dir[] = "/tmp/check_disruption.XXXXXX", current[64], online[64];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(current, sizeof(current), "%s/current", dir);
	snprintf(online, sizeof(online), "%s/online", dir);
	reader.clocksource.path = reader.clocksources.path = current;
	reader.cpus_online.path = online;
	look();
	ck_assert_str_eq(now.clocksource, "");
	ck_assert_uint_eq(now.cpus_hash, 0);
	write_file(current, "tsc-early\nno second line\n");
	write_file(online, "0-7\n");
	look();
	ck_assert_str_eq(now.clocksource, "tsc-early");
	ck_assert(now.tsc_unavailable);
	ck_assert_str_eq(now.cpus_online, "0-7");
	write_file(current, "tsc\n");
	write_file(online, "0-6\n");
	look();
	ck_assert_str_eq(now.clocksource, "tsc");
	ck_assert(!now.tsc_unavailable);
	ck_assert_str_eq(now.cpus_online, "0-6");
	/* A directory can be opened, but not read. */
	unlink(online);
	ck_assert_int_eq(mkdir(online, 0700), 0);
	tsct_sysfs_file_close(&reader.cpus_online);
	look();
	ck_assert_str_eq(now.cpus_online, "0-6");
	ck_assert_int_eq(reader.cpus_online.fd, -1);
	rmdir(online);
	write_file(online, "0\n");
	look();
	ck_assert_str_eq(now.cpus_online, "0");
	unlink(online);
	unlink(current);
	rmdir(dir);
}

TEST(test_module)
{
	snapshot_result = (struct tsct_clock_snapshot) { .disruptions = 6, .cause = 2 };
	snapshot_error = 0;
	look();
	ck_assert(now.has_module);
	ck_assert_uint_eq(now.count, 6);
	ck_assert_uint_eq(now.cause, 2);
	snapshot_error = -EOPNOTSUPP;	/* the kernel's clocksource is not the TSC */
	snapshot_result.disruptions = 8;
	look();
	ck_assert(now.has_module);
	ck_assert_uint_eq(now.count, 8);
	snapshot_error = -EMFILE;	/* the module is there, but not read */
	look();
	ck_assert(now.has_module);
	ck_assert_uint_eq(now.count, 8);
	snapshot_error = -ENOENT;
	look();
	ck_assert(!now.has_module && !now.count);
}

/* The time since a restore continues after the module was removed, and is known whatever
 * the clocksource is. */
TEST(test_restores)
{
	snapshot_result = (struct tsct_clock_snapshot) { .restore_seq = 0 };
	snapshot_error = 0;
	look();
	ck_assert_uint_eq(disruption_since_restore_ns(&now), TSCT_NOT_RESTORED);
	snapshot_result.restore_seq = 3;
	snapshot_result.since_restore_ns = 7000000000;
	for (int i = 0; i < 3; i++) {
		static const int errors[] = { 0, -EOPNOTSUPP, -ENOENT };

		snapshot_error = errors[i];
		look();
		ck_assert_uint_eq(now.restore_seq, 3);
		ck_assert_uint_ge(disruption_since_restore_ns(&now), 7000000000);
		ck_assert_uint_lt(disruption_since_restore_ns(&now), 60000000000);
	}
	/* A module that was loaded since does not know of the restore. */
	snapshot_error = 0;
	snapshot_result = (struct tsct_clock_snapshot) { .restore_seq = 0 };
	look();
	ck_assert_uint_ge(disruption_since_restore_ns(&now), 7000000000);
	ck_assert_uint_lt(disruption_since_restore_ns(&now), 60000000000);
}

static char path[64];

static void make_vmclock(const void *head, size_t size, size_t length)
{
	int fd;

	strcpy(path, "/tmp/check_disruption.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)length), 0);
	ck_assert_int_eq(pwrite(fd, head, size, 0), (ssize_t)size);
	close(fd);
}

static void write_vmclock(const struct vmclock *head)
{
	int fd = open(path, O_WRONLY);

	ck_assert_int_eq(pwrite(fd, head, sizeof(*head), 0), sizeof(*head));
	close(fd);
}

TEST(test_vmclock)
{
	struct vmclock head = {
		.magic = VMCLOCK_MAGIC, .size = 4096, .version = 1,
		.marker = 11, .generation = 22, .seq = 2,
	};
	struct disruption before;

	ck_assert_uint_eq(sizeof(head), 112);
	make_vmclock(&head, sizeof(head), 4096);
	open_reader(path);
	disruption_read(&reader, &before);
	ck_assert(before.has_vmclock);
	ck_assert_uint_eq(disruption_since_restore_ns(&before), TSCT_NOT_RESTORED);
	ck_assert_uint_eq(before.vm_marker, 11);
	/* The generation is read as 0, because the flags of the vmclock page say that
	 * the page has no valid generation. */
	ck_assert_uint_eq(before.vm_generation, 0);
	head.flags = VMCLOCK_GENERATION;
	head.marker++;
	head.seq += 2;
	write_vmclock(&head);
	look();
	ck_assert_uint_eq(now.vm_marker, 12);
	ck_assert_uint_eq(now.vm_generation, 22);
	ck_assert_uint_lt(disruption_since_restore_ns(&now), 60000000000);
	ck_assert_uint_eq(disruption_compare(&before, &now), TSCT_CAUSE_MIGRATION);
	/* If a change of the vmclock page never completes, the previous values stay,
	 * and reading does not hang. */
	head.seq++;
	head.marker++;
	write_vmclock(&head);
	disruption_read(&reader, &before);
	ck_assert_uint_eq(before.vm_marker, 12);
	ck_assert_uint_eq(disruption_compare(&now, &before), TSCT_CAUSE_NONE);
	head.seq++;
	write_vmclock(&head);
	look();
	ck_assert_uint_eq(disruption_compare(&before, &now), TSCT_CAUSE_MIGRATION);
	unlink(path);
}

static void expect_no_vmclock(const char *at)
{
	open_reader(at);
	ck_assert_ptr_null(reader.vmclock);
	unlink(path);
}

/* Files that are no valid vmclock page; reading some would raise a signal */
TEST(test_no_vmclock)
{
	struct vmclock head = { .magic = VMCLOCK_MAGIC, .size = 4096 };

	make_vmclock(&head, sizeof(head), sizeof(head)); /* a truncated vmclock page */
	expect_no_vmclock(path);
	make_vmclock("", 0, 0);
	expect_no_vmclock(path);
	head.magic++;
	make_vmclock(&head, sizeof(head), 4096);
	expect_no_vmclock(path);
	expect_no_vmclock("/tmp");
}
