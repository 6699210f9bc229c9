// SPDX-License-Identifier: MIT
/* The timekeeper's log lines and status text. */
#include <stdio.h>

#include "lib/core/clock_params.h"
#include "timekeeper.h"
#include "daemon/config/log.h"

void timekeeper_describe(const struct timekeeper *k, char *text, size_t size)
{
	double error_ppb, hz = tsct_rate_hz(&k->est, &error_ppb);
	const struct tsct_clock_state *state = &k->est.state;

	if (!state->real.mult) {
		snprintf(text, size, "%s: time unknown, epoch %u (%s)",
			 tsct_status_name(state->status), state->epoch,
			 state->cause ? tsct_cause_name(state->cause) :
			 "the first one");
		return;
	}
	snprintf(text, size, "%s: %.0f Hz +- %.6f ppm, time within %.3f us "
		 "+ %.3f us/s, epoch %u", tsct_status_name(state->status), hz,
		 error_ppb / 1e3, (double)state->real.error_ps / 1e6,
		 (double)tsct_growth_ppb(state->real.mult, state->real.growth) /
		 1e3, state->epoch);
}

void timekeeper_log_status(struct timekeeper *k)
{
	char text[256];

	timekeeper_describe(k, text, sizeof(text));
	if (k->est.state.status != k->logged_status)
		log_info("clock %s", text);
	else
		log_debug("clock %s", text);
	k->logged_status = k->est.state.status;
}

void timekeeper_log_epoch(const struct timekeeper *k, const char *why)
{
	log_warning("clock: %s; epoch %u begins (%s)", why, k->est.state.epoch,
		    tsct_cause_name(k->est.state.cause));
}
