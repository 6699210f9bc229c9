// SPDX-License-Identifier: MIT
/*
 * Each request: unknown ones, arguments at invalid addresses, arguments in every size, as of
 * programs that are older or newer than the module, and nonzero bytes in reserved fields.
 */
#include <stddef.h>

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

static void fill_clock_store(void *arg)
{
	static struct tsct_clock_copy copy;
	struct tsct_clock_store *store = arg;

	store->copy = store->cpus = (uintptr_t)&copy;
	store->nr_cpus = dev_info(bound).nr_cpus;
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
	{ "CLOCK_STORE", TSCT_IOC_CLOCK_STORE, 40, fill_clock_store, false, ENOENT },
	{ "CLOCK_SNAPSHOT", TSCT_IOC_CLOCK_SNAPSHOT, 64, NULL, false, 0 },
	{ "CREATE", TSCT_IOC_CHANNEL_CREATE, 56, fill_create, true, 0 },
	{ "ATTACH", TSCT_IOC_CHANNEL_ATTACH, 48, fill_attach, true, 0 },
	{ "NEXT", TSCT_IOC_CHANNEL_NEXT, 176, NULL, false, 0 },
	{ "DEFINE", TSCT_IOC_DEFINE, 72, fill_define, false, 0 },
	{ "WRITE", TSCT_IOC_WRITE, 16, fill_write, false, 0 },
	{ "REMOVE", TSCT_IOC_CHANNEL_REMOVE, 8, fill_remove, false, 0 },
	{ "CPU", TSCT_IOC_CHANNEL_CPU, 112, fill_cpu, false, 0 },
	/* The channel is not the kernel's and has no event with a switch; no previous boot. */
	{ "WATERMARK", TSCT_IOC_WATERMARK, 8, NULL, false, EOPNOTSUPP },
	{ "EVENT_SWITCH", TSCT_IOC_EVENT_SWITCH, 8, NULL, false, ENOENT },
	{ "PREVIOUS", TSCT_IOC_PREVIOUS, 32, NULL, false, ENOENT },
	{ "PREVIOUS_READ", TSCT_IOC_PREVIOUS_READ, 24, NULL, false, ENOENT },
};

#define NR (sizeof(requests) / sizeof(requests[0]))

/* ---- sizes ------------------------------------------------------------------ */

/* Returns the number of a request whose argument has @size bytes. */
static unsigned long sized(unsigned long cmd, size_t size)
{
	return _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), size);
}

static unsigned char argument[TSCT_ARG_MAX + 64] __attribute__((aligned(8)));

/* Sends a request whose argument has @size bytes, in `argument`. Returns 0 or errno. */
static int send_sized(const struct request *r, size_t size)
{
	int fd = r->needs_unbound ? dev_open() : bound, err;

	err = ioctl(fd, sized(r->cmd, size), argument) ? errno : 0;
	if (r->needs_unbound)
		close(fd);
	return err;
}

/* Makes a valid argument of @size bytes, with guards behind it. */
static void fill(const struct request *r, size_t size)
{
	memset(argument, 0, sizeof(argument));
	if (r->fill)
		r->fill(argument);
	else if (!(_IOC_DIR(r->cmd) & _IOC_WRITE))
		memset(argument, 0xff, size);	/* not read: must not matter */
	memset(argument + size, GUARD, sizeof(argument) - size);
}

/* A request is served with @size bytes, and writes no byte behind them. */
static void try_size(const struct request *r, size_t size)
{
	const size_t known = _IOC_SIZE(r->cmd);
	int err;

	fill(r, size);
	err = send_sized(r, size);
	t_check(err == r->err, "%s of %zu bytes: errno %d", r->name, size, err);
	for (size_t i = known; i < size; i++)
		t_check(!argument[i], "%s of %zu bytes: byte %zu", r->name, size, i);
	for (size_t i = size; i < sizeof(argument); i++)
		t_check(argument[i] == GUARD, "%s of %zu bytes: byte %zu", r->name,
			size, i);
}

/* Byte @at of an argument of @size bytes, which the module does not know, is 1. */
static void try_unknown_field(const struct request *r, size_t size, size_t at)
{
	int err;

	fill(r, size);
	argument[at] = 1;
	err = send_sized(r, size);
	if (_IOC_DIR(r->cmd) & _IOC_WRITE)
		t_check(err == E2BIG, "%s of %zu bytes: errno %d", r->name, size,
			err);
	else
		t_check(!err && !argument[at], "%s of %zu bytes: errno %d", r->name,
			size, err);
}

static void try_request(const struct request *r)
{
	const size_t known = _IOC_SIZE(r->cmd);

	for (size_t size = r->size_min; size < known; size += size < known - 8 ? 8 : 7)
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

/* ---- unknown requests, and addresses ---------------------------------------- */

/* Sizes of arguments differ between versions, so they are not compared. */
static bool known(unsigned long cmd)
{
	for (size_t i = 0; i < NR; i++)
		if (_IOC_NR(requests[i].cmd) == _IOC_NR(cmd) &&
		    _IOC_DIR(requests[i].cmd) == _IOC_DIR(cmd))
			return true;
	return false;
}

static void try_unknown(int fd, char *page)
{
	for (unsigned int nr = 0; nr < 256; nr++)
		for (unsigned int dir = 0; dir < 4; dir++) {
			unsigned long cmd = _IOC(dir, TSCT_IOC_MAGIC, nr, 2048);

			if (!known(cmd))
				t_errno(ioctl(fd, cmd, page), ENOTTY);
		}
	/* The direction is part of the request, and no request ever had less than 8 bytes:
	 * try_request() has the other sizes. */
	for (size_t i = 0; i < NR; i++) {
		unsigned long cmd = requests[i].cmd, size = _IOC_SIZE(cmd);

		t_errno(ioctl(fd, _IOC(_IOC_DIR(cmd), TSCT_IOC_MAGIC,
				       _IOC_NR(cmd), 7), page), ENOTTY);
		t_errno(ioctl(fd, _IOC(_IOC_DIR(cmd), TSCT_IOC_MAGIC,
				       _IOC_NR(cmd), 0), page), ENOTTY);
		t_errno(ioctl(fd, _IOC(0, TSCT_IOC_MAGIC, _IOC_NR(cmd), size),
			      page), ENOTTY);
		t_errno(ioctl(fd, _IOC(_IOC_DIR(cmd) ^ _IOC_READ, TSCT_IOC_MAGIC,
				       _IOC_NR(cmd), size), page), ENOTTY);
		t_errno(ioctl(fd, _IOC(_IOC_DIR(cmd), TSCT_IOC_MAGIC + 1,
				       _IOC_NR(cmd), size), page), ENOTTY);
	}
	t_errno(ioctl(fd, 0, page), ENOTTY);
	t_errno(ioctl(fd, -1UL, page), ENOTTY);
	t_errno(ioctl(fd, TCGETS, page), ENOTTY);
}

/* @end: the first byte after accessible memory */
static void try_pointers(int fd, char *end)
{
	for (size_t i = 0; i < NR; i++) {
		unsigned long cmd = requests[i].cmd, size = _IOC_SIZE(cmd);
		int wrong;

		t_errno(ioctl(fd, cmd, NULL), EFAULT);
		t_errno(ioctl(fd, cmd, -4096L), EFAULT);
		t_errno(ioctl(fd, cmd, 0xffffffff81000000), EFAULT);
		t_errno(ioctl(fd, cmd, end), EFAULT);
		/* Memory that is one byte too short for the argument */
		memset(end - size + 1, 0, size - 1);
		wrong = t_failures;
		t_errno(ioctl(fd, cmd, end - size + 1), EFAULT);
		if (wrong != (int)t_failures)
			printf("  in %s\n", requests[i].name);
	}
}

/* Arguments may be misaligned, also across a page boundary. */
static void try_misaligned(char *page)
{
	struct tsct_channel_create arg = dev_request("misaligned");
	struct tsct_channel_info info = { 0 };
	char *at = page + 4096 - 37;
	int fd = dev_open();

	memcpy(at, &arg, sizeof(arg));
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, at), "%m");
	memcpy(&arg, at, sizeof(arg));
	t_check(arg.id != 0, "id not written");
	memcpy(at, &info, sizeof(info));
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, at), "%m");
	memcpy(&info, at, sizeof(info));
	t_check(info.id == arg.id, "%u %u", info.id, arg.id);
	close(fd);
}

/* If TSCT_IOC_CHANNEL_CREATE cannot write the new channel's id to its argument, no
 * channel is left, and the descriptor can still create one. */
static void try_read_only_argument(char *page)
{
	struct tsct_channel_create arg = dev_request("readonly");
	int fd = dev_open();

	memcpy(page, &arg, sizeof(arg));
	mprotect(page, 4096, PROT_READ);
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CREATE, page), EFAULT);
	mprotect(page, 4096, RW);
	t_check(dev_info(fd).channels == 0, "a channel is left");
	t_check(dev_info(fd).bytes == 0, "memory is left");
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, page), "%m");
	close(fd);
}

/* ---- reserved fields --------------------------------------------------------- */

#define FIELD(request, type, member) { TSCT_IOC_##request, offsetof(struct type, member), \
	sizeof(((struct type *)0)->member), #type "." #member }

static const struct field {
	unsigned long cmd;
	size_t at, len;
	const char *name;
} reserved[] = {
	FIELD(CHANNEL_CREATE, tsct_channel_create, reserved0),
	FIELD(CHANNEL_CREATE, tsct_channel_create, reserved),
	FIELD(CHANNEL_ATTACH, tsct_channel_attach, reserved0),
	FIELD(CHANNEL_ATTACH, tsct_channel_attach, reserved),
	FIELD(CHANNEL_NEXT, tsct_channel_info, reserved),
	FIELD(CHANNEL_REMOVE, tsct_channel_remove, reserved0),
	FIELD(CHANNEL_REMOVE, tsct_channel_remove, reserved),
	FIELD(CHANNEL_CPU, tsct_channel_cpu, reserved0),
	FIELD(CHANNEL_CPU, tsct_channel_cpu, reserved),
	FIELD(WATERMARK, tsct_watermark, reserved),
	FIELD(CHECK, tsct_check, reserved),
	FIELD(CHECK_RUN, tsct_check, reserved),
	FIELD(PREVIOUS, tsct_previous, reserved0),
	FIELD(PREVIOUS, tsct_previous, reserved),
	FIELD(PREVIOUS_READ, tsct_previous_read, reserved0),
	FIELD(PREVIOUS_READ, tsct_previous_read, reserved),
	FIELD(WRITE, tsct_write, flags),
	FIELD(DEFINE, tsct_event_def, fields[0].reserved),
	FIELD(DEFINE, tsct_event_def, id),
	FIELD(CLOCK_STORE, tsct_clock_store, reserved0),
	FIELD(CLOCK_STORE, tsct_clock_store, reserved),
};

/* Each nonzero byte of a reserved field makes a valid argument invalid. */
static void try_reserved(const struct field *field)
{
	const struct request *r = requests;
	size_t i, size;

	while (r->cmd != field->cmd)
		r++;
	size = _IOC_SIZE(r->cmd);
	for (i = 0; i < field->len; i++) {
		fill(r, size);
		if (r->cmd == TSCT_IOC_DEFINE) {
			struct tsct_event_def *def = (void *)argument;

			def->size = TSCT_EVENT_DEF_SIZE(1);
			def->nr_fields = 1;
			strcpy(def->fields[0].name, "field");
			t_check(!send_sized(r, size));
		}
		argument[field->at + i] = 1;
		t_check(send_sized(r, size) == EINVAL, "%s byte %zu", field->name, i);
	}
}

/* Without reserved memory, no clock is read. */
static void try_clock_store(int fd)
{
	struct tsct_clock_store store = {
		.copy = 8, .cpus = 8, .nr_cpus = dev_info(fd).nr_cpus,
	};

	t_errno(ioctl(fd, TSCT_IOC_CLOCK_STORE, &store), ENOENT);
}

static void try_flags_of_previous(int fd)
{
	struct tsct_previous previous = { .flags = TSCT_PREVIOUS_DISCARD };

	t_errno(ioctl(fd, TSCT_IOC_PREVIOUS, &previous), ENOENT);
	previous.flags = ~TSCT_PREVIOUS_DISCARD;
	t_errno(ioctl(fd, TSCT_IOC_PREVIOUS, &previous), EINVAL);
}

static void try_addresses(void)
{
	char *page = mmap(NULL, 3 * 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char byte;
	int fd;

	munmap(page + 2 * 4096, 4096);
	fd = dev_new("ioctl");
	try_unknown(fd, page);
	try_pointers(fd, page + 2 * 4096);
	t_errno(read(fd, &byte, 1), EINVAL);
	t_errno(write(fd, &byte, 1), EINVAL);
	t_errno(lseek(fd, 0, SEEK_SET), ESPIPE);
	close(fd);

	/* A descriptor that is not bound to a channel */
	fd = dev_open();
	memset(page, 0, 8192);
	t_errno(ioctl(fd, TSCT_IOC_WRITE, page), ENOTCONN);
	t_errno(ioctl(fd, TSCT_IOC_DEFINE, page), ENOTCONN);
	t_errno(ioctl(fd, TSCT_IOC_WATERMARK, page), ENOTCONN);
	close(fd);
	try_misaligned(page);
	try_read_only_argument(page);
	munmap(page, 2 * 4096);
}

int main(void)
{
	t_part(try_addresses);
	channel = dev_request("sizes");
	bound = dev_create(&channel);
	for (size_t i = 0; i < NR; i++)
		try_request(&requests[i]);
	try_results();
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		try_reserved(&reserved[i]);
	try_flags_of_previous(bound);
	try_clock_store(bound);
	return t_status();
}
