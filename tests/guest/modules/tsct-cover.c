// SPDX-License-Identifier: MIT
/*
 * Records which blocks of tsctrace.ko ran, in any context: KCOV records tasks that ask for
 * it, and not the kernel's own threads and interrupts. A copy of tsctrace.ko calls
 * tsct_cover_pc() in place of __sanitizer_cov_trace_pc(), which follows.
 *
 * A read of debugfs' tsct_cover returns the table of addresses and clears it.
 */
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#ifdef CONFIG_KCOV
#define SLOT_BITS	13	/* the module has some 2000 blocks */
#define SLOTS		(1U << SLOT_BITS)
#define PROBES_MAX	32

void __sanitizer_cov_trace_pc(void);
void tsct_cover_pc(void);

static u64 table[SLOTS];
static struct dentry *file;

/* The last call is a jump, so that KCOV finds the same return address. */
notrace void tsct_cover_pc(void)
{
	u64 pc = _RET_IP_, *slot;
	u32 at = hash_64(pc, SLOT_BITS), i;

	for (i = 0; i < PROBES_MAX; i++, at++) {
		slot = &table[at % SLOTS];
		if (READ_ONCE(*slot) == pc)
			break;
		if (!READ_ONCE(*slot)) {
			WRITE_ONCE(*slot, pc);
			break;
		}
	}
	__sanitizer_cov_trace_pc();
}
EXPORT_SYMBOL_GPL(tsct_cover_pc);

static ssize_t cover_read(struct file *from, char __user *to, size_t len, loff_t *at)
{
	if (len != sizeof(table))
		return -EINVAL;
	if (copy_to_user(to, table, sizeof(table)))
		return -EFAULT;
	memset(table, 0, sizeof(table));
	return sizeof(table);
}

static const struct file_operations cover_ops = {
	.owner = THIS_MODULE,
	.read = cover_read,
};

static int __init cover_init(void)
{
	file = debugfs_create_file_unsafe("tsct_cover", 0400, NULL, NULL, &cover_ops);
	return PTR_ERR_OR_ZERO(file);
}

static void __exit cover_exit(void)
{
	debugfs_remove(file);
}

module_exit(cover_exit);
#else
static int __init cover_init(void)
{
	return -ENODEV;
}
#endif

module_init(cover_init);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Test: coverage of tsctrace in all contexts");
