// SPDX-License-Identifier: MIT
/*
 * The library with the module, each part in a process of its own: definitions, rights, the
 * limit of memory, pid namespaces, and programs without rseq
 * guest-test: files=build/daemon/tsctraced timeout=90
 */
#include <sys/un.h>
#include <ucontext.h>

#include "../unit/single_step.h"
#include "lib.h"
#include "lib/core/port.h"

/* ---- definitions -------------------------------------------------------- */

static int define(struct tsct_channel *channel, unsigned int i)
{
	char name[16];

	snprintf(name, sizeof(name), "event_%u", i);
	return tsct_event_define(channel, name, i % TSCT_KIND_NR, "a:u32/x, b:string");
}

/* Defines events in the channel @inherited, or, if @inherited is null, in the channel
 * that the child opens. Stores the event ids in @ids, which is shared memory. */
static void define_in_child(struct tsct_channel *inherited, int16_t *ids)
{
	struct tsct_channel *channel = inherited ? inherited : lib_open(NULL);

	for (unsigned int i = 0; i < 100; i++)
		ids[i] = define(channel, i);
	_exit(0);
}

/* The same definition has the same id in every process of a channel. */
static void try_definitions(void)
{
	struct tsct_channel_options reads = { .roles = TSCT_ROLE_READ };
	const struct tsct_event_def *def;
	struct tsct_reader *reader;
	struct tsct_channel *channel, *source;
	int16_t (*ids)[100];
	pid_t pids[6];

	ids = mmap(NULL, sizeof(*ids) * 6, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	channel = lib_open(&reads);
	source = lib_open(NULL);
	reader = lib_reader(channel);
	for (unsigned int c = 0; c < 6; c++) {
		pids[c] = t_fork();
		if (!pids[c])
			define_in_child(c % 2 ? source : NULL, ids[c]);
	}
	for (unsigned int c = 0; c < 6; c++)
		t_check(!t_wait(pids[c]));
	for (unsigned int i = 0; i < 100; i++) {
		for (unsigned int c = 0; c < 6; c++)
			t_check(ids[c][i] == ids[0][i] &&
				ids[c][i] >= TSCT_ID_FIRST, "%d", ids[c][i]);
		t_check(define(source, i) == ids[0][i]);
		def = tsct_reader_def(reader, ids[0][i]);
		t_check(def && def->kind == i % TSCT_KIND_NR &&
			def->nr_fields == 2 && atoi(def->name + 6) == (int)i);
	}
	t_check(tsct_event_define(source, "bad", 0, "a:u7") == -EINVAL);
	t_check(tsct_event_define(source, "event_0", 0, "") != ids[0][0]);
	t_check(!tsct_reader_def(reader, TSCT_ID_FIRST + 101));
	tsct_reader_close(reader);
	tsct_channel_close(source);
	tsct_channel_close(channel);
}

/* ---- the limit of memory ------------------------------------------------ */

/* Between bind() and listen(), the daemon's socket is there, but refuses connections. */
static bool is_listening(void)
{
	const struct sockaddr_un addr = {
		.sun_family = AF_UNIX, .sun_path = "/run/tsctrace/tsctraced.sock",
	};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool ret = !connect(fd, (const struct sockaddr *)&addr, sizeof(addr));

	close(fd);
	return ret;
}

/*
 * The module has no room for a channel of this user: the library uses the daemon, and says
 * why; if the environment demands the module, the request fails.
 */
static void try_limit(void)
{
	const struct tsct_channel_options options = { .name = "quota" };
	struct tsct_channel *channel;
	pid_t pid = lib_start_daemon("1000");
	int err;

	t_until(is_listening());
	dev_set(PARAM "bytes_max", "4096");
	err = tsct_channel_open(&options, &channel);
	t_check(!err, "%s", tsct_channel_error(channel));
	printf("%s\n", tsct_channel_error(channel));
	t_check(tsct_channel_provider(channel) == TSCT_PROVIDER_DAEMON);
	t_check(strstr(tsct_channel_error(channel), "MiB allowed"));
	t_check(!tsct_emit(channel, tsct_event_define(channel, "e", 0, ""), NULL, 0));
	tsct_channel_close(channel);
	setenv("TSCTRACE_PROVIDER", "module", 1);
	t_check(tsct_channel_open(&options, &channel) == -EDQUOT);
	tsct_channel_close(channel);
	unsetenv("TSCTRACE_PROVIDER");
	dev_set(PARAM "bytes_max", "0");
	channel = lib_open(&options);
	tsct_channel_close(channel);
	lib_stop_daemon(pid);
}

/* ---- rights ------------------------------------------------------------- */

/* Without access rights a program gets the error and advice, and runs untraced. */
static void as_nobody(void *unused)
{
	struct tsct_channel *channel;

	t_check(tsct_channel_open(NULL, &channel) == -EACCES);
	t_check(strstr(tsct_channel_error(channel), "/dev/tsctrace: permission denied; join"),
		"%s", tsct_channel_error(channel));
	t_check(tsct_channel_provider(channel) == TSCT_PROVIDER_NONE);
	t_check(tsct_event_define(channel, "e", 0, "a:u8") >= TSCT_ID_FIRST);
	t_check(tsct_emit(channel, 16, "x", 1) == -ENODEV);
	t_check(tsct_channel_dropped(channel) == 1);
	tsct_channel_close(channel);
}

/* A user with rights on the device sees its own channels only. */
static void as_user(void *unused)
{
	struct tsct_channel_options attach = { .flags = TSCT_OPEN_ATTACH };
	struct tsct_channel *channel;

	t_check(tsct_channel_open(&attach, &channel) == -ENOENT);
	t_check(strstr(tsct_channel_error(channel), "no such channel"), "%s", tsct_channel_error(channel));
	tsct_channel_close(channel);
	channel = lib_open(NULL);
	t_check(tsct_channel_info(channel)->uid == 1000);
	tsct_channel_close(channel);
}

static void try_flags(void)
{
	struct tsct_channel_options options = { .flags = TSCT_OPEN_CREATE };
	struct tsct_channel *channel;

	t_check(tsct_channel_open(&options, &channel) == -EEXIST);
	t_check(strstr(tsct_channel_error(channel), "another name"), "%s", tsct_channel_error(channel));
	tsct_channel_close(channel);
	options.name = "no/slash";
	t_check(tsct_channel_open(&options, &channel) == -EINVAL);
	tsct_channel_close(channel);
	options.name = "odd";
	options.block_size = 5000;
	t_check(tsct_channel_open(&options, &channel) == -EINVAL);
	tsct_channel_close(channel);
	options.block_size = 0;
	options.reserved[3] = 1;
	t_check(tsct_channel_open(&options, &channel) == -EINVAL);
	tsct_channel_close(channel);
}

/* Only the kernel may write: a program's event is rejected and counted. */
static void try_kernel_channel(void)
{
	struct tsct_channel_options options = {
		.name = "kernel", .roles = TSCT_ROLE_READ,
		.channel_flags = TSCT_CHANNEL_KERNEL,
	};
	struct tsct_channel *channel = lib_open(&options);
	int id = tsct_event_define(channel, "e", 0, "");

	t_check(id >= TSCT_ID_FIRST);
	t_check(tsct_emit(channel, id, NULL, 0) == -EACCES);
	t_check(tsct_channel_dropped(channel) == 1);
	tsct_channel_close(channel);
}

static void try_rights(void)
{
	struct tsct_channel *channel = lib_open(NULL);

	t_check(strstr(tsct_channel_error(channel), "module"), "%s", tsct_channel_error(channel));
	t_check(!chmod("/dev/tsctrace", 0600), "%m");
	dev_as_user(65534, as_nobody, NULL);
	t_check(!chmod("/dev/tsctrace", 0666), "%m");
	dev_as_user(1000, as_user, NULL);
	t_check(!chmod("/dev/tsctrace", 0660), "%m");
	try_flags();
	try_kernel_channel();
	tsct_channel_close(channel);
}

/* ---- pid namespaces ----------------------------------------------------- */

static const struct tsct_channel_options pidns_options = {
	.name = "pidns", .block_size = 4096, .blocks = 16, .roles = TSCT_ROLE_WRITE,
};

/* Sets *number, the number of this thread in the initial namespace. */
static void try_thread(pid_t *number)
{
	struct tsct_thread_info thread;
	char self[16] = "";
	struct stat st;
	int fd = open(TSCT_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	t_check(!ioctl(fd, TSCT_IOC_THREAD, &thread), "%m");
	/* This /proc is of the outer namespace. */
	t_check(readlink("/proc/self", self, sizeof(self) - 1) > 0, "%m");
	t_check(thread.tid == thread.tgid && thread.tid == (uint32_t)atoi(self), "%u, not %s",
		thread.tid, self);
	*number = (pid_t)thread.tid;
	t_check(thread.start_ns > 0 && !thread.reserved[0]);
	t_check(!stat("/proc/self/ns/pid", &st), "%m");
	t_check(thread.pid_namespace != 0);
	close(fd);
}

/* Process 1 of a new pid namespace: emits two events by itself, one by the kernel. */
static void emit_in_namespace(pid_t *number)
{
	struct tsct_channel *channel = lib_open(&pidns_options);
	int id = tsct_event_define(channel, "hello", TSCT_KIND_INSTANT, "");
	struct tsct_write write = { .id = (__u16)id };
	struct tsct_channel_attach attach = {
		.name = "pidns", .uid = TSCT_UID_SELF, .roles = TSCT_ROLE_WRITE,
	};
	int fd = open(TSCT_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	t_check(getpid() == 1);
	t_check(!tsct_emit(channel, id, NULL, 0));
	t_check(!tsct_emit(channel, id, NULL, 0));
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_ATTACH, &attach), "%m");
	t_check(!ioctl(fd, TSCT_IOC_WRITE, &write), "%m");
	try_thread(number);
	exit(t_status());
}

/* Sets *number, in shared memory: the number of the namespace's process 1 in this namespace. */
static void run_in_namespace(pid_t *number)
{
	pid_t pid = t_fork();

	if (!pid) {
		t_check(!unshare(CLONE_NEWPID), "%m");
		/* The child is process 1 of the new namespace. */
		pid = t_fork();
		if (!pid)
			emit_in_namespace(number);
		t_check(!t_wait(pid));
		exit(t_status());
	}
	t_check(!t_wait(pid));
}

/*
 * Programs in two pid namespaces, where each is thread 1: their events have different
 * thread ids, those of the initial namespace, whether the program writes the record
 * itself or the kernel does. TSCT_IOC_THREAD reports them to the program.
 */
static void try_pid_namespaces(void)
{
	struct tsct_channel_options own = pidns_options;
	struct tsct_channel *channel;
	struct tsct_reader *reader;
	struct tsct_event event;
	pid_t *pids = mmap(NULL, 4096, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	own.roles = BOTH;
	channel = lib_open(&own);
	reader = lib_reader(channel);
	dev_pin(0);
	run_in_namespace(&pids[0]);
	run_in_namespace(&pids[1]);
	t_check(pids[0] != pids[1]);
	for (int i = 0; i < 6; i++) {
		if (!t_check(lib_next(reader, &event), "event %d", i))
			break;
		t_check(event.tid == (uint32_t)pids[i / 3] && event.tid > 1, "event %d: thread %u, process %d",
			i, event.tid, pids[i / 3]);
	}
	tsct_reader_close(reader);
	tsct_channel_close(channel);
}

/* ---- without rseq ------------------------------------------------------- */

extern const unsigned int __rseq_size;

static struct tsct_channel_options fallback_options = {
	.name = "lib_fallback", .block_size = 4096, .blocks = 2, .roles = BOTH,
};
static volatile unsigned int steps;

static void fill_it(struct tsct_channel *channel, int id)
{
	struct tsct_reader *reader = lib_reader(channel);
	char bytes[4096] = "";
	struct tsct_event event;
	unsigned int nr = 0;
	int error;

	dev_pin(1);
	t_check(!tsct_emit(channel, id, "hello", 6));
	t_check(lib_next(reader, &event) && event.cpu == 1 &&
		event.id == (unsigned int)id && event.len == 6 &&
		event.tid == (uint32_t)gettid() &&
		!memcmp(event.payload, "hello", 6));
	t_check(tsct_emit(channel, id, bytes, 4096) == -EMSGSIZE);
	t_check(lib_lost(reader, TSCT_LOST_TOO_BIG) == 1);
	while (!(error = tsct_emit(channel, id, bytes, 984)))
		nr++;
	t_check(error == -ENOSPC, "%d", error);
	t_check(lib_lost(reader, TSCT_LOST_FULL) == 1);
	t_check(nr == 8, "%u", nr);
	for (; nr; nr--)
		t_check(lib_next(reader, &event) && event.len == 984);
	t_check(!lib_next(reader, &event));
	tsct_reader_release(reader, 1);
	t_check(!tsct_emit(channel, id, "x", 1));
	t_check(lib_next(reader, &event) && event.len == 1);
	tsct_reader_release(reader, 1);
	t_check(!lib_lost(reader, TSCT_LOST_ABORTED) && !tsct_channel_dropped(channel));
	tsct_reader_close(reader);
}

/* Handles SIGTRAP, which arrives after every instruction while the trap flag is set */
static void step(int sig, siginfo_t *info, void *context)
{
	steps++;
}

static void try_stepped(struct tsct_channel *channel, int id)
{
	struct sigaction action = {
		.sa_sigaction = step, .sa_flags = SA_SIGINFO,
	};
	struct tsct_reader *reader = lib_reader(channel);
	struct tsct_event event;

	sigaction(SIGTRAP, &action, NULL);
	t_check(!emit_stepped(channel, id, 42));
	t_check(steps > 64, "%u", steps);
	t_check(lib_next(reader, &event) && event.len == 8 &&
		*(const uint64_t *)event.payload == 42);
	t_check(!lib_next(reader, &event));
	t_check(!lib_lost(reader, TSCT_LOST_ABORTED) && !tsct_channel_dropped(channel));
	tsct_reader_close(reader);
}

/*
 * Without rseq, or under a single-stepping debugger, the kernel writes the
 * record; for the program only the speed differs.
 */
static void emit_by_kernel(bool has_rseq)
{
	struct tsct_channel *channel = lib_open(&fallback_options);
	int id = tsct_event_define(channel, "e", 0, "what:string");

	t_check(id >= TSCT_ID_FIRST, "%d", id);
	t_check(!__rseq_size == !has_rseq, "%u", __rseq_size);
	fill_it(channel, id);
	try_stepped(channel, id);
	tsct_channel_close(channel);
}

static void try_rseq(void)
{
	emit_by_kernel(true);
}

/* Executes this program once more, with rseq switched off. */
static void try_without_rseq(void)
{
	setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
	execl("/proc/self/exe", "t_lib", "without-rseq", NULL);
	t_check(false, "exec: %m");
}

/* t_lib emit NUMBER: a program with large events, for tests of trace-ctl */
static int emit_many(int nr)
{
	static char text[1000];
	struct tsct_channel *channel = lib_open(NULL);
	int id = tsct_event_define(channel, "fill", TSCT_KIND_INSTANT, "text:string"), i;

	memset(text, 'x', sizeof(text) - 1);
	for (i = 0; i < nr; i++)
		if (tsct_emit(channel, id, text, sizeof(text)))
			return 1;
	tsct_channel_close(channel);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "emit"))
		return emit_many(atoi(argv[2]));
	if (argc > 1) {
		emit_by_kernel(false);
		return t_status();
	}
	t_part(try_definitions);
	t_part(try_limit);
	t_part(try_rights);
	t_part(try_pid_namespaces);
	t_part(try_rseq);
	t_part(try_without_rseq);
	return t_status();
}
