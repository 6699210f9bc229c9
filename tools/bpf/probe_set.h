/* SPDX-License-Identifier: MIT */
/*
 * The probes of a kernel source: places in the kernel or in programs where an event is recorded.
 * A text names each place. The wing `probes` defines these functions: without this wing,
 * probe_set_add is NULL, and there is no set of probes. Only one thread changes and frees a set.
 */
#ifndef TSCT_TOOLS_PROBE_SET_H
#define TSCT_TOOLS_PROBE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

#include "lib/base/wing.h"
#include "where.h"

struct bpf_shared;
struct probe_set;
struct tsct_channel;

/* Returns true if @text has the syntax of a probe. The names of built-in events do not. */
static inline bool probe_is_probe(const char *text)
{
	return strchr(text, ':') != NULL;
}

/*
 * probe_set_add - add the probes that an argument of -e names
 * @set: *set is NULL at first; the first probe creates the set
 * @ret_built_in: mask; built-in events that replace a slower probe are added to this mask
 *
 * A probe that is in the set already is not added again. Returns 0, or -errno.
 */
TSCT_WING int probe_set_add(struct probe_set **set, const char *text,
			    unsigned int *ret_built_in);

/* Checks that no process of @pids has mapped another file with the path of a probe's file, as in
 * a container: events of such a process are not recorded. Returns 0 or -errno. */
TSCT_WING int probe_set_check_processes(const struct probe_set *set, const pid_t *pids,
					unsigned int nr);

/* Returns true if @patterns select a probe of the set, see `stacks` of struct kernel_select. */
TSCT_WING bool probe_set_matches(const struct probe_set *set, const char *patterns);

/* Makes the conditions of @list on the probes. Returns 0, or -errno. */
TSCT_WING int probe_set_where(struct probe_set *set, struct where_list *list);

/*
 * probe_set_attach - define the event of the next probe, and load and attach its program
 * @stacks: see struct kernel_select
 *
 * Returns the number of probes that are left, or -errno.
 */
TSCT_WING int probe_set_attach(struct probe_set *set, struct tsct_channel *channel,
			       const struct bpf_shared *shared, const char *stacks);

/* missed, counts_missed: as in struct kernel_figures, for the set's probes */
TSCT_WING unsigned long probe_set_missed(const struct probe_set *set);
TSCT_WING bool probe_set_counts_missed(const struct probe_set *set);
/* Returns true if the set has a probe of the kernel, whose events may occur in interrupts. */
TSCT_WING bool probe_set_in_interrupts(const struct probe_set *set);
/* Like kernel_source_limited(), for the set's probes */
TSCT_WING void probe_set_limited(const struct probe_set *set, take_dropped *take,
				 void *context);

/* Detaches the programs. */
TSCT_WING void probe_set_detach(struct probe_set *set);

/* Frees a set, after probe_set_detach(). */
TSCT_WING void probe_set_free(struct probe_set *set);

#endif /* TSCT_TOOLS_PROBE_SET_H */
