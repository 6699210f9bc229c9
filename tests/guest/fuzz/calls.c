// SPDX-License-Identifier: MIT
/*
 * The module's requests: the fields of their arguments with values worth trying, and
 * the errors that Documentation/abi.rst names. A selector of 0 gives the first value,
 * which is a usual one.
 */
#include "lib/core/port.h"
#include "../device.h"
#include "fuzz.h"

/* Kinds of the values of a field */
enum kind {
	K_NAME, K_POLICY, K_FLAGS, K_BLOCK_SIZE, K_BLOCKS, K_ROLES, K_ID, K_UID, K_CPU,
	K_RESERVED, K_ADDRESS, K_LENGTH, K_EVENT, K_COUNT, K_BYTES, K_STATE, K_DISCARD,
	K_OFFSET, K_ANY,
};

struct field {
	uint16_t offset, size;
	uint8_t kind;
};

#define FIELD(type, name, kind) \
	{ offsetof(struct type, name), sizeof(((struct type *)0)->name), kind }

static const struct field check_fields[] = {
	FIELD(tsct_check, table, K_ADDRESS), FIELD(tsct_check, nr, K_COUNT),
	FIELD(tsct_check, flags, K_ANY), FIELD(tsct_check, reserved, K_RESERVED), { .size = 0 },
};
static const struct field create_fields[] = {
	FIELD(tsct_channel_create, name, K_NAME), FIELD(tsct_channel_create, policy, K_POLICY),
	FIELD(tsct_channel_create, flags, K_FLAGS),
	FIELD(tsct_channel_create, block_size, K_BLOCK_SIZE),
	FIELD(tsct_channel_create, blocks, K_BLOCKS),
	FIELD(tsct_channel_create, roles, K_ROLES), FIELD(tsct_channel_create, id, K_ANY),
	FIELD(tsct_channel_create, reserved, K_RESERVED), { .size = 0 },
};
static const struct field attach_fields[] = {
	FIELD(tsct_channel_attach, id, K_ID), FIELD(tsct_channel_attach, name, K_NAME),
	FIELD(tsct_channel_attach, uid, K_UID), FIELD(tsct_channel_attach, roles, K_ROLES),
	FIELD(tsct_channel_attach, reserved0, K_RESERVED),
	FIELD(tsct_channel_attach, reserved, K_RESERVED), { .size = 0 },
};
static const struct field next_fields[] = {
	FIELD(tsct_channel_info, id, K_COUNT), FIELD(tsct_channel_info, name, K_NAME),
	FIELD(tsct_channel_info, reserved, K_RESERVED), { .size = 0 },
};
static const struct field write_fields[] = {
	FIELD(tsct_write, len, K_LENGTH), FIELD(tsct_write, id, K_EVENT),
	FIELD(tsct_write, payload, K_ADDRESS), FIELD(tsct_write, flags, K_RESERVED),
	{ .size = 0 },
};
static const struct field remove_fields[] = {
	FIELD(tsct_channel_remove, id, K_ID), FIELD(tsct_channel_remove, reserved0, K_RESERVED),
	FIELD(tsct_channel_remove, reserved, K_RESERVED), { .size = 0 },
};
static const struct field cpu_fields[] = {
	FIELD(tsct_channel_cpu, id, K_ID), FIELD(tsct_channel_cpu, cpu, K_CPU),
	FIELD(tsct_channel_cpu, reserved0, K_RESERVED),
	FIELD(tsct_channel_cpu, reserved, K_RESERVED), { .size = 0 },
};
static const struct field watermark_fields[] = {
	FIELD(tsct_watermark, bytes, K_BYTES), FIELD(tsct_watermark, reserved, K_RESERVED),
	{ .size = 0 },
};
static const struct field switch_fields[] = {
	FIELD(tsct_event_switch, id, K_EVENT), FIELD(tsct_event_switch, state, K_STATE),
	FIELD(tsct_event_switch, reserved, K_RESERVED), { .size = 0 },
};
static const struct field previous_fields[] = {
	FIELD(tsct_previous, flags, K_DISCARD), FIELD(tsct_previous, reserved0, K_RESERVED),
	FIELD(tsct_previous, reserved, K_RESERVED), { .size = 0 },
};
static const struct field previous_read_fields[] = {
	FIELD(tsct_previous_read, offset, K_OFFSET),
	FIELD(tsct_previous_read, data, K_ADDRESS), FIELD(tsct_previous_read, len, K_LENGTH),
	FIELD(tsct_previous_read, reserved, K_RESERVED), { .size = 0 },
};
static const struct field store_fields[] = {
	FIELD(tsct_clock_store, copy, K_ADDRESS), FIELD(tsct_clock_store, cpus, K_ADDRESS),
	FIELD(tsct_clock_store, nr_cpus, K_COUNT),
	FIELD(tsct_clock_store, reserved0, K_RESERVED),
	FIELD(tsct_clock_store, reserved, K_RESERVED), { .size = 0 },
};
static const struct field no_fields[] = { { .size = 0 } };

#define ERRNOS(...)	(const int[]){ __VA_ARGS__, 0 }
#define REQUEST(nr, request, type, ...) \
	[nr] = { #request, TSCT_IOC_##request, sizeof(struct type), ERRNOS(__VA_ARGS__) }

const struct fz_request fz_requests[FZ_REQUESTS] = {
	REQUEST(FZ_INFO, INFO, tsct_info, 0),
	REQUEST(FZ_CHECK, CHECK, tsct_check, EINVAL),
	REQUEST(FZ_CHECK_RUN, CHECK_RUN, tsct_check, EINVAL, EPERM),
	REQUEST(FZ_CLOCK_STORE, CLOCK_STORE, tsct_clock_store, EPERM, EINVAL, ENOENT, ENOMEM),
	REQUEST(FZ_CLOCK_SNAPSHOT, CLOCK_SNAPSHOT, tsct_clock_snapshot, EOPNOTSUPP),
	REQUEST(FZ_CREATE, CHANNEL_CREATE, tsct_channel_create, EINVAL, EPERM, EACCES,
		EBUSY, EEXIST, EDQUOT, ENOMEM),
	REQUEST(FZ_ATTACH, CHANNEL_ATTACH, tsct_channel_attach, EINVAL, EBUSY, ENOENT,
		EACCES, EPERM),
	REQUEST(FZ_NEXT, CHANNEL_NEXT, tsct_channel_info, EINVAL, ENOENT),
	REQUEST(FZ_DEFINE, DEFINE, tsct_event_def, ENOTCONN, EACCES, EINVAL, ENOSPC),
	REQUEST(FZ_WRITE, WRITE, tsct_write, ENOTCONN, EACCES, EINVAL, EMSGSIZE, ENOSPC,
		ENXIO, ENOMEM),
	REQUEST(FZ_REMOVE, CHANNEL_REMOVE, tsct_channel_remove, EINVAL, ENOENT, EACCES,
		EPERM),
	REQUEST(FZ_CPU, CHANNEL_CPU, tsct_channel_cpu, EINVAL, ENOENT),
	REQUEST(FZ_WATERMARK, WATERMARK, tsct_watermark, EINVAL, ENOTCONN, EACCES, EOPNOTSUPP),
	REQUEST(FZ_THREAD, THREAD, tsct_thread_info, 0),
	REQUEST(FZ_SWITCH, EVENT_SWITCH, tsct_event_switch, EINVAL, ENOTCONN, ENOENT,
		EACCES),
	REQUEST(FZ_PREVIOUS, PREVIOUS, tsct_previous, EPERM, ENOENT, EINVAL, ENOSPC),
	REQUEST(FZ_PREVIOUS_READ, PREVIOUS_READ, tsct_previous_read, EPERM, ENOENT, EINVAL,
		ENOMEM),
};

static const struct field *const fields[FZ_REQUESTS] = {
	[FZ_INFO] = no_fields, [FZ_CHECK] = check_fields, [FZ_CHECK_RUN] = check_fields,
	[FZ_CLOCK_STORE] = store_fields, [FZ_CLOCK_SNAPSHOT] = no_fields,
	[FZ_CREATE] = create_fields, [FZ_ATTACH] = attach_fields,
	[FZ_NEXT] = next_fields, [FZ_DEFINE] = no_fields, [FZ_WRITE] = write_fields,
	[FZ_REMOVE] = remove_fields, [FZ_CPU] = cpu_fields,
	[FZ_WATERMARK] = watermark_fields, [FZ_THREAD] = no_fields,
	[FZ_SWITCH] = switch_fields, [FZ_PREVIOUS] = previous_fields,
	[FZ_PREVIOUS_READ] = previous_read_fields,
};

static const char *const other_names[FZ_CALLS - FZ_REQUESTS] = {
	"ioctl", "open", "close", "dup", "mmap", "store", "load", "munmap", "mprotect",
	"mremap", "madvise", "poll", "epoll", "file", "fork", "wait", "netlink",
	"parameter", "hotplug", "emit", "kernel", "BPF", "setting",
};

const char *fz_call_name(unsigned int call)
{
	return call < FZ_REQUESTS ? fz_requests[call].name :
		other_names[call - FZ_REQUESTS];
}

bool fz_errno_documented(unsigned int nr, int error)
{
	const int *documented = fz_requests[nr].errnos;

	while (*documented && *documented != error)
		documented++;
	return error == EFAULT || *documented == error;
}

/* ---- values ----------------------------------------------------------- */

#define VALUES(...) \
	(const uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8

static const struct {
	const uint64_t *values;
	size_t nr;
} values_of[] = {
	[K_POLICY] = { VALUES(0, 1, 0, 1, 2, -1ULL) },
	[K_FLAGS] = { VALUES(0, 0, TSCT_CHANNEL_KEEP, 0, TSCT_CHANNEL_KERNEL, 3, 4, -1ULL) },
	[K_BLOCK_SIZE] = { VALUES(4096, 4096, 4096, 8192, 65536, 0, 2048, 6000, 131072,
				1ULL << 31, -1ULL) },
	[K_BLOCKS] = { VALUES(4, 2, 8, 4, 16, 1, 0, 3, 1024, 65536, 131072, -1ULL) },
	[K_ROLES] = { VALUES(3, 1, 2, 3, 0, 4, -1ULL) },
	[K_UID] = { VALUES(TSCT_UID_SELF, 0, 1000, 1001, 65534, 0xfffffffe) },
	[K_CPU] = { VALUES(0, 1, 0, 2, 7, 8, 0x80000000, -1ULL) },
	[K_LENGTH] = { VALUES(8, 0, 1, 16, 64, 255, 256, 257, 1000, 4000, 4039, 4040, 4041,
			    4064, 4080, 65535, -1ULL) },
	[K_EVENT] = { VALUES(16, 17, 18, 100, 0, 1, 15, 0xfffe, 0xffff) },
	[K_COUNT] = { VALUES(8, 0, 1, 2, 3, 64, 4096, 0x7fffffff, -1ULL) },
	[K_BYTES] = { VALUES(1, 0, 100, 4096, 8192, 1 << 20, 1ULL << 47, 1ULL << 63, -1ULL) },
	[K_STATE] = { VALUES(TSCT_EVENT_QUERY, TSCT_EVENT_DISABLED, TSCT_EVENT_ENABLED, 3,
			   -1ULL) },
	[K_DISCARD] = { VALUES(0, TSCT_PREVIOUS_DISCARD, 0, 2, -1ULL) },
	[K_OFFSET] = { VALUES(0, 4096, 8192, 1 << 20, (16 << 20) - 4, 16 << 20, 1ULL << 63,
			    -1ULL) },
	[K_ANY] = { VALUES(0, 1, 2, 0x80000000, 1ULL << 63, -1ULL) },
};

static uint64_t value(enum kind kind, unsigned int sel, const struct fz_context *c)
{
	switch (kind) {
	case K_RESERVED:
		return sel < 0xf8 ? 0 : sel;
	case K_ADDRESS:
		return (uintptr_t)c->addresses[sel % c->nr_addresses];
	case K_ID:
		/* 0: by name. Mostly the ids of channels that exist */
		if (c->nr_ids && sel % 8 < 6)
			return c->ids[sel % c->nr_ids];
		return sel % 8 == 6 ? 0 : c->nr_ids ? c->ids[0] + sel : sel;
	default:
		return values_of[kind].values[sel % values_of[kind].nr];
	}
}

static void put_name(char *name, size_t size, unsigned int sel)
{
	static const char *const names[] = {
		"a", "b", "c", "a.b-c_D9", "", "a b", "/", "-", "\x7f", "a\nb",
		"0123456789012345678901234567890", "01234567890123456789012345678901",
		"k0", "k1", "nest",
	};

	memset(name, 0, size);
	memcpy(name, names[sel % 15], strnlen(names[sel % 15], size));
}

/*
 * A definition: valid for most selectors. sel[0]: name, [1]: kind, [2]: number of fields,
 * [3]: first type, [4]: format, [5]: count, [6]: size, [7..]: rest
 */
static void put_definition(const uint8_t *sel, struct tsct_event_def *def)
{
	memset(def, 0, sizeof(*def));
	put_name(def->name, sizeof(def->name), sel[0]);
	if (sel[0] < 0x80)
		snprintf(def->name, sizeof(def->name), "event_%u", sel[0]);
	def->kind = sel[1] < 0xe0 ? sel[1] % TSCT_KIND_NR : sel[1];
	def->nr_fields = sel[2] < 0xe0 ? sel[2] % (TSCT_FIELDS_MAX + 1) : sel[2];
	for (unsigned int i = 0; i < def->nr_fields && i < TSCT_FIELDS_MAX; i++) {
		struct tsct_field *field = &def->fields[i];
		unsigned int type = sel[3] + i * (sel[7] & 3);

		snprintf(field->name, sizeof(field->name), "f%u", sel[8] < 0xe0 ? i : 0);
		field->type = (uint8_t)(sel[3] < 0xf0 ? type % TSCT_TYPE_NR : type);
		field->format = field->type <= TSCT_TYPE_S64 || sel[4] > 0xf0 ?
			sel[4] % 4 : 0;
		if (field->type == TSCT_TYPE_BYTES || field->type == TSCT_TYPE_CHARS)
			field->count = sel[5] < 0xe0 ? sel[5] + 1 : (uint16_t)(sel[5] << 8);
		field->reserved = sel[9] < 0xf8 ? 0 : sel[9];
	}
	def->size = TSCT_EVENT_DEF_SIZE(def->nr_fields);
	if (sel[6] > 0xe0)
		def->size += (unsigned int)sel[6] * 8 - 0xf0 * 8;
	def->id = sel[10] < 0xf8 ? 0 : sel[10];
	if (sel[11] > 0xf0)
		memset((char *)def + sel[11] % 16 * 8 + 8, sel[12], 64);
}

void fz_argument(unsigned int nr, const uint8_t *sel, const struct fz_context *c,
		 void *arg)
{
	const struct field *field;
	unsigned int i = 0, j;
	uint64_t number;

	memset(arg, 0, fz_requests[nr].size);
	if (nr == FZ_DEFINE)
		put_definition(sel, arg);
	for (field = fields[nr]; field->size; field++, i++) {
		char *at = (char *)arg + field->offset;

		if (field->kind == K_NAME) {
			put_name(at, field->size, sel[i]);
			continue;
		}
		number = value(field->kind, sel[i], c);
		/* Of an array of reserved words, one is set. */
		j = field->size > 8 ? sel[i] % (field->size / 8) * 8 : 0;
		memcpy(at + j, &number, field->size > 8 ? 8 : field->size);
	}
}
