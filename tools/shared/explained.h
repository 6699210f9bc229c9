/* SPDX-License-Identifier: MIT */
/*
 * Finds the causes of waits in the slowest spans of a recording, like trace-ctl explain, while
 * another command reads the recording (a walk). Defined in tools/wings/explain.
 */
#ifndef EXPLAINED_H
#define EXPLAINED_H

#include <jansson.h>

#include "lib/base/wing.h"
#include "lib/export/export.h"
#include "span_figures.h"

struct explain_job;

/* Starts the search for the causes of waits in the slowest spans of @figures. Call it after
 * tsct_export_prepare(@walk). @walk and @figures must outlive the job. *ret_job: NULL: no spans.
 * Returns 0 or -ENOMEM. */
TSCT_WING int explained_begin(struct tsct_export *walk, const struct span_figures *figures,
			      struct explain_job **ret_job);

/* Returns true if the walk must pass events as well as states: the recording has messages, or
 * moves of threads between CPUs, which may explain a wait. */
TSCT_WING bool explained_needs_events(const struct tsct_export *walk);

/* Call these for each state of a thread, and for each event. Return 0 or -ENOMEM. */
TSCT_WING int explained_state(struct explain_job *job, const struct tsct_state_time *time);
TSCT_WING int explained_event(struct explain_job *job, const struct tsct_export_event *ev);

/* Call it after the walk. Returns the spans, as in explain --json; JSON null: there were too many
 * states; NULL: out of memory. */
TSCT_WING json_t *explained_end(struct explain_job *job);
TSCT_WING void explained_free(struct explain_job *job);

#endif /* EXPLAINED_H */
