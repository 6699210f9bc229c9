/* SPDX-License-Identifier: MIT */
/*
 * Finds what the slowest spans of a recording waited for, as trace-ctl explain does, while another
 * command walks over the recording: tools/wings/explain.
 */
#ifndef EXPLAINED_H
#define EXPLAINED_H

#include <jansson.h>

#include "lib/base/wing.h"
#include "lib/export/export.h"
#include "span_figures.h"

struct explain_job;

/* Begins to explain the slowest spans of @figures. @walk: prepared; it and the figures outlive the
 * job. *ret_job: NULL: there are none. Returns 0 or -ENOMEM. */
TSCT_WING int explained_begin(struct tsct_export *walk, const struct span_figures *figures,
			      struct explain_job **ret_job);

/* Returns true if the walk has to pass events, too, as the recording has messages that may tell
 * more of a wait than wakings do, or moves of threads. */
TSCT_WING bool explained_needs_events(const struct tsct_export *walk);

/* To be called for each state of a thread, and each event. Return 0 or -ENOMEM. */
TSCT_WING int explained_state(struct explain_job *job, const struct tsct_state_time *time);
TSCT_WING int explained_event(struct explain_job *job, const struct tsct_export_event *ev);

/* After the walk. Returns the spans, as in explain --json; JSON's null: there are too many states to
 * keep; NULL: out of memory. */
TSCT_WING json_t *explained_end(struct explain_job *job);
TSCT_WING void explained_free(struct explain_job *job);

#endif /* EXPLAINED_H */
