/* SPDX-License-Identifier: MIT */
/*
 * Conditions on the fields of events, which BPF programs test before they record an event:
 *
 *	[EVENT:]FIELD OP VALUE [&& [EVENT:]FIELD OP VALUE]...
 *	[EVENT:]FIELD OP VALUE [|| [EVENT:]FIELD OP VALUE]..., all of one field
 *
 * OP is ==, !=, <, <=, >, >= or & (one of these bits is set). VALUE is an integer; names of
 * constants, such as O_CREAT|O_EXCL, or of an error, such as -ENOENT; or a text, in quotes
 * if it has blanks; a text TEXT* stands for all texts that begin with TEXT. EVENT is the
 * name of an event, without or with its system, and may have wildcards. Events that do not
 * have the field are recorded as if there were no condition.
 */
#ifndef TSCT_TOOLS_WHERE_H
#define TSCT_TOOLS_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include <tsctrace/abi.h>

#include "tools/bpf/progs/events.h"

/* A condition as the user wrote it, and the events to which it applies */
struct where {
	char event[TSCT_EVENT_NAME_MAX + 64];	/* "": any */
	char field[TSCT_FIELD_NAME_MAX];
	enum where_op op;
	bool is_number;
	bool is_negative;		/* `number` is negative, in two's complement */
	uint64_t number;
	char text[WHERE_TEXT_MAX];	/* the value as it was written, without quotes */
	bool or_next;			/* the next condition is an alternative to this one */
	bool is_event_known;		/* events match `event` */
	bool is_used;			/* the condition applies to an event */
	char fields[512];		/* field names of the events that lack `field` */
	char near[TSCT_FIELD_NAME_MAX];	/* a field with a similar name */
};

struct where_list {
	struct where where[WHERE_MAX];
	unsigned int nr;
};

/*
 * where_parse - add the conditions that @text contains
 *
 * Returns 0, or -EINVAL.
 */
int where_parse(const char *text, struct where_list *list);

/* Sets operator, number and text of *ret_condition from @where. */
void where_value(const struct where *where, struct where_condition *ret_condition);

/*
 * where_apply - make the condition @where for the events of a definition
 * @system: system of a tracepoint, group of a built-in event; "": none
 *
 * Returns 1 if the condition was made, 0 if it does not apply to these events, or
 * -EINVAL if the value does not fit the field's type.
 */
int where_apply(struct where *where, const char *system, const struct tsct_event_def *def,
		struct where_condition *ret_condition);

/* Makes all conditions that apply to the events of @def. @conditions: array of WHERE_MAX.
 * Returns the number of conditions, or -EINVAL. */
int where_apply_all(struct where_list *list, const char *system,
		    const struct tsct_event_def *def, struct where_condition *conditions);

/* Checks that each condition applied to an event. Returns 0, or -EINVAL;
 * bpf_errors_why() then has the reason and the existing fields. */
int where_check_used(const struct where_list *list);

/*
 * where_rate - read a rate limit, "N" or "N/s"
 * @ret_ns: time per event, ns
 * @ret_early_ns: time by which an event may be early, ns: the events of a tenth of a
 *	second may occur at once
 *
 * Returns 0 or -EINVAL.
 */
#define WHERE_RATE_MAX	10000000
int where_rate(const char *text, uint64_t *ret_ns, uint64_t *ret_early_ns);

/* Callback: receives the number of events that the rate limit dropped. @kind: TSCT_KIND_* */
typedef void take_dropped(void *context, const char *event, unsigned int kind,
			  unsigned long dropped);

#endif /* TSCT_TOOLS_WHERE_H */
