// SPDX-License-Identifier: GPL-2.0-only
/* mmap() of /dev/tsctrace: regions, access rights, page faults. */
#include <linux/fs.h>
#include <linux/mm.h>

#include <tsctrace/abi.h>

#include "channel.h"
#include "clockpage.h"
#include "compat.h"
#include "device.h"

#define CLOCK_FIRST_PAGE	(TSCT_CLOCK_OFFSET >> PAGE_SHIFT)

/*
 * Returns 1 if the file's roles may write the range, 0 if they may only read it,
 * -EINVAL if it does not lie in one region. Computes in pages: the sum of a byte
 * offset and a length may overflow, that of pages was checked by the system
 * call.
 */
static int map_check_range(const struct tsct_file *f,
			   struct vm_area_struct *vma)
{
	const struct tsct_kchannel *channel = tsct_file_channel(f);
	u64 first = vma->vm_pgoff, end = first + vma_pages(vma);
	u64 consumers, rings;

	if (first == CLOCK_FIRST_PAGE)
		return end <= first + tsct_clockpage_pages() ? 0 : -EINVAL;
	if (!channel)
		return -EINVAL;
	consumers = channel->consumer_offset >> PAGE_SHIFT;
	rings = channel->ring_offset >> PAGE_SHIFT;
	if (end <= consumers)
		return 0;
	if (first >= consumers && end <= rings)
		return !!(f->roles & TSCT_ROLE_READ);
	if (first >= rings && end <= channel->file_size >> PAGE_SHIFT)
		return !!(f->roles & TSCT_ROLE_WRITE);
	return -EINVAL;
}

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	struct tsct_file *f = vmf->vma->vm_file->private_data;
	struct page *page;

	/* Channels end below the clock area: see tsct_channel_layout(). */
	if (vmf->pgoff >= CLOCK_FIRST_PAGE)
		page = tsct_clockpage_page(vmf->pgoff - CLOCK_FIRST_PAGE);
	else
		page = tsct_channel_page(tsct_file_channel(f), vmf->pgoff);
	if (!page)
		return VM_FAULT_SIGBUS;
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct map_vm_ops = {
	.fault = map_fault,
};

/*
 * A map holds the file, and so the channel. It is inherited over fork(), so that
 * children of a program go on emitting; it cannot grow, and core dumps leave it
 * out. VM_MAYSHARE is tested because VM_SHARED is cleared for files that are
 * open for reading only.
 */
int tsct_device_mmap(struct file *file, struct vm_area_struct *vma)
{
	unsigned long clear = VM_MAYEXEC;
	int writable;

	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EPERM;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	writable = map_check_range(file->private_data, vma);
	if (writable < 0)
		return writable;
	if (!writable) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		clear |= VM_MAYWRITE;
	}
	tsct_vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, clear);
	vma->vm_ops = &map_vm_ops;
	return 0;
}
