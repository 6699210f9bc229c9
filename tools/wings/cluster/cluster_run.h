/* SPDX-License-Identifier: MIT */
/* Interfaces between the files of trace-ctl cluster */
#ifndef TSCT_TOOLS_CLUSTER_RUN_H
#define TSCT_TOOLS_CLUSTER_RUN_H

#include <argp.h>

#include "coordinator.h"
#include "process.h"

#define LINE_SIZE	1024	/* longest line of a node that is printed in one piece */

/* An unfinished line that a node or its launcher printed */
struct cluster_line {
	char text[LINE_SIZE];
	size_t len;
};

/* The connection to one node */
struct cluster_link {
	struct process launcher;
	struct message_reader in;
	struct byte_queue out;
	/* output of the node's command, 1 and 2, and of the launcher, 0 */
	struct cluster_line lines[3];
	char last[256];			/* last line that the launcher printed */
	struct receive_files *files;	/* recording that is received; NULL: none */
	bool closing;			/* end the input after `out` */
	__s64 ended_ns;			/* time at which the launcher was to end; 0: not yet */
};

struct cluster_run;
struct cluster_live;

/* Functions in which the commands differ: record, live and top */
struct cluster_view {
	/* Called in each turn of the main loop, after all inputs. */
	void (*show)(struct cluster_run *r, __s64 now_ns);
	/* Takes a message "live" of node @i. -EPROTO: it is damaged; -ENOMEM */
	int (*live)(struct cluster_run *r, unsigned int i, const struct cluster_action *a);
	int turn_ms;		/* longest time between turns, ms */
	/* record and live only: */
	const struct argp *argp;
	const struct argp_option *options;	/* those that record has not; NULL: none */
	/* Called before and after the run; NULL: nothing to do. open() prints errors and
	 * returns 0 or -errno. */
	int (*open)(struct cluster_run *r);
	void (*finish)(struct cluster_run *r);
};

struct cluster_run {
	const struct cluster_view *view;
	int view_fd;			/* its input begins a turn of the main loop; -1: none */
	struct cluster_live *live;	/* NULL: the command is another one than live */
	struct cluster_settings settings;
	struct cluster c;
	struct cluster_link *links;
	char **nodes;			/* names, NULL-terminated */
	const char *out;		/* the result */
	char *nodes_dir;		/* recordings of the nodes; NULL: not made */
	const char *launcher, *remote_path;
	bool keep, json, quiet;
	pid_t command;			/* the command that runs here; 0: none */
	bool no_linger;			/* do not wait for nodes to remove what they made */
	bool from_terminal;		/* the last signal came from the terminal */
	bool command_done;		/* it has ended */
	int command_status;		/* its wait status */
	int signals;			/* signalfd */
	int rows;			/* rows of the display that are on the screen */
	__s64 shown_ns;
	bool screen;			/* the terminal's alternate screen shows all */
	bool merged, parts_missing;
};

/* ---- commands ------------------------------------------------------------------ */

/* The arguments of each, as its help shows them */
#define CLUSTER_RECORD_FORM \
	"record -o OUT --on NODE,... [RECORD-OPTION]... [-- CMD [ARGUMENT]...]"
#define CLUSTER_LIVE_FORM \
	"live --on NODE,... [-o OUT] [RECORD-OPTION]... [-- CMD [ARGUMENT]...]"
#define CLUSTER_TOP_FORM	"top --on NODE,..."

int cluster_live(int argc, char **argv);
int cluster_top(int argc, char **argv);

/* Runs on each node, started by a launcher; the connection is standard input and
 * output. */
int cluster_node(void);

/* ---- options, recording: cluster_record.c -------------------------------------- */

/* Options that name nodes and start trace-ctl there, as an argp child; the input is a
 * struct cluster_run. CLUSTER_KEYS: first key of other options */
extern const struct argp cluster_nodes_argp;
#define CLUSTER_KEYS	300

/* Options of record; those of the recorders that live refuses */
extern const struct argp cluster_record_argp, cluster_refused_live_argp;

/* Records; @r has its view, and what `live` needs. Returns an exit status. */
int cluster_record(int argc, char **argv, struct cluster_run *r);

/* ---- connections: cluster_run.c ----------------------------------------------- */

/* Begins a run after the options were parsed: signals become input, and the limit of open
 * files is raised. Returns 0 or -errno; cluster_run_close() is called in any case. */
int cluster_run_open(struct cluster_run *r);
void cluster_run_close(struct cluster_run *r);

/* Runs the launchers, and all until each recording is here or its node has failed.
 * Prints errors. Returns 0 or -errno. */
int cluster_run_nodes(struct cluster_run *r);

/* Waits for the end of a child. Returns false if a signal came before, which is to end it. */
bool cluster_await(struct cluster_run *r, pid_t pid, int *ret_status);

/* ---- output: cluster_show.c ---------------------------------------------- */

/* Returns what is missing of a node that has failed, and where it may be, malloc'ed;
 * NULL: no memory. */
char *cluster_gap_text(const struct cluster *c, const struct cluster_node *n);

/* Prints "trace-ctl cluster: TEXT", with control characters escaped. @node: NULL, or
 * the name of the node that the text is about. Erases the display before. */
__attribute__((format(printf, 3, 4)))
void cluster_print(struct cluster_run *r, const char *node, const char *format, ...);

/* Prints the output of a node, in lines with its name. */
void cluster_show_output(struct cluster_run *r, unsigned int i, int stream,
			 const char *data, size_t len);

/* Updates the display of all nodes, if there is a terminal. */
void cluster_show_nodes(struct cluster_run *r, __s64 now_ns);
void cluster_show_clear(struct cluster_run *r);

/* Prints the summary, as text or JSON. Returns EXIT_DONE or EXIT_FAILED. */
int cluster_show_summary(struct cluster_run *r);

/* ---- the table of top, as computation without I/O: top_table.c ------------------- */

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


#endif /* TSCT_TOOLS_CLUSTER_RUN_H */
