// SPDX-License-Identifier: MIT
/*
 * Runs a program in this process, a child, in up to three threads with users of their own,
 * and checks that errors are documented ones.
 */
#include <sys/prctl.h>

#include "../modules/fuzz_call.h"
#include "fuzz.h"

/* Each map slot has a window of the address space, so that a store through a map that
 * another thread has removed hits nothing else. */
#define WINDOW		(64UL << 20)
#define WINDOWS		((char *)0x200000000000UL)
#define ARENA_PAGES	4
#define STEPS_MAX	600
#define CALL_SECONDS	30
#define CGROUP		"/sys/fs/cgroup/fuzz"
#define NEST		"/sys/module/tsct_nest/parameters/run"

struct fz_shared *fz_shared;

/* Written by the program's threads without locks, like a hostile program does */
static int files[FZ_SLOTS], epoll, netlink, kernel, watching;
static size_t sizes[FZ_SLOTS];
static unsigned int nr_cpus;
static char *arena;		/* per thread ARENA_PAGES, followed by no page */
static __thread struct fz_thread *self;

void fz_fail(struct fz_thread *t, const char *format, ...)
{
	size_t used = strlen(t->shared->why);
	va_list args;

	va_start(args, format);
	if (!used)
		vsnprintf(t->shared->why, sizeof(t->shared->why), format, args);
	va_end(args);
}

/* ---- faults ----------------------------------------------------------- */

/* Number of channels, by a descriptor that the program does not know */
static uint64_t count_channels(void)
{
	struct tsct_info info = { .channels = 0 };

	ioctl(watching, TSCT_IOC_INFO, &info);
	return info.channels;
}

/* Not CLOCK_REALTIME, which programs set */
static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void begin(struct fz_thread *t)
{
	if (t->creating)
		t->channels = count_channels();
	__atomic_fetch_add(&t->shared->calls, 1, __ATOMIC_RELAXED);
	t->since = now();
	if (t->nth)
		faults_arm(&t->faults, t->nth);
}

/* True if the call is to be repeated, with its next step failing. */
static bool again(struct fz_thread *t, long ret)
{
	bool hit = t->nth && faults_injected(&t->faults);

	if (now() - t->since > CALL_SECONDS)
		fz_fail(t, "a call took %ld s", (long)(now() - t->since));
	/* A child that the program does not wait for may remove one at this time. */
	if (t->creating && ret < 0 && count_channels() > t->channels)
		fz_fail(t, "a channel is left, though its creation failed");
	fz_cover_collect(t->nr);
	t->faulty |= hit;
	if (!hit)
		return false;
	__atomic_fetch_add(&t->shared->injected, 1, __ATOMIC_RELAXED);
	return t->sweep && ++t->nth < STEPS_MAX;
}

/* The call's result, and errno, at its last repetition */
#define CALL(t, call) ({						\
	long call_ret;							\
	int call_errno;							\
	bool call_again;						\
	do {								\
		begin(t);						\
		errno = 0;						\
		call_ret = (long)(call);				\
		call_errno = errno;					\
		call_again = again(t, call_ret);				\
	} while (call_again);						\
	errno = call_errno;						\
	call_ret;							\
})

/* ---- requests --------------------------------------------------------- */

static void *argument_at(struct fz_thread *t, const struct fz_op *op, size_t size,
			 void *argument)
{
	static void *const invalid[] = {
		NULL, (void *)-4096L, (void *)0xffffffff81000000, (void *)1,
		(void *)0x7ffffffff000, (void *)fz_requests, (void *)(1UL << 63),
	};
	char *base = arena + t->nr * (ARENA_PAGES + 1) * FZ_PAGE;
	char *end = base + ARENA_PAGES * FZ_PAGE, *at = base + FZ_PAGE;

	switch (op->where >> 5) {
	case FZ_AT_READ_ONLY:
		at = base + 2 * FZ_PAGE;
		mprotect(at, FZ_PAGE, PROT_READ | PROT_WRITE);
		memcpy(at, argument, size);
		mprotect(at, FZ_PAGE, PROT_READ);
		return at;
	case FZ_AT_PAGE_END:
		at = end - size;
		break;
	case FZ_AT_CROSSING:
		at = end - size / 2;
		size -= size / 2;
		break;
	case FZ_AT_SLOW:
		madvise(fz_slow_page, FZ_PAGE, MADV_DONTNEED);
		return fz_slow_page;
	case FZ_AT_MAP:
		return WINDOWS + (op->sel[FZ_SELECTORS - 1] & 7) * WINDOW;
	case FZ_AT_INVALID:
		return invalid[op->sel[FZ_SELECTORS - 1] % 7];
	}
	memcpy(at, argument, size);
	return at;
}

static void note_id(struct fz_thread *t, uint32_t id)
{
	uint32_t at = __atomic_fetch_add(&t->shared->nr_ids, 1, __ATOMIC_RELAXED);

	if (at < FZ_IDS)
		t->shared->ids[at] = id;
}

/* True if no other thread of the program changes what a descriptor stands for. */
static bool is_alone(const struct fz_thread *t)
{
	return t->program->threads % FZ_THREADS == 0;
}

static void check_errno(struct fz_thread *t, unsigned int nr, int error)
{
	if (fz_errno_documented(nr, error) || error == EBADF)
		return;
	/* Another thread may have closed the descriptor, and opened another file. */
	if (error == ENOTTY && !is_alone(t))
		return;
	/* A task that is being killed, and faults that were injected */
	if (error == EINTR || (t->faulty && error == ENOMEM) ||
	    (t->program->cgroup == 255 && error == ENOMEM))
		return;
	fz_fail(t, "%s: undocumented error %s", fz_requests[nr].name, strerror(error));
}

static struct fz_context context_of(const struct fz_thread *t)
{
	const uint32_t nr = t->shared->nr_ids;

	return (struct fz_context) {
		.ids = t->shared->ids, .nr_ids = nr < FZ_IDS ? nr : FZ_IDS,
		.nr_cpus = nr_cpus,
	};
}

static void run_request(struct fz_thread *t, unsigned int nr, const struct fz_op *op)
{
	char *base = arena + t->nr * (ARENA_PAGES + 1) * FZ_PAGE;
	void *addresses[] = {
		base, base + 4096 - 13, base + ARENA_PAGES * FZ_PAGE - 8, WINDOWS,
		base + ARENA_PAGES * FZ_PAGE, NULL, (void *)-4096L, fz_slow_page,
		WINDOWS + WINDOW, (void *)(1UL << 63),
	};
	struct fz_context context = context_of(t);
	int fd = files[op->where & 7];
	char argument[2048];
	uint32_t id;
	void *at;
	long ret;

	_Static_assert(sizeof(struct tsct_event_def) <= sizeof(argument), "too small");
	context.addresses = addresses;
	context.nr_addresses = 10;
	fz_argument(nr, op->sel, &context, argument);
	at = argument_at(t, op, fz_requests[nr].size, argument);
	t->creating = nr == FZ_CREATE && is_alone(t);
	ret = CALL(t, ioctl(fd, fz_requests[nr].cmd, at));
	t->creating = false;
	if (ret < 0)
		check_errno(t, nr, errno);
	else if (ret > 0)
		fz_fail(t, "%s: returns %ld", fz_requests[nr].name, ret);
	if (ret || op->where >> 5 > FZ_AT_PAGE_END)
		return;
	memcpy(&id, (char *)at + (nr == FZ_CREATE ?
				  offsetof(struct tsct_channel_create, id) :
				  offsetof(struct tsct_channel_attach, id)), 4);
	if (nr == FZ_CREATE)
		note_id(t, id);
	if ((nr == FZ_CREATE || nr == FZ_ATTACH) && !id)
		fz_fail(t, "%s: no id", fz_requests[nr].name);
}

/* Returns the request with the type, direction and nr of @cmd, or NULL. */
static const struct fz_request *find_request(unsigned long cmd)
{
	const unsigned long size = (unsigned long)_IOC_SIZEMASK << _IOC_SIZESHIFT;

	for (unsigned int i = 0; i < FZ_REQUESTS; i++)
		if (((uint32_t)cmd & ~size) == (fz_requests[i].cmd & ~size))
			return &fz_requests[i];
	return NULL;
}

/* A number with a valid or random nr, direction and size */
static void run_ioctl(struct fz_thread *t, int fd, const struct fz_op *op)
{
	unsigned long cmd = fz_requests[op->sel[0] % FZ_REQUESTS].cmd;
	char *base = arena + t->nr * (ARENA_PAGES + 1) * FZ_PAGE;
	const struct fz_request *request;
	long ret;

	if (op->sel[1])
		cmd ^= 1UL << op->sel[1] % 32;
	if (op->sel[2])
		cmd = (cmd & ~0xffUL) | op->sel[3];
	/* Another size is an older or newer program's. Channels that it makes would not be
	 * known here. */
	request = find_request(cmd);
	if (request && ((uint32_t)cmd == request->cmd ||
			request - fz_requests == FZ_CREATE ||
			request - fz_requests == FZ_ATTACH))
		return;
	/* Requests of the file layer: FIOCLEX, FIONREAD ... are of other types. */
	if (_IOC_TYPE(cmd) != TSCT_IOC_MAGIC)
		return;
	ret = CALL(t, ioctl(fd, cmd, base));
	if (request) {
		if (ret < 0 && errno != ENOTTY && errno != EBADF && errno != E2BIG &&
		    !fz_errno_documented((unsigned int)(request - fz_requests), errno))
			fz_fail(t, "ioctl %#lx: %s", cmd, strerror(errno));
		return;
	}
	if (is_alone(t) && (ret >= 0 || (errno != ENOTTY && errno != EBADF)))
		fz_fail(t, "ioctl %#lx: returns %ld, %s", cmd, ret, strerror(errno));
}

/* ---- files and maps --------------------------------------------------- */

static void run_open(struct fz_thread *t, int slot, const struct fz_op *op)
{
	static const int modes[] = {
		O_RDWR, O_RDONLY, O_RDWR | O_NONBLOCK, O_WRONLY, O_PATH, O_RDWR | O_TRUNC,
	};
	int fd = (int)CALL(t, open(TSCT_DEVICE_PATH, modes[op->sel[0] % 6] | O_CLOEXEC));
	int old;

	if (fd < 0)
		return;
	old = __atomic_exchange_n(&files[slot], fd, __ATOMIC_RELAXED);
	if (old >= 0)
		close(old);
}

static void run_close(struct fz_thread *t, int slot)
{
	int fd = __atomic_exchange_n(&files[slot], -1, __ATOMIC_RELAXED);

	if (fd >= 0)
		CALL(t, close(fd));
}

static void run_dup(struct fz_thread *t, int slot, const struct fz_op *op)
{
	int fd = (int)CALL(t, dup(files[slot]));
	int old;

	if (fd < 0)
		return;
	old = __atomic_exchange_n(&files[op->sel[0] & 7], fd, __ATOMIC_RELAXED);
	if (old >= 0)
		close(old);
}

/* sel[0]: map slot; [1]: region; [2]: page of it; [3]: length; [4]: rights; [5]: flags */
static void run_mmap(struct fz_thread *t, int fd, const struct fz_op *op)
{
	const uint64_t consumers = FZ_PAGE + TSCT_DEFS_SIZE;
	const uint64_t rings = consumers + (uint64_t)nr_cpus * FZ_PAGE;
	const uint64_t regions[] = {
		rings, consumers, 0, 1ULL << 43, (1ULL << 43) - FZ_PAGE, 1ULL << 40,
		~0xfffULL, 1ULL << 62,
	};
	static const uint32_t pages[] = { 2, 1, 5, 6, 10, 17, 18, 3, 40, 5000 };
	static const int rights[] = {
		PROT_READ | PROT_WRITE, PROT_READ, PROT_WRITE, PROT_NONE,
		PROT_READ | PROT_EXEC,
	};
	static const int flags[] = {
		MAP_SHARED, MAP_SHARED | MAP_POPULATE, MAP_SHARED_VALIDATE, MAP_PRIVATE,
		MAP_SHARED | MAP_LOCKED,
	};
	uint64_t offset = regions[op->sel[1] % 8] + (uint64_t)op->sel[2] % 32 * FZ_PAGE;
	size_t length = (size_t)pages[op->sel[3] % 10] * FZ_PAGE;
	unsigned int slot = op->sel[0] & 7;
	long ret;

	ret = CALL(t, mmap(WINDOWS + slot * WINDOW, length, rights[op->sel[4] % 5],
			   flags[op->sel[5] % 5] | MAP_FIXED, fd, (off_t)offset));
	if (ret != -1)
		sizes[slot] = length;
	else if (errno != EPERM && errno != EACCES && errno != EINVAL && errno != EBADF &&
		 errno != ENOMEM && errno != EOVERFLOW && errno != EAGAIN)
		fz_fail(t, "mmap: undocumented error %s", strerror(errno));
}

/* Stores numbers that positions may have, or reads. sel[0]: map slot; [1]: page; [2]: word;
 * [3]: value; [4]: number of words */
static int touch(struct fz_thread *t, const struct fz_op *op, bool store)
{
	static const uint64_t values[] = {
		0, 8, 24, 31, 32, 33, 4088, 4095, 4096, 8192, 16384, 32768, 1ULL << 47,
		(1ULL << 48) - 8, 1ULL << 48, -8ULL, -1ULL, 0xffff000000000020ULL,
	};
	size_t length = sizes[op->sel[0] & 7], at;
	volatile uint64_t *volatile base, sum = 0;
	sigjmp_buf faulted;

	if (!length)
		return -1;
	at = op->sel[1] * FZ_PAGE % length + op->sel[2] % 128 * 8;
	base = (volatile uint64_t *)(WINDOWS + (op->sel[0] & 7) * WINDOW + at);
	t->on_fault = &faulted;
	if (sigsetjmp(faulted, 1)) {
		t->on_fault = NULL;
		return -1;
	}
	for (unsigned int i = 0; i <= op->sel[4]; i++, base++) {
		if (!store)
			sum += *base;
		else if (op->sel[3] < 0x80)
			*base = values[(op->sel[3] + i * op->sel[5]) % 18];
		else
			*base += (uint64_t)(int8_t)op->sel[5] * 8;
	}
	t->on_fault = NULL;
	return 0;
}

static void reserve(unsigned int slot)
{
	sizes[slot] = 0;
	mmap(WINDOWS + slot * WINDOW, WINDOW, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void run_memory(struct fz_thread *t, unsigned int call, const struct fz_op *op)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_WILLNEED, MADV_DONTFORK, MADV_REMOVE, MADV_FREE,
		MADV_PAGEOUT, MADV_HUGEPAGE, MADV_POPULATE_WRITE, MADV_DODUMP, MADV_COLD,
	};
	unsigned int slot = op->sel[0] & 7;
	char *at = WINDOWS + slot * WINDOW;
	size_t length = sizes[slot] ?: FZ_PAGE;

	if (call == FZ_MUNMAP)
		CALL(t, munmap(at + (op->sel[1] & 1) * FZ_PAGE, FZ_PAGE));
	else if (call == FZ_MPROTECT)
		CALL(t, mprotect(at, length, op->sel[1] & 7));
	else if (call == FZ_MREMAP)
		CALL(t, mremap(at, length, length + op->sel[1] % 4u * FZ_PAGE,
			       MREMAP_MAYMOVE | MREMAP_FIXED, at + WINDOW / 2));
	else
		CALL(t, madvise(at, length, advices[op->sel[1] % 10]));
	if (call == FZ_MUNMAP && op->sel[1] > 1)
		reserve(slot);
}

/* ---- other calls ------------------------------------------------------ */

static void run_poll(struct fz_thread *t, int fd, const struct fz_op *op)
{
	static const int timeouts[] = { 0, 0, 1, 12, 30 };
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN | POLLERR };

	CALL(t, poll(&poll_fd, 1, timeouts[op->sel[0] % 5]));
}

static void run_epoll(struct fz_thread *t, int fd, const struct fz_op *op)
{
	struct epoll_event event = {
		.events = EPOLLIN | (op->sel[1] & 1 ? EPOLLET : 0) |
			(op->sel[1] & 2 ? EPOLLONESHOT : 0),
	};
	static const int ops[] = { EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL };

	if (op->sel[0] % 4 < 3)
		CALL(t, epoll_ctl(epoll, ops[op->sel[0] % 4], fd, &event));
	if (op->sel[0] % 4 == 3 || op->sel[2] & 1)
		CALL(t, epoll_wait(epoll, &event, 1, op->sel[2] % 24));
}

static void read_fdinfo(struct fz_thread *t, int fd)
{
	char path[64], text[512];
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info >= 0)
		CALL(t, pread(info, text, sizeof(text), 0));
	close(info);
}

/* Calls that the device does not support, and fcntl() */
static void run_file(struct fz_thread *t, int fd, const struct fz_op *op)
{
	char text[16] = "";
	long ret = -1;

	switch (op->sel[0] % 9) {
	case 0: ret = CALL(t, read(fd, text, sizeof(text))); break;
	case 1: ret = CALL(t, write(fd, text, sizeof(text))); break;
	case 2: ret = CALL(t, pread(fd, text, sizeof(text), op->sel[1])); break;
	case 3: ret = CALL(t, lseek(fd, op->sel[1], SEEK_SET)); break;
	case 4: ret = CALL(t, ftruncate(fd, op->sel[1])); break;
	case 5: ret = CALL(t, fallocate(fd, 0, 0, op->sel[1] + 1)); break;
	case 6: ret = CALL(t, fsync(fd)); break;
	case 7: CALL(t, fcntl(fd, F_SETFL, op->sel[1] & 1 ? O_NONBLOCK : 0)); break;
	case 8: read_fdinfo(t, fd); break;
	}
	if (ret >= 0 && is_alone(t))
		fz_fail(t, "file operation %u returns %ld", op->sel[0] % 9u, ret);
}

/* A child that inherits descriptors and maps, uses them and ends */
static void run_fork(struct fz_thread *t, const struct fz_op *op)
{
	pid_t pid = fork();

	if (!pid) {
		touch(t, op, op->sel[6] & 1);
		if (op->sel[6] & 2)
			ioctl(files[op->where & 7], TSCT_IOC_CHANNEL_REMOVE, WINDOWS);
		_exit(0);
	}
	if (pid > 0 && op->sel[6] & 4)
		kill(pid, SIGKILL);
	if (pid > 0 && !(op->sel[6] & 8))
		waitpid(pid, NULL, 0);
}

static void run_param(struct fz_thread *t, const struct fz_op *op)
{
	static const char *const files_[] = {
		"bytes_max", "bytes_user_max", "channels_user_max", "skew_max_ns",
	};
	static const char *const values[] = {
		"0", "1", "65536", "4194304", "-1", "18446744073709551615", "4294967296", "x", "",
	};
	const char *text = values[op->sel[1] % 9];
	char path[128];
	int fd;

	snprintf(path, sizeof(path), FZ_PARAMETERS "%s", files_[op->sel[0] % 4]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		CALL(t, write(fd, text, strlen(text)));
	close(fd);
}

static void run_hotplug(struct fz_thread *t, const struct fz_op *op)
{
	int fd = open(FZ_CPU1, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && op->sel[0] % 4 != 3)
		CALL(t, write(fd, "0", 1));
	if (fd >= 0 && op->sel[0] % 4 != 2)
		CALL(t, write(fd, "1", 1));
	close(fd);
}

/* Lets a module write to its channel from tasks, interrupts and NMIs on all CPUs. */
static void run_emit(struct fz_thread *t)
{
	int fd = open(NEST, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		CALL(t, write(fd, "20", 2));
	close(fd);
}

/* Notes the ids of the kernel's channels that this thread's user can see. */
static void note_kernel_ids(struct fz_thread *t)
{
	struct tsct_channel_info next = { 0 };

	while (!ioctl(watching, TSCT_IOC_CHANNEL_NEXT, &next)) {
		if (next.flags & TSCT_CHANNEL_KERNEL)
			note_id(t, next.id);
		memset(next.reserved, 0, sizeof(next.reserved));
	}
}

/* A call of a function that the module exports to others: modules/tsct-fuzz.c */
static void run_kernel(struct fz_thread *t, const struct fz_op *op)
{
	static const int documented[] = {
		EINVAL, EEXIST, EDQUOT, ENOSPC, EMSGSIZE, EBUSY, ENXIO, EBADF,
	};
	long ret;

	if (t->program->who[t->nr] % 8)	/* only the kernel calls them */
		return;
	ret = CALL(t, write(kernel, op->sel, FZ_SELECTORS));
	for (size_t i = 0; ret < 0 && i < sizeof(documented) / sizeof(documented[0]); i++)
		if (errno == documented[i])
			ret = 0;
	if (ret < 0 && errno != ENOMEM && !t->faulty)
		fz_fail(t, "kernel call %u: undocumented error %m",
			op->sel[0] % FZ_KERNEL_CALLS);
	if (op->sel[0] % FZ_KERNEL_CALLS == FZ_KERNEL_OPEN)
		note_kernel_ids(t);
}

/* A BPF program emits. sel[0]: map slot of the channel's header, or a wrong handle; [1]:
 * event; [2]: length; [3]: number of events */
static void run_bpf(struct fz_thread *t, const struct fz_op *op)
{
	static const uint32_t lens[] = { 8, 0, 1, 16, 64, 100, 1000, 4040, 4096 };
	const volatile struct tsct_channel_header *header =
		(const void *)(WINDOWS + (op->sel[0] & 7) * WINDOW);
	volatile uint64_t handle = op->sel[0];
	sigjmp_buf faulted;
	long ret;

	t->on_fault = &faulted;
	if (op->sel[0] < 0xe0 && !sigsetjmp(faulted, 1))
		handle = header->bpf_handle;
	t->on_fault = NULL;
	ret = CALL(t, fz_bpf_emit(handle + (op->sel[0] >> 5 == 6),
				  op->sel[1] < 0xe0 ? TSCT_ID_FIRST + op->sel[1] % 2u :
				  op->sel[1] % 3u * 0x8000, lens[op->sel[2] % 9],
				  op->sel[3] + 1u));
	if (ret && ret != -ENOENT && ret != -EINVAL && ret != -ENOSPC && ret != -EMSGSIZE &&
	    ret != -EBUSY && ret != -ENXIO)
		fz_fail(t, "tsct_bpf_emit: undocumented error %s", strerror((int)-ret));
}

/* Settings of the machine that disrupt the clock. sel[0]: which; [1]: value */
static void run_setting(struct fz_thread *t, const struct fz_op *op)
{
	static const char *const sources[] = { "hpet", "tsc", "acpi_pm", "tsc", "none" };
	static const time_t seconds[] = { 1700000000, 1700000001, 1600000000, 1, 4000000000 };
	struct timespec time = { seconds[op->sel[1] % 5], 0 };
	struct timex timex = { .modes = ADJ_TAI, .constant = op->sel[1] };
	int fd;

	switch (op->sel[0] % 4) {
	case 0:
		clock_settime(CLOCK_REALTIME, &time);
		break;
	case 1:
		fd = open(FZ_CLOCKSOURCE, O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			CALL(t, write(fd, sources[op->sel[1] % 5],
				      strlen(sources[op->sel[1] % 5])));
		close(fd);
		break;
	case 2:
		adjtimex(&timex);
		break;
	default:
		timex.modes = ADJ_SETOFFSET;
		timex.time.tv_usec = op->sel[1];
		adjtimex(&timex);
	}
}

static void run_netlink(struct fz_thread *t, const struct fz_op *op)
{
	CALL(t, fz_netlink_send(netlink, op->sel));
}

static void run_wait(const struct fz_op *op)
{
	cpu_set_t set;

	if (op->sel[0] & 1) {
		CPU_ZERO(&set);
		CPU_SET(op->sel[1] % 2, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	usleep(op->sel[2] % 4 * 1000);
}

static void run_op(struct fz_thread *t, const struct fz_op *op)
{
	unsigned int call = op->call % FZ_CALLS;
	int slot = op->where & 7, fd = files[slot];

	t->faulty = false;
	t->nth = t->sweep ? 1 : op->fault < FZ_FAULT ? 0 : op->fault - FZ_FAULT + 1;
	if (t->faults.fd < 0)
		t->nth = 0;
	switch (call) {
	case FZ_IOCTL: run_ioctl(t, fd, op); break;
	case FZ_OPEN: run_open(t, slot, op); break;
	case FZ_CLOSE: run_close(t, slot); break;
	case FZ_DUP: run_dup(t, slot, op); break;
	case FZ_MMAP: run_mmap(t, fd, op); break;
	case FZ_STORE: CALL(t, touch(t, op, true)); break;
	case FZ_LOAD: CALL(t, touch(t, op, false)); break;
	case FZ_POLL: run_poll(t, fd, op); break;
	case FZ_EPOLL: run_epoll(t, fd, op); break;
	case FZ_FILE: run_file(t, fd, op); break;
	case FZ_FORK: run_fork(t, op); break;
	case FZ_WAIT: run_wait(op); break;
	case FZ_NETLINK: run_netlink(t, op); break;
	case FZ_PARAM: run_param(t, op); break;
	case FZ_HOTPLUG: run_hotplug(t, op); break;
	case FZ_EMIT: run_emit(t); break;
	case FZ_KERNEL: run_kernel(t, op); break;
	case FZ_BPF: run_bpf(t, op); break;
	case FZ_SETTING: run_setting(t, op); break;
	case FZ_MUNMAP: case FZ_MPROTECT: case FZ_MREMAP: case FZ_MADVISE:
		run_memory(t, call, op); break;
	default: run_request(t, call, op); break;
	}
}

/* ---- the child -------------------------------------------------------- */

static void on_fault(int signal)
{
	if (!self || !self->on_fault)
		_exit(3);
	siglongjmp(*self->on_fault, 1);
}

static void *run_thread(void *arg)
{
	struct fz_thread *t = arg;

	self = t;
	faults_open(&t->faults);
	fz_become(t->program->who[t->nr] % 8);
	fz_cover_begin(t->nr);
	for (unsigned int i = 0; i < t->program->nr && !t->shared->why[0]; i++) {
		const struct fz_op *op = &t->program->ops[i];

		if ((op->where >> 3 & 3) % (t->program->threads % FZ_THREADS + 1) != t->nr)
			continue;
		t->shared->doing[t->nr] = i + 1;
		run_op(t, op);
		t->shared->doing[t->nr] = 0;
	}
	fz_cover_end(t->nr);
	return NULL;
}

bool fz_has_call(const struct fz_program *program, unsigned int call)
{
	for (unsigned int i = 0; i < program->nr; i++)
		if (program->ops[i].call % FZ_CALLS == call)
			return true;
	return false;
}

static bool uses_slow(const struct fz_program *program)
{
	for (unsigned int i = 0; i < program->nr; i++)
		if (program->ops[i].where >> 5 == FZ_AT_SLOW ||
		    (program->ops[i].call % FZ_CALLS == FZ_WRITE && program->ops[i].sel[2]))
			return true;
	return false;
}

_Noreturn void fz_run_child(const struct fz_program *program, bool sweep)
{
	struct fz_thread threads[FZ_THREADS];
	unsigned int i, nr = program->threads % FZ_THREADS + 1;
	pthread_t ids[FZ_THREADS];

	setpgid(0, 0);
	/* A program may go on for long; a killed one may not. */
	alarm(fz_seconds_max / 2);
	if (program->cgroup == 255)
		faults_write(CGROUP "/cgroup.procs", "0");
	if (uses_slow(program))
		fz_slow_page_serve();
	for (i = 0; i < FZ_SLOTS; i++)
		files[i] = i < 3 ? open(TSCT_DEVICE_PATH, O_CLOEXEC | (i == 2 ? O_RDONLY : O_RDWR)) :
			-1;
	kernel = open(FZ_KERNEL_PATH, O_WRONLY | O_CLOEXEC);
	watching = open(TSCT_DEVICE_PATH, O_RDONLY | O_CLOEXEC);
	epoll = fz_has_call(program, FZ_EPOLL) ? epoll_create1(EPOLL_CLOEXEC) : -1;
	netlink = fz_has_call(program, FZ_NETLINK) ? fz_netlink_socket() : -1;
	for (i = 0; i < nr; i++)
		threads[i] = (struct fz_thread){
			.program = program, .shared = fz_shared, .nr = i, .sweep = sweep,
		};
	for (i = 1; i < nr; i++)
		pthread_create(&ids[i], NULL, run_thread, &threads[i]);
	run_thread(&threads[0]);
	for (i = 1; i < nr; i++)
		pthread_join(ids[i], NULL);
	_exit(0);
}

void fz_exec_setup(void)
{
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	int fd = dev_open();

	nr_cpus = dev_info(fd).nr_cpus;
	close(fd);
	for (unsigned int i = 0; i < FZ_SLOTS; i++)
		reserve(i);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	fz_shared = mmap(NULL, sizeof(*fz_shared), RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	arena = mmap(NULL, FZ_THREADS * (ARENA_PAGES + 1) * FZ_PAGE, RW,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned int i = 1; i <= FZ_THREADS; i++)
		mprotect(arena + (i * (ARENA_PAGES + 1) - 1) * FZ_PAGE, FZ_PAGE, PROT_NONE);
	fz_slow_page_make();
	mkdir(CGROUP, 0755);
	faults_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	faults_write(CGROUP "/memory.max", "12582912");
}
