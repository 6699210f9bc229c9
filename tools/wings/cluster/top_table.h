/* SPDX-License-Identifier: MIT */
/* The table of trace-ctl cluster top: a row for each node, as computation without I/O */
#ifndef TSCT_TOOLS_TOP_TABLE_H
#define TSCT_TOOLS_TOP_TABLE_H

#include <stdio.h>

#include "coordinator.h"

/* a node that sent nothing for longer has its silence in the table, ns */
#define TOP_TABLE_SILENT_NS	3000000000LL

/* A node, as a row of the table. Texts are those of the node, or of its last sample. */
struct top_table_row {
	const char *name;
	enum cluster_state state;
	const char *why;	/* reason of the failure; "": none */
	__s64 silent_ns;	/* time since its last message, ns */
	bool sampled;		/* there is a sample; all below is 0 or NaN without one */
	bool has_rates;		/* there is one before it */
	unsigned int channels, providers;
	double events_per_s, bytes_per_s, lost_per_s;
	double unread_percent;	/* fill of the fullest ring, %; NaN: none is read */
	__u64 events, lost;	/* so far */
	double offset_ns;	/* cluster time less the node's own, ns; NaN: unknown */
	double error_ns;	/* bound of cluster time, ns; NaN: unknown */
	double delay_ns;	/* round trip to its source of cluster time, ns; NaN: none */
	const char *source;	/* name of that source; "": none */
	const char *clock;	/* status of cluster time; "": there is none */
	bool widest, longest;	/* of all nodes: the largest bound, the longest delay */
};

enum top_table_key { TOP_TABLE_EVENTS, TOP_TABLE_BYTES, TOP_TABLE_LOST, TOP_TABLE_BOUND,
		     TOP_TABLE_DELAY, TOP_TABLE_NAME, TOP_TABLE_KEYS };
extern const char *const top_table_keys[TOP_TABLE_KEYS];

/* Reads the rows of all nodes, @rows[0] to @rows[c->nr - 1], and marks the slowest
 * links. The samples are not trusted. */
void top_table_read(const struct cluster *c, __s64 now_ns, struct top_table_row *rows);

/* Sorts rows: failed nodes first; then figures in descending order, names in ascending. */
void top_table_sort(struct top_table_row *rows, unsigned int nr, enum top_table_key key);

/* Prints the table. @width, @height: size of the terminal, characters; 0: unlimited */
void top_table_print(FILE *to, const struct top_table_row *rows, unsigned int nr, int width,
		     int height);
json_t *top_table_json(const struct top_table_row *rows, unsigned int nr);

#endif /* TSCT_TOOLS_TOP_TABLE_H */
