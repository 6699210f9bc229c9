// SPDX-License-Identifier: MIT
/*
 * Times of another tracer's trace. The trace states its kernel clock and its
 * boot; the history of that boot converts values of that clock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/node_history.h"
#include "ctf.h"

#define GIGA	1000000000LL
/* Largest allowed difference of REALTIME - MONOTONIC between a trace and the history, ns */
#define OFFSET_MAX_NS	10000000LL

/* ---- the clock ---------------------------------------------------------------------- */

static int clock_of(const char *name)
{
	int i;

	if (!strncasecmp(name, "CLOCK_", 6))
		name += 6;
	for (i = 0; i <= TSCT_HISTORY_TSC; i++)
		if (!strcasecmp(name, tsct_history_clock_names[i]))
			return i;
	return -1;
}

/* Loads the node's history of the boot from the first directory that contains this boot. */
static int load_history(struct ctf_node *node)
{
	const struct ctf_options *o = node->job->options;
	char path[PATH_MAX], boot[33], why[256] = "";
	struct tsct_history_found found = { 0 };
	__u8 present[16];
	unsigned int i = 0;
	int err;

	tsct_history_boot_text(node->boot_id, boot);
	do {
		node_history_path(o->nr_dirs ? o->dir[i] : NULL, path, sizeof(path));
		err = tsct_history_load(path, node->boot_id, &node->history, &found, why,
					sizeof(why));
		if (err == -ENOMEM)
			return err;
	} while (err && ++i < o->nr_dirs);
	if (err)
		snprintf(node->why, sizeof(node->why), "no history of the clocks of boot %s of %s"
			 " is in %.150s%s (%s)", boot, *node->host ? node->host :
			 "an unnamed host", path,
			 o->nr_dirs > 1 ? " nor in the other directories" : "", why);
	if (err)
		return 0;
	if (found.damaged_records)
		ctf_note(node->status, "%s: %u damaged records are left out: their times are"
			 " unknown", path, found.damaged_records);
	return node_history_end(node->history, !node_history_read_boot(present) &&
				!memcmp(present, node->boot_id, 16), NULL);
}

int ctf_clock_init(struct ctf_node *node, struct ctf_clock *c, const bt_clock_class *class)
{
	const struct ctf_options *o = node->job->options;
	const char *name = bt_clock_class_get_name(class);
	const bool has_uid = ctf_graph_version();
	bt_uuid uuid = has_uid ? NULL : bt_clock_class_get_uuid(class);
	const char *uid = has_uid ? bt_clock_class_get_uid(class) : NULL;
	__u8 boot[16];
	bool has_boot = uuid || (uid && node_history_parse_boot(uid, boot));
	uint64_t cycles;
	int64_t s;

	*c = (struct ctf_clock) { .class = class, .hz = bt_clock_class_get_frequency(class) };
	snprintf(c->name, sizeof(c->name), "%s", name ? name : "");
	c->clock = clock_of(c->name);
	if (c->clock < 0)
		c->clock = o->clock;
	if (!c->hz)
		return ctf_fail(node->status, -EBADMSG, "clock '%s' has no frequency", c->name);
	if (has_uid)
		bt_clock_class_get_opt_precision(class, &c->precision);
	else
		c->precision = bt_clock_class_get_precision(class);
	bt_clock_class_get_offset(class, &s, &cycles);
	c->has_epoch = bt_clock_class_origin_is_unix_epoch(class);
	if (__builtin_mul_overflow(s, GIGA, &c->offset_ns) ||
	    __builtin_add_overflow(c->offset_ns, (__s64)((unsigned __int128)cycles * GIGA / c->hz),
				   &c->offset_ns))
		return ctf_fail(node->status, -EBADMSG, "clock '%s' has an impossible offset",
				c->name);
	if (uuid)
		memcpy(boot, uuid, 16);
	if (o->boot)
		has_boot = node_history_parse_boot(o->boot, boot);
	if (has_boot && node->has_boot && memcmp(boot, node->boot_id, 16))
		return ctf_fail(node->status, -EINVAL, "it has traces of two boots; merge each"
				" as an input of its own");
	if (!has_boot || node->has_boot)
		return 0;
	memcpy(node->boot_id, boot, 16);
	node->has_boot = true;
	return load_history(node);
}

void ctf_node_free(struct ctf_node *node)
{
	if (node->history)
		tsct_history_free(node->history);
}

/* ---- one time ----------------------------------------------------------------------- */

/* Converts a value of a clock to ns. The clock has this value from *ret_lo to *ret_hi. */
static int value_ns(const struct ctf_clock *c, __u64 value, __s64 *ret_lo, __s64 *ret_hi)
{
	unsigned __int128 lo = (unsigned __int128)value * GIGA / c->hz;
	unsigned __int128 hi = ((unsigned __int128)value + 1) * GIGA / c->hz;

	if (hi > LLONG_MAX / 2)
		return -ERANGE;
	*ret_lo = (__s64)lo;
	*ret_hi = hi > lo ? (__s64)hi - 1 : (__s64)lo;
	if (c->clock != TSCT_HISTORY_REALTIME)
		return 0;
	return __builtin_add_overflow(*ret_lo, c->offset_ns, ret_lo) ||
		__builtin_add_overflow(*ret_hi, c->offset_ns, ret_hi) ? -ERANGE : 0;
}

/* Returns the stated largest error of a clock's values, in cycles if @cycles, else in ns. */
static __u64 error_of_value(const struct ctf_clock *c, bool cycles)
{
	const unsigned __int128 ns = ((unsigned __int128)c->precision * GIGA + c->hz - 1) / c->hz;
	const unsigned __int128 off = cycles ? c->precision : ns;

	return off < LLONG_MAX / 4 ? (__u64)off : LLONG_MAX / 4;
}

/* Returns the tick for a cluster time, ns. */
static __u64 tick_of(const struct tsct_recorded_timeline *t, __s64 ns)
{
	const __int128 size = ((__int128)ns - t->base_ns) * ((__int128)1 << TSCT_CLOCK_SHIFT);
	__int128 count = size / (__int128)t->mult, ticks;

	count = size % (__int128)t->mult < 0 ? count - 1 : count;
	count += (__int128)t->base - t->remote;
	ticks = count * t->num / t->den;
	return t->global + (__u64)(__s64)ticks;
}

/* Returns an error unless the times are on the requested timeline. If no timeline
 * was requested, the timeline of the first time becomes the requested one. */
static int check_timeline(struct ctf_node *node, const struct tsct_history_time *t, unsigned int nr)
{
	struct ctf_status *s = node->status;
	struct tsct_recorded_timeline *wanted = &s->timeline;

	if (nr == 1 && t->has_cluster && !wanted->on)
		*wanted = (struct tsct_recorded_timeline) {
			.on = 1, .number = t->cluster_timeline, .master = t->cluster_master,
			.mult = 1ULL << TSCT_CLOCK_SHIFT, .num = 1, .den = 1, .hz = GIGA,
		};
	if (nr == 1 && t->has_cluster && t->cluster_timeline &&
	    t->cluster_master == wanted->master && t->cluster_timeline == wanted->number)
		return 0;
	s->off_timeline = true;
	return ctf_fail(s, -EINVAL, "the history cannot convert its times to timeline %u of"
			" cluster master %016llx", wanted->number, wanted->master);
}

/* Compares the clock's offset to CLOCK_REALTIME, as the trace states, with the history. */
static int check_offset(struct ctf_node *node, struct ctf_clock *c, __s64 lo,
			const struct tsct_history_time *t)
{
	__s64 stated, off;

	if (c->checked)
		return 0;
	c->checked = true;
	if (c->clock == TSCT_HISTORY_REALTIME || c->clock == TSCT_HISTORY_TSC || !c->has_epoch ||
	    !c->offset_ns || __builtin_add_overflow(lo, c->offset_ns, &stated))
		return 0;
	off = stated < t->real_lo_ns ? t->real_lo_ns - stated :
		stated > t->real_hi_ns ? stated - t->real_hi_ns : 0;
	if (off <= OFFSET_MAX_NS || node->job->force)
		return 0;
	return ctf_fail(node->status, -EINVAL, "clock '%s' differs by %.3f s from the node's"
			" history: it was recorded in a time namespace, or CLOCK_REALTIME was set"
			" after tracing began; use --force to use the history's time", c->name,
			(double)(stated < t->real_lo_ns ? -off : off) / 1e9);
}

static const char *reason(const struct ctf_node *node, const struct ctf_clock *c, int err)
{
	if (c->clock < 0)
		return "its name is not that of a kernel clock; name the clock with --clock";
	if (!node->has_boot)
		return "the trace does not state its boot; name it with --boot";
	if (!node->history)
		return node->why;
	return node_history_reason(err);
}

/* Uses a time as the trace states it, without a bound: the history cannot convert it. */
static int take_stated(struct ctf_node *node, const struct ctf_clock *c, __u64 value, __s64 lo,
		       int err, struct ctf_time *ret)
{
	if (!node->job->force)
		return ctf_fail(node->status, -EINVAL, "the time %llu of clock '%s' cannot"
				" be converted: %s; or use --force to take times as the trace"
				" states them, without error bounds", value, c->name,
				reason(node, c, err));
	if (!node->unknown++)
		ctf_note(node->status, "times without an error bound, as the trace states them:"
			 " %s", reason(node, c, err));
	if (c->clock != TSCT_HISTORY_REALTIME && __builtin_add_overflow(lo, c->offset_ns, &lo))
		lo = 0;
	*ret = (struct ctf_time) { lo < 0 ? 0 : (__u64)lo, UINT64_MAX, UINT64_MAX };
	return 0;
}

int ctf_time_of(struct ctf_node *node, struct ctf_clock *c, __u64 value, struct ctf_time *ret)
{
	struct tsct_history_time t[TSCT_HISTORY_TIMES];
	const bool is_tsc = c->clock == TSCT_HISTORY_TSC;
	struct node_history_middle middle;
	unsigned int nr = 0, i;
	__s64 lo = 0, hi = 0, from, until;
	const __u64 off = error_of_value(c, is_tsc);
	int err = value_ns(c, value, &lo, &hi);

	if (err)
		return ctf_fail(node->status, -EBADMSG, "the time %llu of clock '%s' is"
				" impossible", value, c->name);
	err = c->clock < 0 || !node->history ? -ENOENT :
		tsct_history_convert(node->history, (enum tsct_history_clock)c->clock,
				     (is_tsc ? value : (__u64)lo) - off,
				     (is_tsc ? value : (__u64)hi) + off, t, &nr);
	if (!err)
		err = check_offset(node, c, lo, t);
	else if (!node->job->cluster)
		return take_stated(node, c, value, lo, err, ret);
	else
		node->status->off_timeline = true;
	if (node->status->off_timeline)
		return ctf_fail(node->status, -EINVAL, "the time %llu of clock '%s' cannot"
				" be converted: %s", value, c->name, reason(node, c, err));
	if (!err && node->job->cluster)
		err = check_timeline(node, t, nr);
	if (err)
		return err;
	node->extrapolated += t->extrapolated;
	node->ambiguous += nr > 1;
	ret->utc_ns = 0;
	from = node->job->cluster ? t->cluster_lo_ns : t->real_lo_ns;
	until = node->job->cluster ? t->cluster_hi_ns : t->real_hi_ns;
	for (i = 0; i < nr; i++) {
		if (!node->job->cluster) {
			from = min(from, t[i].real_lo_ns);
			until = max(until, t[i].real_hi_ns);
		}
		ret->utc_ns = max(ret->utc_ns, t[i].utc_error_ns);
	}
	if (from < 0)
		return ctf_fail(node->status, -EBADMSG, "the time %llu of clock '%s' is"
				" before 1970", value, c->name);
	middle = node_history_middle(from, until);
	ret->error_ns = middle.error_ns;
	ret->tick = (__u64)middle.ns;
	if (!node->job->cluster)
		return 0;
	/* Global ticks have the rate of the master's clock, which differs slightly from
	 * the rate of cluster time. The error bound is that of cluster time. */
	ret->tick = tick_of(&node->status->timeline, middle.ns);
	ret->error_ns += 3 + ret->error_ns / 1024;
	return 0;
}
