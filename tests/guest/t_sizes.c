// SPDX-License-Identifier: MIT
/* Programs that are older or newer than the module: each request, with its argument in
 * every size. */
#include "device.h"

#define GUARD	0xa5	/* value of the bytes behind an argument */

struct request {
	const char *name;
	unsigned long cmd;
	size_t size_min;	/* bytes of the argument in the first version */
	void (*fill)(void *arg);	/* fills in a valid argument; NULL: zeros */
	bool needs_unbound;	/* the request binds the descriptor */
	int err;		/* errno of a valid request */
};

static int bound;		/* descriptor of `channel`, with both roles */
static struct tsct_channel_create channel;

static void fill_clock_set(void *arg)
{
	struct tsct_clock_set *set = arg;

	set->state.source = dev_info(bound).source;
}

static void fill_create(void *arg)
{
	*(struct tsct_channel_create *)arg = dev_request("created");
}

static void fill_attach(void *arg)
{
	struct tsct_channel_attach *attach = arg;

	attach->id = channel.id;
	attach->uid = TSCT_UID_SELF;
	attach->roles = TSCT_ROLE_WRITE;
}

static void fill_define(void *arg)
{
	struct tsct_event_def *def = arg;

	def->size = TSCT_EVENT_DEF_SIZE(0);
	strcpy(def->name, "event");
}

static void fill_write(void *arg)
{
	((struct tsct_write *)arg)->id = TSCT_ID_FIRST;
}

static void fill_remove(void *arg)
{
	struct tsct_channel_create kept = dev_request("kept");
	struct tsct_channel_attach attach = { .name = "kept", .uid = TSCT_UID_SELF };
	int fd = dev_open();

	kept.flags = TSCT_CHANNEL_KEEP;
	/* One remains if the request before failed. */
	if (ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &kept)) {
		t_check(!ioctl(fd, TSCT_IOC_CHANNEL_ATTACH, &attach), "%m");
		kept.id = attach.id;
	}
	close(fd);
	((struct tsct_channel_remove *)arg)->id = kept.id;
}

static void fill_cpu(void *arg)
{
	((struct tsct_channel_cpu *)arg)->id = channel.id;
}

static const struct request requests[] = {
	{ "INFO", TSCT_IOC_INFO, 104, NULL, false, 0 },
	{ "CHECK", TSCT_IOC_CHECK, 64, NULL, false, 0 },
	{ "CHECK_RUN", TSCT_IOC_CHECK_RUN, 64, NULL, false, 0 },
	{ "THREAD", TSCT_IOC_THREAD, 24, NULL, false, 0 },
	{ "CLOCK_SET", TSCT_IOC_CLOCK_SET, 384, fill_clock_set, false, 0 },
	{ "CLOCK_SNAPSHOT", TSCT_IOC_CLOCK_SNAPSHOT, 48, NULL, false, 0 },
	{ "CREATE", TSCT_IOC_CHANNEL_CREATE, 56, fill_create, true, 0 },
	{ "ATTACH", TSCT_IOC_CHANNEL_ATTACH, 48, fill_attach, true, 0 },
	{ "NEXT", TSCT_IOC_CHANNEL_NEXT, 176, NULL, false, 0 },
	{ "DEFINE", TSCT_IOC_DEFINE, 72, fill_define, false, 0 },
	{ "WRITE", TSCT_IOC_WRITE, 16, fill_write, false, 0 },
	{ "REMOVE", TSCT_IOC_CHANNEL_REMOVE, 8, fill_remove, false, 0 },
	{ "CPU", TSCT_IOC_CHANNEL_CPU, 112, fill_cpu, false, 0 },
	{ "WATERMARK", TSCT_IOC_WATERMARK, 8, NULL, false, 0 },
	/* The channel has no event with a switch. */
	{ "EVENT_SWITCH", TSCT_IOC_EVENT_SWITCH, 8, NULL, false, ENOENT },
};

/* Returns the number of a request whose argument has @size bytes. */
static unsigned long sized(unsigned long cmd, size_t size)
{
	return _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), size);
}

static unsigned char arg[TSCT_ARG_MAX + 64] __attribute__((aligned(8)));

/* Sends a request whose argument has @size bytes, in `arg`. Returns 0 or errno. */
static int send_sized(const struct request *r, size_t size)
{
	int fd = r->needs_unbound ? dev_open() : bound, err;

	err = ioctl(fd, sized(r->cmd, size), arg) ? errno : 0;
	if (r->needs_unbound)
		close(fd);
	return err;
}

/* Makes a valid argument of @size bytes, with guards behind it. */
static void fill(const struct request *r, size_t size)
{
	memset(arg, 0, sizeof(arg));
	if (r->fill)
		r->fill(arg);
	else if (!(_IOC_DIR(r->cmd) & _IOC_WRITE))
		memset(arg, 0xff, size);	/* not read: must not matter */
	memset(arg + size, GUARD, sizeof(arg) - size);
}

/* A request is served with @size bytes, and writes no byte behind them. */
static void try_size(const struct request *r, size_t size)
{
	const size_t known = _IOC_SIZE(r->cmd);
	size_t i;
	int err;

	fill(r, size);
	err = send_sized(r, size);
	t_check(err == r->err, "%s of %zu bytes: errno %d", r->name, size, err);
	for (i = known; i < size; i++)
		t_check(!arg[i], "%s of %zu bytes: byte %zu", r->name, size, i);
	for (i = size; i < sizeof(arg); i++)
		t_check(arg[i] == GUARD, "%s of %zu bytes: byte %zu", r->name,
			size, i);
}

/* Byte @at of an argument of @size bytes, which the module does not know, is 1. */
static void try_unknown_field(const struct request *r, size_t size, size_t at)
{
	int err;

	fill(r, size);
	arg[at] = 1;
	err = send_sized(r, size);
	if (_IOC_DIR(r->cmd) & _IOC_WRITE)
		t_check(err == E2BIG, "%s of %zu bytes: errno %d", r->name, size,
			err);
	else
		t_check(!err && !arg[at], "%s of %zu bytes: errno %d", r->name,
			size, err);
}

static void try_request(const struct request *r)
{
	const size_t known = _IOC_SIZE(r->cmd);
	size_t size;

	for (size = r->size_min; size < known; size += size < known - 8 ? 8 : 7)
		try_size(r, size);
	try_size(r, known);
	try_size(r, known + 1);
	try_size(r, known + 8);
	try_size(r, TSCT_ARG_MAX);
	try_unknown_field(r, known + 1, known);
	try_unknown_field(r, known + 8, known + 7);
	try_unknown_field(r, TSCT_ARG_MAX, TSCT_ARG_MAX - 1);

	fill(r, known);
	t_check(send_sized(r, r->size_min - 1) == ENOTTY, "%s", r->name);
	t_check(send_sized(r, 0) == ENOTTY, "%s", r->name);
	t_check(send_sized(r, TSCT_ARG_MAX + 1) == E2BIG, "%s", r->name);
	t_check(send_sized(r, _IOC_SIZEMASK) == E2BIG, "%s", r->name);
}

/* A short result is the beginning of the whole one, and a long one has it all. */
static void try_results(void)
{
	struct { struct tsct_channel_cpu cpu; __u64 more; } whole, shorter, longer;

	memset(&whole, 0, sizeof(whole));
	whole.cpu.id = channel.id;
	shorter = longer = whole;
	t_check(!ioctl(bound, TSCT_IOC_CHANNEL_CPU, &whole), "%m");
	t_check(whole.cpu.state == TSCT_CPU_READY && whole.cpu.written,
		"%u", whole.cpu.state);
	t_check(!ioctl(bound, sized(TSCT_IOC_CHANNEL_CPU, 112), &shorter), "%m");
	t_check(!memcmp(&whole, &shorter, 112));
	t_check(!ioctl(bound, sized(TSCT_IOC_CHANNEL_CPU, sizeof(longer)),
		       &longer), "%m");
	t_check(!memcmp(&whole, &longer, sizeof(whole)));
}

int main(void)
{
	size_t i;

	channel = dev_request("sizes");
	channel.roles = TSCT_ROLE_WRITE | TSCT_ROLE_READ;
	bound = dev_create(&channel);
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		try_request(&requests[i]);
	try_results();
	close(bound);
	return t_status();
}
