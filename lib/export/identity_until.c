// SPDX-License-Identifier: MIT
#include "identity_until.h"

__u64 tsct_identity_until(const struct tsct_identity *identity,
			  const struct tsct_identity_thread *found, __u64 tick)
{
	const struct tsct_identity_thread *next = found + 1;

	if (!found)
		return identity->nr_threads ? tick : UINT64_MAX;
	if (tick < found->tick)	/* @found is the thread's first state */
		return found->tick;
	if (next == identity->threads + identity->nr_threads || next->node != found->node ||
	    next->state.tid != found->state.tid)
		return found->until;
	if (next->generation == found->generation)
		return next->tick;
	return next->from - 1 < found->until ? next->from - 1 : found->until;
}

const char *tsct_identity_cgroup(const struct tsct_identity *identity, __u32 node, __u64 id)
{
	size_t i;

	for (i = identity->nr_cgroups; i--;)
		if (identity->cgroups[i].node == node && identity->cgroups[i].id == id)
			return identity->cgroups[i].path;
	return NULL;
}
