// SPDX-License-Identifier: MIT
/*
 * Each allocation of a call, and each of its copies from and to user space, fails once,
 * one after the other: the call returns ENOMEM or EFAULT, and leaves nothing behind. The calls
 * are those of the fuzzer's table of requests, and others. Needs a kernel with fault injection
 * (CONFIG_FAULT_INJECTION, FAILSLAB, FAIL_PAGE_ALLOC).
 * guest-test: timeout=60
 */
#include "fuzz/fuzz.h"

static struct tsct_faults faults;
static uint32_t kept_id;	/* a channel that exists during each call */
static const struct fz_context *context;
static unsigned int injected;

static int step_open(int fd, const uint8_t *sel)
{
	fd = open(TSCT_DEVICE_PATH, O_RDWR);
	return fd < 0 ? -1 : close(fd);
}

/* Maps the channel's first pages and reads them. A page fault that fails is repeated. */
static int step_map(int fd, const uint8_t *sel)
{
	const size_t size = FZ_PAGE + TSCT_DEFS_SIZE;
	volatile const char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	char sum = 0;

	for (size_t at = 0; map != MAP_FAILED && at < size; at += FZ_PAGE)
		sum += map[at];
	/* A failed munmap() removes nothing, and the map would hold the channel. */
	return map == MAP_FAILED ? -1 : munmap((void *)map, size) && munmap((void *)map, size);
}

static int step_parameter(int fd, const uint8_t *sel)
{
	int ret;

	fd = open("/sys/module/tsctrace/parameters/channels_user_max", O_WRONLY);
	if (fd < 0)
		return -1;
	ret = write(fd, "64", 2) == 2 ? 0 : -1;
	close(fd);
	return ret;
}

/* Calls other than requests follow the table's. sel: the first selectors. */
static const struct call {
	const char *name;
	int (*step)(int fd, const uint8_t *sel);
	unsigned int request;
	uint8_t sel[FZ_SELECTORS];
} calls[] = {
	{ "open", step_open, 0, { 0 } },
	{ "info", NULL, FZ_INFO, { 0 } },
	{ "check", NULL, FZ_CHECK, { 0 } },
	{ "run a check", NULL, FZ_CHECK_RUN, { 0 } },
	{ "store the clock", NULL, FZ_CLOCK_STORE, { 0 } },
	{ "snapshot", NULL, FZ_CLOCK_SNAPSHOT, { 0 } },
	{ "create", NULL, FZ_CREATE, { 0 } },
	{ "create in the kernel", NULL, FZ_CREATE, { 0, 0, 4, 0, 0, 2 } },
	{ "attach", NULL, FZ_ATTACH, { 0 } },
	{ "next", NULL, FZ_NEXT, { 1 } },
	{ "define", NULL, FZ_DEFINE, { 1, 0, 3 } },
	{ "write 8 bytes", NULL, FZ_WRITE, { 0 } },
	{ "write 4000 bytes", NULL, FZ_WRITE, { 9 } },
	{ "remove", NULL, FZ_REMOVE, { 0 } },
	{ "cpu", NULL, FZ_CPU, { 0 } },
	{ "watermark", NULL, FZ_WATERMARK, { 0 } },
	{ "map", step_map, 0, { 0 } },
	{ "parameter", step_parameter, 0, { 0 } },
};

static bool is_unbound(const struct call *call)
{
	return call->request == FZ_CREATE || call->request == FZ_ATTACH;
}

/* Returns a descriptor for the call, and that of a channel that it may refer to. */
static int prepare(const struct call *call, int *ret_holder)
{
	struct tsct_channel_create arg = dev_request("faults");
	int fd = dev_open();

	arg.policy = TSCT_POLICY_OVERWRITE;
	arg.flags = TSCT_CHANNEL_KEEP;
	*ret_holder = dev_create(&arg);
	kept_id = arg.id;
	if (!is_unbound(call))
		t_check(!dev_attach(fd, arg.id, BOTH), "%m");
	return fd;
}

static void clean_up(int fd, int holder)
{
	struct tsct_info info;

	dev_remove(kept_id);
	close(fd);
	close(holder);
	fd = dev_open();
	info = dev_info(fd);
	t_check(info.channels == 0 && info.bytes == 0, "%llu channels, %llu bytes are left",
		info.channels, info.bytes);
	close(fd);
}

/* Makes a call until each of its steps has failed once. */
static void fail_each(const struct call *call)
{
	static char argument[2048];
	unsigned int nth, failures = 0;
	int ret, error, fd, holder;
	bool hit;

	for (nth = 1; nth < 1000; nth++) {
		fd = prepare(call, &holder);
		fz_argument(call->request, call->sel, context, argument);
		faults_arm(&faults, nth);
		errno = 0;
		ret = call->step ? call->step(fd, call->sel) :
			ioctl(fd, fz_requests[call->request].cmd, argument);
		error = errno;
		hit = faults_injected(&faults);
		clean_up(fd, holder);
		if (!hit)
			break;
		injected++;
		if (ret) {
			failures++;
			t_check(error == ENOMEM || error == EFAULT || error == ENOBUFS,
				"%s, step %u: %s", call->name, nth, strerror(error));
		}
	}
	t_check(nth < 1000, "%s: too many steps", call->name);
	t_check(!ret, "%s without a fault: %s", call->name, strerror(error));
	printf("%s: %u steps, %u of them needed\n", call->name, nth - 1, failures);
}

int main(void)
{
	static char buffer[65536];
	void *addresses[] = { buffer };
	struct fz_context c = {
		.ids = &kept_id, .nr_ids = 1, .addresses = addresses, .nr_addresses = 1,
	};

	if (!faults_setup())
		t_skip("no fault injection in this kernel");
	faults_open(&faults);
	if (faults.fd < 0)
		t_skip("no fault injection in this kernel: fail-nth: %m");
	context = &c;
	t_check(fz_netlink_resolve(), "no netlink family");
	fz_netlink_socket();	/* A listener has the module send news. */
	for (unsigned int i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		fail_each(&calls[i]);
	t_check(injected > 150, "only %u failures injected", injected);
	printf("%u failures injected\n", injected);
	return t_status();
}
