/* SPDX-License-Identifier: MIT */
/*
 * Lines of the metadata's `env` block, taken apart: one line is
 * <tab>key = "text"; or <tab>key = 123;
 */
#ifndef TSCT_TRACE_TEXT_H
#define TSCT_TRACE_TEXT_H

#include "lib/core/port.h"
#include "recording.h"

struct tsct_tsdl_parser {
	const char *at;		/* the line being read */
	unsigned int line;
	struct tsct_recording *rec;
	char *why;
	size_t why_size;
	bool ours, format;	/* tracer_name and tsctrace_format were seen */
	__u32 node;		/* that the line is of */
	__u32 located;		/* locations seen so far */
};

/* One line: key = "value"; or key = 123; */
struct tsct_tsdl_entry {
	char key[64];
	char *value;		/* unescaped; numbers as they are */
	bool is_string;
};

/* Says what is wrong with the line; returns -EINVAL. */
__attribute__((format(printf, 2, 3)))
int tsct_tsdl_parse_bad(struct tsct_tsdl_parser *p, const char *format, ...);

/* Takes the line apart and goes to the next. 0, -EINVAL or -ENOMEM. */
int tsct_tsdl_entry(struct tsct_tsdl_parser *p, struct tsct_tsdl_entry *e);

/* A number at *at, which moves behind it. */
bool tsct_tsdl_parse_u64(const char **at, __u64 *ret_number);

/* All of @text is a number, at most @max. */
bool tsct_tsdl_parse_whole(const char *text, __u64 max, __u64 *ret_number);

/* "key=" and a number, at most @max; a space may be before it. */
bool tsct_tsdl_parse_item(const char **at, const char *key, __u64 max,
		     __u64 *ret_number);
bool tsct_tsdl_parse_item_u32(const char **at, const char *key, __u32 max,
			 __u32 *ret_number);
bool tsct_tsdl_parse_item_s64(const char **at, const char *key, __s64 *ret_number);

/* Items of a line of the clock's, all of them and no more */
bool tsct_tsdl_parse_pair(const char *at, struct tsct_clock_params *ret_pair);

/* Could a channel have that name? Then a file may. */
bool tsct_tsdl_parse_name(const char *name, size_t len);

/* A word that keys may be made of, as fits' names are */
bool tsct_tsdl_parse_word(const char *text, size_t max);

/* Keys sync_* and clock_cluster; at the end: is all there? 0 or -errno. */
int tsct_tsdl_parse_sync(struct tsct_tsdl_parser *p, const char *key,
		   struct tsct_tsdl_entry *e);
int tsct_tsdl_parse_sync_whole(struct tsct_tsdl_parser *p);

/* Keys of a node; at the end: is all of each there? 0 or -errno. */
int tsct_tsdl_parse_node(struct tsct_tsdl_parser *p, const char *key,
		   struct tsct_tsdl_entry *e);
int tsct_tsdl_parse_node_whole(struct tsct_tsdl_parser *p);

/* Behind cpu_ and clock_line_: a CPU of a node, a line of the clock */
int tsct_tsdl_parse_cpu(struct tsct_tsdl_parser *p, const char *key, const char *at);
int tsct_tsdl_parse_line(struct tsct_tsdl_parser *p, const char *key, const char *at);

/* Keys that only merged recordings have */
int tsct_tsdl_parse_location(struct tsct_tsdl_parser *p, const char *key, const char *at);
int tsct_tsdl_parse_timeline(struct tsct_tsdl_parser *p, const char *at);

/* 8-4-4-4-12 hexadecimal digits, and nothing else */
bool tsct_tsdl_parse_uuid(const char *text, __u8 uuid[16]);

#endif /* TSCT_TRACE_TEXT_H */
