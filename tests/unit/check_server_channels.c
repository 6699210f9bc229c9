// SPDX-License-Identifier: MIT
/* Channels of the provider server: many at once, kept channels, limits, killed
 * writers */
#include <sys/resource.h>

#include "seed.h"
#include "serve.h"
#include "suite.h"

#define MANY	1000

/* Raises the soft limit of open descriptors to 8192, or to the hard limit if that is
 * lower. */
static void setup(void)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < 8192) {
		limit.rlim_cur = limit.rlim_max < 8192 ? limit.rlim_max : 8192;
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
	serve_start();
}

static void teardown(void)
{
	serve_stop();
}

static int try_open(int nr, __u32 roles, __u32 flags, __u32 channel_flags,
		    struct tsct_channel **ret_t)
{
	char name[TSCT_NAME_MAX];
	struct tsct_channel_options options = {
		.name = name, .roles = roles, .flags = flags,
		.channel_flags = channel_flags, .block_size = 4096, .blocks = 2,
	};

	snprintf(name, sizeof(name), "c%d", nr);
	return tsct_channel_open_at(serve_path, &options, ret_t);
}

static struct tsct_channel *open_nr(int nr, __u32 roles, __u32 flags,
			    __u32 channel_flags)
{
	struct tsct_channel *t;
	int error = try_open(nr, roles, flags, channel_flags, &t);

	ck_assert_msg(!error, "%d: %d: %s", nr, error, tsct_channel_error(t));
	return t;
}

static void emit_to(struct tsct_channel *t, __u64 n)
{
	int id = tsct_event_define(t, "e", TSCT_KIND_INSTANT, "n:u64");

	ck_assert_int_ge(id, TSCT_ID_FIRST);
	ck_assert_int_eq(tsct_emit(t, id, &n, sizeof(n)), 0);
}

static unsigned int count_channels(struct tsct_channel *t, __u64 *ret_events)
{
	struct tsct_channel_info info = { 0 };
	unsigned int nr = 0;

	*ret_events = 0;
	while (!tsct_channels_next(t, &info)) {
		*ret_events += info.events;
		nr++;
	}
	return nr;
}

CASE("server_channels", setup, teardown);

/* One user creates, opens, writes, lists and reads a thousand channels at a time. */
TEST(test_thousand_channels)
{
	struct tsct_channel **all = calloc(MANY, sizeof(*all));
	struct tsct_reader *reader;
	struct tsct_event event;
	struct tsct_channel *t;
	__u64 events;
	int i, cpu;

	cpu = sched_getcpu();
	run_on(cpu);
	for (i = 0; i < MANY; i++) {
		all[i] = open_nr(i, TSCT_ROLE_WRITE, TSCT_OPEN_CREATE, 0);
		emit_to(all[i], i);
	}
	ck_assert_uint_eq(count_channels(all[0], &events), MANY);
	ck_assert_uint_eq(events, MANY);
	for (i = 0; i < MANY; i++) {
		t = open_nr(i, TSCT_ROLE_READ, TSCT_OPEN_ATTACH, 0);
		ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
		ck_assert_int_eq(tsct_reader_next(reader, cpu, &event), 1);
		ck_assert_uint_eq(*(const __u64 *)event.payload, i);
		ck_assert_int_eq(tsct_reader_next(reader, cpu, &event), 0);
		tsct_reader_close(reader);
		tsct_channel_close(t);
	}
	for (i = 1; i < MANY; i++)
		tsct_channel_close(all[i]);
	/* While the server serves other clients, it may detect closed connections
	 * late. */
	for (i = 0; i < 500 && count_channels(all[0], &events) > 1; i++)
		usleep(10000);
	ck_assert_uint_eq(count_channels(all[0], &events), 1);
	tsct_channel_close(all[0]);
	free(all);
}

/* When a user has too many kept channels, the error text says what to do. */
TEST(test_channel_limit)
{
	struct tsct_channel *t, *first = open_nr(0, TSCT_ROLE_WRITE, 0,
					 TSCT_CHANNEL_KEEP);
	__u64 events;
	int i, error = 0;

	for (i = 1; !error && i < 5000; i++) {
		error = try_open(i, TSCT_ROLE_WRITE, TSCT_OPEN_CREATE,
				 TSCT_CHANNEL_KEEP, &t);
		if (error)
			ck_assert_msg(strstr(tsct_channel_error(t), "close or remove"),
				      "%s", tsct_channel_error(t));
		tsct_channel_close(t);
	}
	ck_assert_int_eq(error, -EDQUOT);
	ck_assert_uint_ge(count_channels(first, &events), MANY);
	/* The first channel can still be opened by its name. When it is removed, there
	 * is room for another channel. */
	ck_assert_int_eq(tsct_channel_remove(first, tsct_channel_info(first)->id), 0);
	ck_assert_int_eq(tsct_channel_remove(first, 7), 0);
	t = open_nr(5000, TSCT_ROLE_WRITE, TSCT_OPEN_CREATE, 0);
	tsct_channel_close(t);
	tsct_channel_close(first);
}

TEST(test_memory_limit)
{
	struct tsct_channel_options options = {
		.name = "large", .block_size = 65536, .blocks = 4096,
		.roles = TSCT_ROLE_READ,
	};
	struct tsct_channel *t;
	char name[16] = "l0";
	struct tsct_channel *held[64] = { 0 };
	int i, error = 0;

	options.name = name;
	for (i = 0; !error && i < 64; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		error = tsct_channel_open_at(serve_path, &options, &held[i]);
	}
	ck_assert_int_eq(error, -EDQUOT);
	t = held[i - 1];
	ck_assert_msg(strstr(tsct_channel_error(t), "MiB allowed") &&
		      strstr(tsct_channel_error(t), "use fewer blocks"), "%s",
		      tsct_channel_error(t));
	while (i--)
		tsct_channel_close(held[i]);
}

/* Emits @nr events in a child process, which then kills itself. */
static void emit_and_die(int nr, __u32 channel_flags)
{
	pid_t pid = fork();
	struct tsct_channel *t;
	int i, status;

	if (!pid) {
		t = open_nr(1, TSCT_ROLE_WRITE, 0, channel_flags);
		for (i = 0; i < nr; i++)
			emit_to(t, i);
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
}

static void expect_events(struct tsct_channel *t, int nr)
{
	struct tsct_reader *reader;
	struct tsct_event event;

	ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
	for (int i = 0; i < nr; i++) {
		ck_assert_int_eq(tsct_reader_next_ordered(reader, UINT64_MAX,
						      &event), 1);
		ck_assert_uint_eq(*(const __u64 *)event.payload, i);
		ck_assert_str_eq(tsct_reader_def(reader, event.id)->name, "e");
	}
	ck_assert_int_eq(tsct_reader_next_ordered(reader, UINT64_MAX, &event), 0);
	tsct_reader_close(reader);
}

TEST(test_killed_writer_of_kept_channel)
{
	struct tsct_channel *t;

	run_on(sched_getcpu());
	emit_and_die(20, TSCT_CHANNEL_KEEP);
	t = open_nr(1, TSCT_ROLE_READ, TSCT_OPEN_ATTACH, 0);
	expect_events(t, 20);
	tsct_channel_close(t);
}

TEST(test_killed_writer_of_open_channel)
{
	struct tsct_channel *t = open_nr(1, TSCT_ROLE_READ, 0, 0);

	run_on(sched_getcpu());
	emit_and_die(20, 0);
	expect_events(t, 20);
	tsct_channel_close(t);
}

/* If the writer of a channel is killed, the channel is removed, unless it is kept or
 * also open elsewhere. */
TEST(test_killed_writer_of_other_channel)
{
	struct tsct_channel *t;
	int i, error = 0;

	emit_and_die(3, 0);
	for (i = 0; i < 500 && error != -ENOENT; i++) {
		error = try_open(1, TSCT_ROLE_READ, TSCT_OPEN_ATTACH, 0, &t);
		tsct_channel_close(t);
		usleep(10000);
	}
	ck_assert_int_eq(error, -ENOENT);
}

static void overwrite_memory(const struct tsct_channel *victim)
{
	const struct tsct_channel_header *h = &victim->header;
	char *map = mmap(NULL, h->file_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED, victim->map_fd, 0);

	for (;;)
		*(__u64 *)(map + any(h->file_size / 8) * 8) = any64();
}

/* If one channel is overwritten with random data, all events of another channel can
 * still be read. */
TEST(test_other_channel_overwritten)
{
	struct tsct_channel *victim = open_nr(1, TSCT_ROLE_WRITE, 0, 0);
	struct tsct_channel *t = open_nr(2, TSCT_ROLE_WRITE | TSCT_ROLE_READ, 0, 0);
	const __u32 id = tsct_channel_info(victim)->id;
	struct tsct_channel_cpu figures;
	struct tsct_reader *reader;
	struct tsct_event event;
	__u64 i, events;
	pid_t pid = fork();

	if (!pid)
		overwrite_memory(victim);
	run_on(sched_getcpu());
	ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
	for (i = 0; i < 20000; i++) {
		emit_to(t, i);
		ck_assert_int_eq(tsct_reader_next_ordered(reader, UINT64_MAX,
						      &event), 1);
		ck_assert_uint_eq(*(const __u64 *)event.payload, i);
		tsct_reader_release(reader, event.cpu);
		if (i % 10)
			continue;
		ck_assert_uint_eq(count_channels(t, &events), 2);
		ck_assert_int_eq(tsct_channel_cpu_stat(t, id, 0, &figures), 0);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tsct_reader_close(reader);
	tsct_channel_close(t);
	tsct_channel_close(victim);
}

/* A client cannot remove pages from the memory that it shares with the server. */
TEST(test_memory_is_sealed)
{
	struct tsct_channel *t = open_nr(1, TSCT_ROLE_WRITE, 0, 0);
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	ck_assert_int_eq(fcntl(t->map_fd, F_GET_SEALS) & seals, seals);
	ck_assert_int_lt(ftruncate(t->map_fd, 4096), 0);
	ck_assert_int_lt(fcntl(t->map_fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	tsct_channel_close(t);
}
