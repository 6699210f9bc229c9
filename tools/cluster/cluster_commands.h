/* SPDX-License-Identifier: MIT */
/* The subcommands of trace-ctl cluster */
#ifndef TSCT_TOOLS_CLUSTER_COMMANDS_H
#define TSCT_TOOLS_CLUSTER_COMMANDS_H

/* The arguments of `cluster top`, as its help shows them */
#define CLUSTER_TOP_FORM	"top --on NODE,..."

int cluster_record(int argc, char **argv);
int cluster_live(int argc, char **argv);
int cluster_top(int argc, char **argv);

/* Runs on each node, started by a launcher; the connection is standard input and
 * output. */
int cluster_node(void);

#endif /* TSCT_TOOLS_CLUSTER_COMMANDS_H */
