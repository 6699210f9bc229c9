/* SPDX-License-Identifier: MIT */
/* More about the threads of lib/statedump/identity.h: how long a state lasts, and cgroups */
#ifndef TSCT_IDENTITY_UNTIL_H
#define TSCT_IDENTITY_UNTIL_H

#include "lib/statedump/identity.h"

/* Returns a tick until which tsct_identity_find() finds the same state, or at least the
 * same thread. @found: the result of tsct_identity_find() for @tick */
__u64 tsct_identity_until(const struct tsct_identity *identity,
			  const struct tsct_identity_thread *found, __u64 tick);

/* Returns the path of a cgroup, or NULL. */
const char *tsct_identity_cgroup(const struct tsct_identity *identity, __u32 node, __u64 id);

#endif /* TSCT_IDENTITY_UNTIL_H */
