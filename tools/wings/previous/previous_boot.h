/* SPDX-License-Identifier: MIT */
/*
 * Channels and clock that a previous boot left in reserved memory, from a copy of that
 * memory. The memory may contain anything: all figures are checked. Channels are private
 * copies, which readers check like the rings of a hostile writer.
 */
#ifndef TSCT_PREVIOUS_BOOT_H
#define TSCT_PREVIOUS_BOOT_H

#include <tsctrace/tsctrace.h>

struct tsct_previous_boot {
	void *image;		/* copy of the reserved memory */
	__u64 size;
	struct tsct_reserved_header header;	/* checked copy of the header */
	unsigned int nr_channels;
	unsigned int nr_damaged;	/* channels whose description is invalid */
	/* offsets of channels whose description is valid */
	__u64 offsets[TSCT_RESERVED_CHANNELS];
};

/*
 * tsct_previous_boot_read - copy the memory from the module's device @fd
 * tsct_previous_boot_parse - find the channels in a copy of the memory
 * @image: @size bytes at an address that malloc() returned; freed with *ret, or at once
 *	if the function fails
 *
 * Return 0, -ENOENT if the memory has nothing of a previous boot, -EPROTO if another
 * version of tsctrace wrote the memory, -EINVAL if the memory's header is invalid, or
 * another -errno, for example -EPERM.
 */
int tsct_previous_boot_read(int fd, struct tsct_previous_boot *ret);
int tsct_previous_boot_parse(void *image, __u64 size, struct tsct_previous_boot *ret);
void tsct_previous_boot_free(struct tsct_previous_boot *boot);

/* Gets the header of channel @i, below nr_channels: its name, owner, policy and flags. */
const struct tsct_channel_header *
tsct_previous_boot_channel(const struct tsct_previous_boot *boot, unsigned int i);

/* Gets the id that the daemon stored of the boot that wrote the memory; zeros: unknown. */
void tsct_previous_boot_id(const struct tsct_previous_boot *boot, __u8 ret_id[16]);

/*
 * tsct_previous_boot_open_channel - open a copy of channel @i for reading
 *
 * The channel has no provider that answers requests. Close it with tsct_channel_close().
 * Returns 0, -EINVAL if the channel's header is invalid, or -ENOMEM.
 */
int tsct_previous_boot_open_channel(const struct tsct_previous_boot *boot, unsigned int i,
				    struct tsct_channel **ret_channel);

/*
 * tsct_previous_boot_open_clock - open the clock of the previous boot in its last state
 * @channels: @nr open channels, whose events the clock will convert
 *
 * The clock is stopped at the moment of the panic or, if this moment is unknown, of the last
 * event. If the clock had no params then, times are computed from CLOCK_REALTIME at the panic
 * and the kernel's rate of the counter. Their error bound is 500 ppm of the time until the
 * panic, and holds if CLOCK_REALTIME was not set in that time.
 *
 * Close it with tsct_clock_close(). Returns 0, -EAGAIN if the clock had no params and the
 * moment of the panic is unknown, -ENODATA if there is no valid copy of the clock, or -ENOMEM.
 */
int tsct_previous_boot_open_clock(const struct tsct_previous_boot *boot,
				  struct tsct_channel *const *channels, unsigned int nr,
				  struct tsct_clock **ret_clock);

#endif /* TSCT_PREVIOUS_BOOT_H */
