// SPDX-License-Identifier: MIT
/* Event definitions: ids, duplicates, contents of a channel's definitions area, a full
 * area. */
#include "device.h"
#include "lib/core/port.h"

static struct tsct_event_def def(const char *name, unsigned int fields)
{
	struct tsct_event_def d = {
		.size = (__u32)TSCT_EVENT_DEF_SIZE(fields),
		.nr_fields = (__u8)fields,
	};

	strncpy(d.name, name, sizeof(d.name) - 1);
	for (unsigned int i = 0; i < fields; i++)
		sprintf(d.fields[i].name, "f%u", i);
	return d;
}

static int define(int fd, struct tsct_event_def d)
{
	return ioctl(fd, TSCT_IOC_DEFINE, &d) ? -1 : d.id;
}

#define refuses(spoil) do {						\
	struct tsct_event_def d = def("bad", 3);			\
	spoil;								\
	t_errno(define(fd, d), EINVAL);					\
} while (0)

static void try_bad(int fd)
{
	refuses(d.size = 0);
	refuses(d.size++);
	refuses(d.size = 0xffff);
	refuses(d.size = TSCT_EVENT_DEF_SIZE(4));
	refuses(d.nr_fields = 33);
	refuses(d.nr_fields = 255);
	refuses((d.nr_fields = 255, d.size = TSCT_EVENT_DEF_SIZE(255)));
	refuses(d.kind = TSCT_KIND_NR);
	refuses(d.id = 16);
	refuses(d.name[0] = 0);
	refuses(d.name[0] = '1');
	refuses(d.name[1] = '-');
	refuses(memset(d.name, 'a', sizeof(d.name)));
	refuses(d.fields[0].name[0] = 0);
	refuses(memset(d.fields[2].name, 'a', sizeof(d.fields[2].name)));
	refuses(strcpy(d.fields[1].name, "f0"));
	refuses(d.fields[1].type = TSCT_TYPE_NR);
	refuses(d.fields[1].format = TSCT_FORMAT_NR);
	refuses(d.fields[1].count = 1);
	refuses(d.fields[1].type = TSCT_TYPE_BYTES);	/* a request with count 0 */
	refuses((d.fields[1].type = TSCT_TYPE_STRING,
		 d.fields[1].format = TSCT_FORMAT_HEX));
	refuses((d.fields[1].type = d.fields[0].type = TSCT_TYPE_BYTES,
		 d.fields[1].count = d.fields[0].count = 65535));
}

/* Walks a channel's definitions area as a reader does; returns the number of
 * definitions. */
static unsigned int walk(const struct tsct_channel_header *h)
{
	const char *area = (const char *)h + h->defs_offset;
	uint64_t used = __atomic_load_n(&h->defs_used, __ATOMIC_ACQUIRE), at = 0;
	unsigned int nr = 0;

	t_check(used <= h->defs_size);
	while (at < used) {
		const struct tsct_event_def *d = (const void *)(area + at);

		if (!t_check(d->id == TSCT_ID_FIRST + nr &&
			     d->size == (__u32)TSCT_EVENT_DEF_SIZE(d->nr_fields),
			     "at %lu", at))
			break;
		at += d->size;
		nr++;
	}
	t_check(at == used, "%lu %lu", at, used);
	return nr;
}

static void try_fill_rest(int fd, const struct tsct_channel_header *h)
{
	unsigned int nr = 0;
	char name[32];

	do
		sprintf(name, "tiny_%u", nr++);
	while (define(fd, def(name, 0)) >= 0);
	t_check(errno == ENOSPC, "%m");
	t_check(h->defs_size - h->defs_used < TSCT_EVENT_DEF_SIZE(0));
	walk(h);
}

static void try_fill(int fd, const struct tsct_channel_header *h)
{
	unsigned int known = walk(h), nr = 0;
	char name[32];

	for (;; nr++) {
		sprintf(name, "event_%u", nr);
		if (define(fd, def(name, 32)) < 0)
			break;
	}
	t_check(errno == ENOSPC, "%m");
	/* 64 KiB have room for about 48 definitions of 1352 bytes. */
	t_check(nr >= 40 && nr <= 48, "%u", nr);
	/* The channel has no room for the definition of another event of 32 fields, but
	 * finds an existing definition, and has room for one without fields. */
	t_check(define(fd, def("event_0", 32)) == TSCT_ID_FIRST + (int)known);
	t_check(define(fd, def("small", 0)) == TSCT_ID_FIRST + (int)(known + nr));
	t_check(walk(h) == known + nr + 1);
	try_fill_rest(fd, h);
}

/* A channel with more room for definitions: 1000 events of 5 fields */
static void try_size(void)
{
	struct tsct_channel_create arg = dev_request("large");
	unsigned int nr = 0;
	struct dev_maps m;
	char name[32];
	int fd;

	arg.defs_size = 80 * TSCT_PAGE_SIZE;
	fd = dev_create(&arg);
	m = dev_map(fd);
	t_check(m.header->defs_size == arg.defs_size, "%llu", m.header->defs_size);
	for (; nr < 1000; nr++) {
		sprintf(name, "event_%u", nr);
		if (!t_check(define(fd, def(name, 5)) == TSCT_ID_FIRST + (int)nr, "%u: %m", nr))
			break;
	}
	t_check(walk(m.header) == nr);
	try_fill_rest(fd, m.header);
	dev_close(fd, &m);
	fd = dev_open();
	arg = dev_request("wrong");
	arg.defs_size = TSCT_PAGE_SIZE / 2;
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), EINVAL);
	arg.defs_size = TSCT_DEFS_SIZE_MAX + TSCT_PAGE_SIZE;
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), EINVAL);
	close(fd);
}

int main(void)
{
	struct tsct_channel_create arg = dev_request("define");
	int fd = dev_create(&arg), other = dev_open();
	struct dev_maps m = dev_map(fd);
	struct tsct_event_def d;

	t_check(define(fd, def("a", 0)) == 16);
	t_check(define(fd, def("b", 2)) == 17);
	t_check(m.header->defs_used ==
		TSCT_EVENT_DEF_SIZE(0) + TSCT_EVENT_DEF_SIZE(2));
	/* Defining the same event again succeeds, also through another descriptor. */
	t_check(define(fd, def("a", 0)) == 16);
	t_check(!dev_attach(other, arg.id, TSCT_ROLE_WRITE), "%m");
	t_check(define(other, def("b", 2)) == 17);
	/* An event with the same name but another kind or field type is distinct. */
	d = def("b", 2);
	d.kind = TSCT_KIND_BEGIN;
	t_check(define(fd, d) == 18);
	d = def("b", 2);
	d.fields[1].type = TSCT_TYPE_STRING;
	t_check(define(fd, d) == 19);
	/* An event with a field of each type */
	d = def("types", TSCT_TYPE_NR);
	for (int i = 0; i < TSCT_TYPE_NR; i++) {
		d.fields[i].type = (__u8)i;
		d.fields[i].count = i >= TSCT_TYPE_BYTES ? 4 : 0;
	}
	t_check(define(fd, d) == 20, "%m");
	t_check(walk(m.header) == 5);
	try_bad(fd);
	t_check(walk(m.header) == 5);
	try_fill(fd, m.header);
	try_size();
	return t_status();
}
