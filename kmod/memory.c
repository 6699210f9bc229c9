// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of channels: layout and allocation. The memory consists of single pages,
 * mapped to user space one by one in the fault handler and, for the kernel, together by
 * vmap(). The pages are charged to the memory cgroup of the creator, or of the kernel.
 *
 * Reserved memory (reserved.c) is one range, whose pages the next channel uses again even if
 * they are still referenced: a pin of a page (get_user_pages()) that outlived its channel would
 * show the next channel's events. So user space gets VM_PFNMAP maps, which allow no pins.
 */
#include <linux/bits.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "channel.h"
#include "reserved.h"

static_assert(PAGE_SIZE == TSCT_PAGE_SIZE);

/* 32-bit programs can map all offsets, because mmap2() accepts offsets below 2^44. */
#define FILE_SIZE_MAX	BIT_ULL(43)

/* Allocation of a large ring fails with ENOMEM instead of invoking the OOM killer. */
#define PAGE_FLAGS	(__GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

static void memory_free_pages(struct page **pages, u32 nr)
{
	u32 i;

	for (i = 0; i < nr && pages[i]; i++)
		__free_page(pages[i]);
	kvfree(pages);
}

/*
 * Allocates @nr zeroed single pages near @node. Returns the address of a mapping
 * of all pages, or an ERR_PTR(): -ENOMEM; -EINTR: a fatal signal, only if the
 * pages are charged to the caller's memory cgroup and @gfp allows sleeping.
 *
 * Fails at once if the host has too little memory: this allocation does not invoke the OOM killer,
 * but if it took all memory, the next small allocation of any task would invoke the OOM killer.
 */
static void *memory_alloc_pages(u32 nr, int node, gfp_t gfp,
				struct page ***ret_pages)
{
	struct page **pages;
	void *addr;
	int err = -ENOMEM;
	u32 i;

	if (si_mem_available() < (long)nr)
		return ERR_PTR(-ENOMEM);
	pages = kvcalloc(nr, sizeof(*pages), gfp);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < nr; i++) {
		pages[i] = alloc_pages_node(node, gfp | PAGE_FLAGS, 0);
		if (!pages[i])
			goto free_pages;
		if (gfp & __GFP_ACCOUNT && gfpflags_allow_blocking(gfp) &&
		    fatal_signal_pending(current)) {
			err = -EINTR;
			goto free_pages;
		}
		cond_resched();
	}
	addr = vmap(pages, nr, VM_MAP, PAGE_KERNEL);
	if (!addr)
		goto free_pages;
	*ret_pages = pages;
	return addr;

free_pages:
	memory_free_pages(pages, nr);
	return ERR_PTR(err);
}

/* The caller has checked channel->geo by tsct_geometry_check(). */
int tsct_channel_layout(struct tsct_kchannel *channel)
{
	struct tsct_channel_header *file = &channel->file;

	file->cpu_state_offset = ALIGN(sizeof(*file), 64);
	file->defs_offset = PAGE_ALIGN(file->cpu_state_offset + file->nr_cpus);
	file->consumer_offset = file->defs_offset + file->defs_size;
	file->ring_offset = file->consumer_offset + (u64)file->nr_cpus * PAGE_SIZE;
	file->ring_stride = PAGE_SIZE + file->data_size;
	file->file_size = file->ring_offset + file->nr_cpus * file->ring_stride;
	channel->nr_head_pages = file->consumer_offset >> PAGE_SHIFT;
	channel->ring_bytes = file->ring_stride + PAGE_SIZE;
	return file->file_size <= FILE_SIZE_MAX ? 0 : -EINVAL;
}

int tsct_channel_alloc_head(struct tsct_kchannel *channel, gfp_t gfp)
{
	void *addr;

	if (channel->reserved)
		addr = tsct_reserved_at(channel->reserved, channel->reserved->head_offset);
	/* Checks for all rings: else the first would use up memory before a later one fails. */
	else if (si_mem_available() < (long)(channel->bytes >> PAGE_SHIFT))
		addr = ERR_PTR(-ENOMEM);
	else
		addr = memory_alloc_pages(channel->nr_head_pages, NUMA_NO_NODE, gfp,
					  &channel->head_pages);
	if (IS_ERR(addr))
		return PTR_ERR(addr);
	channel->header = addr;
	channel->cpu_state = addr + channel->file.cpu_state_offset;
	channel->defs = addr + channel->file.defs_offset;
	return 0;
}

int tsct_channel_add_ring(struct tsct_kchannel *channel, u32 cpu, gfp_t gfp)
{
	size_t size = sizeof(struct tsct_ring);
	int node = cpu_to_node(cpu);
	struct tsct_ring *ring;
	void *addr;

	if (channel->file.flags & TSCT_CHANNEL_KERNEL)
		size += TSCT_NESTED_PAYLOAD_MAX;
	ring = kzalloc_node(size, gfp, node);
	if (!ring)
		return -ENOMEM;
	ring->nr_pages = channel->ring_bytes >> PAGE_SHIFT;
	addr = channel->reserved ?
		tsct_reserved_at(channel->reserved, channel->reserved->rings[cpu]) : NULL;
	if (!addr)
		addr = memory_alloc_pages(ring->nr_pages, node, gfp, &ring->pages);
	if (IS_ERR(addr)) {
		kfree(ring);
		return PTR_ERR(addr);
	}
	ring->channel = channel;
	ring->geo = channel->geo;
	ring->source = channel->file.source;
	ring->consumer = addr;
	ring->producer = addr + PAGE_SIZE;
	ring->data = addr + 2 * PAGE_SIZE;
	tsct_ring_init(ring->producer, ring->data);
	ring->head = ring->producer->head;
	/* release: pairs with the acquire in tsct_channel_ring() */
	smp_store_release(&channel->rings[cpu], ring);
	/* release: programs touch a ring's pages only after they have loaded READY */
	smp_store_release(&channel->cpu_state[cpu], TSCT_CPU_READY);
	return 0;
}

/* Returns the address of the page at page offset @pgoff of the channel's file; NULL: no page. */
static void *memory_find_page(struct tsct_kchannel *channel, u64 pgoff)
{
	const struct tsct_channel_header *file = &channel->file;
	u64 offset = pgoff << PAGE_SHIFT;
	struct tsct_ring *ring;

	if (pgoff >= file->file_size >> PAGE_SHIFT)
		return NULL;
	if (offset < file->consumer_offset)
		return (void *)channel->header + offset;
	if (offset < file->ring_offset) {
		ring = tsct_channel_ring(channel, pgoff - (file->consumer_offset >> PAGE_SHIFT));
		return ring ? ring->consumer : NULL;
	}
	offset -= file->ring_offset;
	ring = tsct_channel_ring(channel, offset / file->ring_stride);
	return ring ? (void *)ring->producer + offset % file->ring_stride : NULL;
}

vm_fault_t tsct_channel_fault(struct tsct_kchannel *channel, struct vm_fault *vmf)
{
	const void *addr = memory_find_page(channel, vmf->pgoff);

	if (!addr)
		return VM_FAULT_SIGBUS;
	/* A channel in reserved memory has other pages for rings of CPUs that were added later. */
	if (channel->reserved)
		return vmf_insert_pfn(vmf->vma, vmf->address, is_vmalloc_addr(addr) ?
				      vmalloc_to_pfn(addr) : PHYS_PFN(__pa(addr)));
	vmf->page = vmalloc_to_page(addr);
	get_page(vmf->page);
	return 0;
}

void tsct_channel_free_memory(struct tsct_kchannel *channel)
{
	struct tsct_ring *ring;
	u32 cpu;

	tsct_for_each_ring(ring, cpu, channel) {
		if (ring->pages) {
			vunmap(ring->consumer);
			memory_free_pages(ring->pages, ring->nr_pages);
		}
		kfree(ring);
		cond_resched();
	}
	if (channel->head_pages) {
		vunmap(channel->header);
		memory_free_pages(channel->head_pages, channel->nr_head_pages);
	}
	tsct_reserved_free(channel);
}
