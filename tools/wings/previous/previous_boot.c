// SPDX-License-Identifier: MIT
/* Reserved memory of a previous boot: checks the memory, and copies its channels and clock */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "lib/clock/clock_private.h"
#include "lib/client/reader.h"
#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/clock_segments.h"
#include "lib/clockpage/latch.h"
#include "lib/core/reserved.h"
#include "previous_boot.h"

/* Upper limit of the reserved memory's size, bytes: a larger size is an error, or
 * leaves no room for a copy */
#define SIZE_MAX_BYTES	(1ULL << 40)
/* Largest rate at which the kernel slews CLOCK_REALTIME, ppb */
#define SLEW_PPB	500000
/* Without clock params: largest age of an event at the panic, ns (10 years) */
#define AGE_MAX_NS	(10 * 366 * 86400LL * 1000000000LL)

/* ---- the memory ---------------------------------------------------------- */

static const void *image_at(const struct tsct_previous_boot *boot, __u64 offset)
{
	return (const char *)boot->image + offset;
}

/* Returns true if the channel at @offset is valid, and no other channel has its id. */
static bool is_valid(const struct tsct_previous_boot *boot, __u64 offset)
{
	const struct tsct_reserved_header *h = &boot->header;
	const struct tsct_reserved_channel *channel;
	unsigned int i;

	if (offset % TSCT_PAGE_SIZE ||
	    !tsct_reserved_within(offset, TSCT_PAGE_SIZE, h->data_offset, h->size))
		return false;
	channel = image_at(boot, offset);
	if (tsct_reserved_channel_check(h, channel, offset, h->size - offset))
		return false;
	for (i = 0; i < boot->nr_channels; i++)
		if (tsct_previous_boot_channel(boot, i)->id == channel->header.id)
			return false;
	return true;
}

int tsct_previous_boot_parse(void *image, __u64 size, struct tsct_previous_boot *ret)
{
	struct tsct_reserved_header *h = &ret->header;
	unsigned int i;
	__u64 offset;
	int err = -EINVAL;

	*ret = (struct tsct_previous_boot) { .image = image, .size = size };
	if (size >= TSCT_PAGE_SIZE) {
		memcpy(h, image, sizeof(*h));
		err = tsct_reserved_header_check(h, size);
	}
	if (err) {
		tsct_previous_boot_free(ret);
		return err;
	}
	for (i = 0; i < TSCT_RESERVED_CHANNELS; i++) {
		offset = h->channels[i];
		if (!offset)
			continue;
		if (is_valid(ret, offset))
			ret->offsets[ret->nr_channels++] = offset;
		else
			ret->nr_damaged++;
	}
	return 0;
}

int tsct_previous_boot_read(int fd, struct tsct_previous_boot *ret)
{
	struct tsct_previous previous = { .flags = 0 };
	struct tsct_previous_read part = { .len = 0 };
	char *image;

	if (ioctl(fd, TSCT_IOC_PREVIOUS, &previous))
		return -errno;
	if (previous.size > SIZE_MAX_BYTES)
		return -EPROTO;
	image = malloc(previous.size ?: 1);
	if (!image)
		return -ENOMEM;
	while (part.offset < previous.size) {
		part.data = (uintptr_t)image + part.offset;
		part.len = min(previous.size - part.offset, TSCT_PREVIOUS_READ_MAX);
		if (ioctl(fd, TSCT_IOC_PREVIOUS_READ, &part) || !part.len) {
			free(image);
			return part.len ? -errno : -EPROTO;
		}
		part.offset += part.len;
	}
	return tsct_previous_boot_parse(image, previous.size, ret);
}

void tsct_previous_boot_free(struct tsct_previous_boot *boot)
{
	free(boot->image);
	boot->image = NULL;
	boot->nr_channels = 0;
}

/* ---- channels -------------------------------------------------------------- */

const struct tsct_channel_header *
tsct_previous_boot_channel(const struct tsct_previous_boot *boot, unsigned int i)
{
	const struct tsct_reserved_channel *c = image_at(boot, boot->offsets[i]);

	return &c->header;
}

/* Maps anonymous memory, which is zeros: pages that are never written use no memory. */
static int map_zeros(__u64 size, char **ret_map)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return -errno;
	*ret_map = map;
	return 0;
}

/* Copies the header of the channel's file, with the definitions. Then replaces all fields by those
 * of the checked description @c, except defs_used and lost_no_ring, which change while the channel
 * is in use, so that only the file has their last values. Readers check defs_used. */
static void copy_head(const struct tsct_previous_boot *boot,
		      const struct tsct_reserved_channel *c, struct tsct_channel *channel)
{
	struct tsct_channel_header *own = (void *)channel->head_map;
	__u64 defs_used, lost_no_ring;
	char *states;
	__u32 cpu;

	memcpy(channel->head_map, image_at(boot, c->head_offset), c->header.consumer_offset);
	defs_used = own->defs_used;
	lost_no_ring = own->lost_no_ring;
	*own = channel->header;
	own->defs_used = defs_used;
	own->lost_no_ring = lost_no_ring;
	states = channel->head_map + own->cpu_state_offset;
	for (cpu = 0; cpu < own->nr_cpus; cpu++)
		states[cpu] = c->rings[cpu] ? TSCT_CPU_READY : TSCT_CPU_ABSENT;
}

static void copy_rings(const struct tsct_previous_boot *boot,
		       const struct tsct_reserved_channel *c, struct tsct_channel *channel)
{
	const char *from;
	__u32 cpu;

	for (cpu = 0; cpu < c->header.nr_cpus; cpu++) {
		if (!c->rings[cpu])
			continue;
		from = image_at(boot, c->rings[cpu]);
		memcpy(tsct_ring_consumer(channel, cpu), from, TSCT_PAGE_SIZE);
		memcpy(tsct_ring_producer(channel, cpu), from + TSCT_PAGE_SIZE,
		       TSCT_PAGE_SIZE + channel->geo.data_size);
	}
}

int tsct_previous_boot_open_channel(const struct tsct_previous_boot *boot, unsigned int i,
				    struct tsct_channel **ret_channel)
{
	const struct tsct_reserved_channel *c = image_at(boot, boot->offsets[i]);
	const struct tsct_channel_header *h = &c->header;
	struct tsct_channel *channel;
	int err;

	if (tsct_channel_check(h, 0) || !tsct_channel_name_valid(h->name) ||
	    h->policy != TSCT_POLICY_OVERWRITE)
		return -EINVAL;
	channel = tsct_channel_new();
	if (!channel)
		return -ENOMEM;
	channel->provider = TSCT_PROVIDER_MODULE;
	channel->roles = TSCT_ROLE_READ;
	channel->header = *h;
	tsct_channel_use_header(channel);
	err = map_zeros(h->consumer_offset, &channel->head_map) ?:
		map_zeros(h->ring_offset - h->consumer_offset, &channel->consumer_map) ?:
		map_zeros(h->file_size - h->ring_offset, &channel->ring_map);
	if (err) {
		tsct_channel_close(channel);
		return err;
	}
	copy_head(boot, c, channel);
	copy_rings(boot, c, channel);
	*ret_channel = channel;
	return 0;
}

/* ---- the clock ------------------------------------------------------------- */

/* Returns the last complete copy of the clock, or NULL if no copy is complete. */
static const struct tsct_reserved_clock *find_clock(const struct tsct_previous_boot *boot)
{
	const struct tsct_reserved_clock *found = NULL, *clock;
	unsigned int i;

	for (i = 0; i < TSCT_RESERVED_CLOCKS; i++) {
		clock = image_at(boot, boot->header.clock_offset + i * boot->header.clock_stride);
		if (tsct_reserved_clock_valid(clock, boot->header.nr_cpus) &&
		    (!found || clock->seq > found->seq))
			found = clock;
	}
	return found;
}

/* Cycles of the earliest and the latest event of some channels */
struct event_range {
	__u64 oldest, newest;
};

/* Extends the range by the channel's events, except events with cycles above @limit. */
static int extend_range(struct tsct_channel *channel, __u64 limit,
			struct event_range *range)
{
	struct tsct_reader *reader;
	struct tsct_event event;
	__u32 cpu;
	int err = tsct_reader_open(channel, &reader);

	for (cpu = 0; !err && cpu < channel->header.nr_cpus; cpu++)
		while (tsct_reader_next(reader, cpu, &event) == 1) {
			if (event.cycles > limit)
				continue;
			range->newest = max(range->newest, event.cycles);
			range->oldest = min(range->oldest, event.cycles);
		}
	if (!err)
		tsct_reader_close(reader);
	return err;
}

/* Returns true if the previous boot's daemon stored no clock: the memory has only zeros. */
static bool has_no_clock(const struct tsct_previous_boot *boot)
{
	const struct tsct_reserved_clock *clock;
	__u64 any = 0;
	unsigned int i;

	for (i = 0; i < TSCT_RESERVED_CLOCKS; i++) {
		clock = image_at(boot, boot->header.clock_offset + i * boot->header.clock_stride);
		any |= clock->checksum | clock->seq | clock->nr_cpus;
	}
	return !any;
}

void tsct_previous_boot_id(const struct tsct_previous_boot *boot, __u8 ret_id[16])
{
	const struct tsct_reserved_clock *clock = find_clock(boot);

	memset(ret_id, 0, 16);
	if (clock)
		memcpy(ret_id, clock->boot_id, 16);
}

/* Computes clock params, valid for cycles from @base to the panic, from CLOCK_REALTIME at the panic
 * and the counter's rate as known to the kernel. The error bound allows for a slew of up to
 * SLEW_PPB. Returns 0, or -EAGAIN if the panic's time or the rate is unknown or impossible. */
static int make_params(const struct tsct_reserved_panic *panic, __u64 base,
		       struct tsct_clock_state *state)
{
	const __u64 age = panic->cycles - base, age_limit = 1ULL << 40;
	__u64 mult = 1ULL << TSCT_CLOCK_SHIFT;
	struct tsct_clock_params *real = &state->real;
	__s64 age_ns;

	if (!panic->cycles || panic->source != state->source || base > panic->cycles ||
	    panic->real_ns < 0 || panic->width_cycles > age_limit)
		return -EAGAIN;
	if (panic->source == TSCT_SOURCE_TSC) {
		if (!panic->tsc_khz)
			return -EAGAIN;
		mult = (__u64)(((tsct_u128)1000000 << TSCT_CLOCK_SHIFT) / panic->tsc_khz);
	}
	age_ns = tsct_cycles_ns(mult, age + panic->width_cycles);
	if (age_ns < 0 || age_ns > AGE_MAX_NS)
		return -EAGAIN;
	*real = (struct tsct_clock_params) {
		.base_cycles = base, .mult = mult, .slew_mult = mult,
		.base_ns = panic->real_ns - tsct_cycles_ns(mult, age),
		.as_of_cycles = panic->cycles,
		.holdover_after_cycles = panic->cycles,
		.void_after_cycles = panic->cycles,
	};
	real->error_ps = 1000 * ((__u64)age_ns / (1000000000 / SLEW_PPB) + 1 +
				 tsct_cycles_ns(mult, panic->width_cycles));
	real->past_error_ps = real->error_ps;
	state->status = TSCT_STATUS_CALIBRATING;
	state->cluster = (struct tsct_clock_params) { .mult = 0 };
	state->cluster_prev = (struct tsct_clock_prev_params) { .mult = 0 };
	state->cluster_status = TSCT_STATUS_UNKNOWN;
	state->rate_mult = mult;
	state->rate_error_ppt = SLEW_PPB * 1000ULL;
	return tsct_clock_state_check(state) ? -EAGAIN : 0;
}

int tsct_previous_boot_open_clock(const struct tsct_previous_boot *boot,
				  struct tsct_channel *const *channels, unsigned int nr,
				  struct tsct_clock **ret_clock)
{
	const struct tsct_reserved_clock *from = find_clock(boot);
	const struct tsct_clock_copy *copy = from ? (const void *)from->copy : NULL;
	static const struct tsct_reserved_panic none;
	struct tsct_reserved_panic panic = boot->header.panic;
	struct event_range range = { .oldest = UINT64_MAX };
	const __u32 nr_cpus = boot->header.nr_cpus;
	struct tsct_clock_state *state;
	struct tsct_clock_page *page;
	__u8 boot_id[16];
	__u64 limit = UINT64_MAX;
	char *area = NULL;
	unsigned int i;
	int err;

	if (copy ? tsct_segments_valid(copy) || copy->state.source >= TSCT_SOURCE_NR :
	    !has_no_clock(boot))
		return -ENODATA;
	if (panic.checksum != tsct_reserved_panic_sum(&panic) || panic.source >= TSCT_SOURCE_NR)
		panic = none;
	err = map_zeros(TSCT_CLOCK_SIZE(nr_cpus), &area);
	if (err)
		return err;
	page = (void *)area;
	tsct_previous_boot_id(boot, boot_id);
	tsct_latch_init(page, boot_id, copy ? copy->state.source : panic.source, nr_cpus);
	if (copy) {
		page->copy[0] = *copy;
		memcpy(page + 1, from->cpus, nr_cpus * TSCT_RESERVED_CPU_SIZE);
	}
	state = &page->copy[0].state;
	/* Times after void_after_cycles cannot be converted. */
	if (state->real.mult)
		limit = state->real.void_after_cycles;
	else if (panic.cycles)
		limit = panic.cycles;
	for (i = 0; !err && i < nr; i++)
		if (channels[i]->source == state->source)
			err = extend_range(channels[i], limit, &range);
	/* If there are no clock params, compute them from the panic's time. They are valid
	 * from the start of the epoch or, without a known epoch, from the oldest event. */
	if (!err && (!state->real.mult || state->status == TSCT_STATUS_UNKNOWN))
		err = make_params(&panic, page->copy[0].nr_segments ? state->epoch_cycles :
				  range.oldest < panic.cycles ? range.oldest : panic.cycles,
				  state);
	if (!err && range.newest < state->real.as_of_cycles)
		range.newest = state->real.as_of_cycles;
	if (!err && panic.cycles >= range.newest && panic.cycles <= limit)
		range.newest = panic.cycles;
	page->copy[1] = page->copy[0];
	if (!err)
		err = tsct_clock_open_stopped(page, range.newest, ret_clock);
	if (err)
		munmap(page, TSCT_CLOCK_SIZE(nr_cpus));
	return err;
}
