/* SPDX-License-Identifier: MIT */
/* The daemon's clock file: creation, takeover in any state, publication of states */
#include <sys/resource.h>

#include "seed.h"

#include "daemon/clock/clock_file.c"
#include "logged.h"

static char dir[64];
static int dir_fd;
static struct clock_file file;

static void reopen(void)
{
	clock_file_close(&file);
	ck_assert_int_eq(clock_file_open(&file, dir_fd, dir), 0);
}

static void setup(void)
{
	strcpy(dir, "/tmp/check_clock_file.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
	file.fd = -1;
	file.page = NULL;
	reopen();
}

static void teardown(void)
{
	clock_file_close(&file);
	unlinkat(dir_fd, TSCT_CLOCK_FILE, 0);
	unlinkat(dir_fd, NEW_NAME, 0);
	close(dir_fd);
	rmdir(dir);
}

static ino_t inode(void)
{
	struct stat st;

	ck_assert_int_eq(fstatat(dir_fd, TSCT_CLOCK_FILE, &st, 0), 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0644);
	ck_assert_int_eq(st.st_size, (off_t)TSCT_CLOCK_SIZE(
				 tsct_cpus_possible()));
	return st.st_ino;
}

#define MULT	((__u64)((1ULL << TSCT_CLOCK_SHIFT) / 2.5))
/* Cycles from now to the begin of later params: 10 s, as a busy machine may stop the test */
#define AHEAD	25000000000

/* Makes a clock state whose params begin @ahead cycles from now, at time @ns. */
static struct tsct_clock_state make_state(__u32 epoch, __s64 ahead, __s64 ns)
{
	__u64 base = tsct_cycles_read(TSCT_SOURCE_TSC) + (__u64)ahead;
	struct tsct_clock_state state = {
		.real = {
			.base_cycles = base, .base_ns = ns,
			.mult = MULT, .slew_mult = MULT,
			.as_of_cycles = base, .error_ps = 1000,
			.past_error_ps = 1000,
			.fast_cycles = 1000000000, .growth = 1, .holdover_growth = 2,
			.holdover_after_cycles = base + 10000000000,
			.void_after_cycles = base + 1000000000000,
		},
		.status = TSCT_STATUS_SYNCHRONIZED,
		.source = TSCT_SOURCE_TSC,
		.epoch = epoch,
		.epoch_cycles = base,
	};

	ck_assert_int_eq(tsct_clock_state_check(&state), 0);
	return state;
}

/* Makes a clock state that continues the state @last 10 s later. */
static struct tsct_clock_state next_state(const struct tsct_clock_state *last)
{
	struct tsct_clock_state next = make_state(last->epoch, AHEAD, 0);

	next.real.base_ns = tsct_clock_params_ns(&last->real, next.real.base_cycles);
	next.real.as_of_cycles = next.real.base_cycles;
	return next;
}

static int publish(const struct tsct_clock_state *state)
{
	int err = clock_file_stage(&file, state);

	return err ? err : clock_file_commit(&file, state, 0);
}

static void expect_refused(struct tsct_clock_state state, int want)
{
	ck_assert_int_eq(publish(&state), want);
}

static void check_last(const struct tsct_clock_state *state)
{
	struct tsct_clock_state last;

	clock_file_last(&file, &last);
	ck_assert_mem_eq(&last, state, sizeof(last));
	ck_assert_int_eq(tsct_latch_read(file.page, &last), 0);
	ck_assert_mem_eq(&last, state, sizeof(last));
}

static void publish_and_check(const struct tsct_clock_state *state)
{
	ck_assert_int_eq(publish(state), 0);
	check_last(state);
}

CASE("clock_file", setup, teardown);

TEST(test_reopen_and_publish)
{
	struct tsct_clock_state state;
	ino_t before = inode();

	clock_file_last(&file, &state);
	ck_assert_uint_eq(state.status, TSCT_STATUS_UNKNOWN);
	ck_assert_uint_eq(state.epoch, 0);
	state = make_state(1, -1000, 5);
	publish_and_check(&state);
	reopen();
	ck_assert_uint_eq(inode(), before);
	check_last(&state);
	state = next_state(&state);
	publish_and_check(&state);
	ck_assert_uint_eq(file.page->copy[0].nr_segments, 1);
}

/* A clock state is not published if it is too late, or does not continue the published
 * state. */
TEST(test_refuses_late_states)
{
	struct tsct_clock_state first = make_state(2, -1000, 5), next;

	ck_assert_int_eq(publish(&first), 0);
	expect_refused(make_state(2, -500, 5), -ETIME);
	expect_refused(make_state(2, AHEAD, 99), -EXDEV);
	expect_refused(make_state(1, AHEAD, 5), -EXDEV);
	check_last(&first);
	/* staged, but too late to be committed with a margin of 20 s */
	next = next_state(&first);
	ck_assert_int_eq(clock_file_stage(&file, &next), 0);
	ck_assert_int_eq(clock_file_commit(&file, &next, 20000000000),
			 -ETIME);
	check_last(&first);
	/* The state in the clock file can be published again, although its params have
	 * begun. It replaces the state that was staged above, but not committed. */
	publish_and_check(&first);
	next = make_state(3, -1000, 5);
	publish_and_check(&next);
}

static void write_garbage(void *at, size_t size)
{
	unsigned char *byte = at;

	while (size--)
		*byte++ = (unsigned char)any(256);
}

/*
 * The previous daemon may die at any instruction. Readers that have the file mapped see
 * the committed state, and the next daemon continues with that.
 */
TEST(test_takes_over_after_death)
{
	struct tsct_clock_state first = make_state(1, -1000, 5), next;
	struct tsct_clock_copy *copy = file.page->copy;
	ino_t before = inode();

	ck_assert_int_eq(publish(&first), 0);
	for (int i = 0; i < 200; i++) {
		next = next_state(&first);
		switch (i % 4) {
		case 0:			/* simulates that the writer died after
					 * staging a state */
			ck_assert_int_eq(clock_file_stage(&file, &next), 0);
			break;
		case 1:			/* simulates that the writer died with copy 0
					 * half written */
			ck_assert_int_eq(clock_file_stage(&file, &next), 0);
			write_garbage((char *)&copy[0] + any(sizeof(copy[0])), 1);
			write_garbage(&copy[0], any(sizeof(copy[0])));
			break;
		case 2:			/* simulates that the writer died after the
					 * commit, with copy 1 half written */
			ck_assert_int_eq(publish(&next), 0);
			write_garbage(&copy[1], any(sizeof(copy[1])));
			first = next;
			break;
		default:		/* simulates that the writer died before its
					 * last store, with both copies complete */
			copy[1] = copy[0];
			break;
		}
		reopen();
		copy = file.page->copy;
		ck_assert_uint_eq(inode(), before);
		check_last(&first);
		ck_assert_mem_eq(&copy[0], &copy[1], sizeof(copy[0]));
		ck_assert_uint_eq(file.page->seq & 1, 0);
		if (!(i % 50))		/* In every 50th pass of the loop, the test
					 * begins a new epoch. Its params are in
					 * force at once. */
			first = make_state(first.epoch + 1, -1000, 5);
		else
			continue;
		ck_assert_int_eq(publish(&first), 0);
	}
}

/* A clock file that the daemon cannot continue is replaced. Nothing is written to the
 * old file. */
static void check_replaced(const char *what)
{
	int old = openat(dir_fd, TSCT_CLOCK_FILE, O_RDONLY | O_NOFOLLOW |
			 O_NONBLOCK);
	struct stat was, is = { 0 };
	struct tsct_clock_state state;

	if (old >= 0)
		ck_assert_int_eq(fstat(old, &was), 0);
	ck_assert_int_eq(clock_file_open(&file, dir_fd, dir), 0);
	if (old >= 0) {
		ck_assert_int_eq(fstat(old, &is), 0);
		ck_assert_msg(!is.st_nlink, "%s", what);
		ck_assert_int_eq(is.st_size, was.st_size);
		close(old);
	}
	inode();
	clock_file_last(&file, &state);
	ck_assert_uint_eq(state.status, TSCT_STATUS_UNKNOWN);
	clock_file_close(&file);
}

static void put(size_t size, mode_t mode)
{
	char byte[4096];
	int fd;

	unlinkat(dir_fd, TSCT_CLOCK_FILE, 0);
	fd = openat(dir_fd, TSCT_CLOCK_FILE, O_RDWR | O_CREAT | O_EXCL, 0600);
	for (; size; size -= size < 4096 ? size : 4096) {
		write_garbage(byte, sizeof(byte));
		ck_assert_int_gt(write(fd, byte, size < 4096 ? size : 4096), 0);
	}
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

/* Expects that the clock file is replaced after this change of its page. */
#define REPLACED(what, change)						\
	do {								\
		reopen();						\
		change;							\
		clock_file_close(&file);				\
		check_replaced(what);					\
	} while (0)

TEST(test_replaces_bad_files)
{
	__u64 size = file.size;

	REPLACED("another boot's", file.page->boot_id[3] ^= 1);
	REPLACED("of more CPUs", file.page->nr_cpus++);
	REPLACED("no clock", file.page->magic++);
	REPLACED("impossible figures", write_garbage(file.page->copy, sizeof(file.page->copy)));
	put(4096, 0644);
	check_replaced("of one page");
	put(0, 0644);
	check_replaced("empty");
	put(size, 0644);
	check_replaced("junk");
	put(size, 0666);
	check_replaced("writable for others");
	unlinkat(dir_fd, TSCT_CLOCK_FILE, 0);
	ck_assert_int_eq(symlinkat("/etc/passwd", dir_fd, TSCT_CLOCK_FILE), 0);
	check_replaced("a link");
	unlinkat(dir_fd, TSCT_CLOCK_FILE, 0);
	ck_assert_int_eq(mkfifoat(dir_fd, TSCT_CLOCK_FILE, 0600), 0);
	check_replaced("a pipe");
	/* A temporary file left by a daemon that died while creating a clock file */
	put(size, 0644);
	ck_assert_int_eq(renameat(dir_fd, TSCT_CLOCK_FILE, dir_fd, NEW_NAME),
			 0);
	check_replaced("nothing");
	ck_assert_int_ne(faccessat(dir_fd, NEW_NAME, F_OK, 0), 0);
}

/* The clock file is removed while the daemon runs: new readers find a new file, with
 * the CPU table. */
TEST(test_file_removed)
{
	const struct tsct_clock_cpu cpus[] = { { 5, 6 }, { -7, 8 } };
	const struct tsct_clock_cpu *table;
	struct tsct_clock_state state = make_state(1, -1000, 5);
	ino_t before = inode();

	clock_file_set_cpus(&file, cpus, file.nr_cpus > 1 ? 2 : 1);
	ck_assert_int_eq(publish(&state), 0);
	clock_file_revive(&file);
	ck_assert_uint_eq(inode(), before);
	check_last(&state);
	ck_assert_int_eq(unlinkat(dir_fd, TSCT_CLOCK_FILE, 0), 0);
	clock_file_revive(&file);
	inode();
	publish_and_check(&state);
	table = (const void *)((char *)file.page +
			       file.page->cpus_offset);
	ck_assert_mem_eq(table, cpus, sizeof(cpus[0]) *
			 (file.nr_cpus > 1 ? 2 : 1));
	/* CPUs that are missing in the new skew table get an unknown skew. */
	clock_file_set_cpus(&file, cpus, 1);
	if (file.nr_cpus > 1)
		ck_assert_uint_eq(table[1].error_cycles, ~0ULL);
}

/* No space for the clock file: not fatal, and tried again at the next publication */
TEST(test_no_space)
{
	const struct rlimit little = { 8192, RLIM_INFINITY };
	const struct rlimit enough = { RLIM_INFINITY, RLIM_INFINITY };
	struct tsct_clock_state state = make_state(1, -1000, 5), last;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(unlinkat(dir_fd, TSCT_CLOCK_FILE, 0), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
	clock_file_revive(&file);
	ck_assert_ptr_null(file.page);
	ck_assert_int_eq(publish(&state), 0);	/* publishing succeeds although there
						 * is no clock file */
	clock_file_last(&file, &last);
	ck_assert_uint_eq(last.status, TSCT_STATUS_UNKNOWN);
	clock_file_set_cpus(&file, NULL, 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &enough), 0);
	clock_file_revive(&file);
	publish_and_check(&state);
}
