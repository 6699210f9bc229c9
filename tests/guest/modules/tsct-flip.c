// SPDX-License-Identifier: MIT
/*
 * Changes bits of the memory that reserve_mem= reserved for tsctrace, as a reset may do:
 * `flips` bits at random between the bytes `first` and `last`. With age=1, the header then
 * is that of another boot, which left a channel, with a correct checksum. Loading the
 * module does that and then fails with ECANCELED, so that it can be loaded again.
 */
#include <linux/errno.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include "lib/core/reserved.h"

static bool age;
module_param(age, bool, 0);
static uint flips, first, last, seed;
module_param(flips, uint, 0);
module_param(first, uint, 0);
module_param(last, uint, 0);
module_param(seed, uint, 0);

#ifdef TSCT_RESERVE_MEM
static void flip_age(struct tsct_reserved_header *header)
{
	header->id[0] ^= 1;
	header->channels[0] = header->data_offset;
	header->checksum = tsct_reserved_header_sum(header);
}
#endif

static int __init tsct_flip_init(void)
{
#ifdef TSCT_RESERVE_MEM
	phys_addr_t start, size;
	struct rnd_state random;
	u8 *memory;
	u32 at;

	if (!reserve_mem_find_by_name("tsctrace", &start, &size))
		return -ENODEV;
	if (flips && (first >= last || last > size))
		return -EINVAL;
	memory = memremap(start, size, MEMREMAP_WB);
	if (!memory)
		return -ENOMEM;
	prandom_seed_state(&random, seed);
	while (flips--) {
		at = first + prandom_u32_state(&random) % (last - first);
		memory[at] ^= 1 << prandom_u32_state(&random) % 8;
	}
	if (age)
		flip_age((struct tsct_reserved_header *)memory);
	memunmap(memory);
	return -ECANCELED;
#else
	return -ENODEV;
#endif
}

module_init(tsct_flip_init);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Changes bits of reserved memory as a reset may do");
