// SPDX-License-Identifier: MIT
/*
 * The `env` block of our own metadata, read back. Strict: what record_meta.c
 * would not write is damage, and is named with its line. Keys that we do not
 * know are left alone, so that later versions may add some.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "core/def.h"
#include "core/scale.h"
#include "ctf.h"
#include "recording.h"

struct parser {
	const char *at;		/* the line being read */
	unsigned int line;
	struct tsct_recording *rec;
	char *why;
	size_t why_size;
	bool ours, format;	/* tracer_name and tsctrace_format were seen */
};

/* One line: key = "value"; or key = 123; */
struct entry {
	char key[64];
	char *value;		/* unescaped; numbers as they are */
	bool is_string;
};

__attribute__((format(printf, 2, 3)))
static int bad(struct parser *p, const char *format, ...)
{
	char what[160];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(p->why, p->why_size, "metadata, line %u: %s", p->line, what);
	return -EINVAL;
}

static bool parse_u64(const char **at, __u64 *ret_number)
{
	__u64 n = 0;
	const char *c = *at;

	if (*c < '0' || *c > '9')
		return false;
	for (; *c >= '0' && *c <= '9'; c++) {
		if (n > (UINT64_MAX - (*c - '0')) / 10)
			return false;
		n = n * 10 + (*c - '0');
	}
	*at = c;
	*ret_number = n;
	return true;
}

static bool whole_u64(const char *text, __u64 max, __u64 *ret_number)
{
	return parse_u64(&text, ret_number) && !*text && *ret_number <= max;
}

/* "key=" and a number; one space before it unless it is the first. */
static bool item_u64(const char **at, const char *key, __u64 max,
		     __u64 *ret_number)
{
	size_t len = strlen(key);
	const char *c = *at;

	if (*c == ' ')
		c++;
	if (strncmp(c, key, len) || c[len] != '=')
		return false;
	c += len + 1;
	if (!parse_u64(&c, ret_number) || *ret_number > max)
		return false;
	*at = c;
	return true;
}

static bool item_u32(const char **at, const char *key, __u32 max,
		     __u32 *ret_number)
{
	__u64 n;

	if (!item_u64(at, key, max, &n))
		return false;
	*ret_number = n;
	return true;
}

static bool item_s64(const char **at, const char *key, __s64 *ret_number)
{
	size_t len = strlen(key);
	const char *c = *at;
	bool minus;
	__u64 n;

	if (*c == ' ')
		c++;
	if (strncmp(c, key, len) || c[len] != '=')
		return false;
	c += len + 1;
	minus = *c == '-';
	c += minus;
	if (!parse_u64(&c, &n) || n > (__u64)INT64_MAX + minus)
		return false;
	*ret_number = minus ? -n : n;
	*at = c;
	return true;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_uuid(const char *text, __u8 uuid[16])
{
	int i, high, low;

	for (i = 0; i < 16; i++) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return false;
		high = hex(text[0]);
		low = high < 0 ? -1 : hex(text[1]);
		if (low < 0)
			return false;
		uuid[i] = high << 4 | low;
		text += 2;
	}
	return !*text;
}

/* ---- what the keys mean ------------------------------------------------ */

static int set_text(char **field, struct entry *e)
{
	free(*field);
	*field = e->value;
	e->value = NULL;
	return 0;
}

static int set_pair(struct parser *p, const char *at)
{
	struct tsct_pair *real = &p->rec->real;

	if (!item_u64(&at, "base_tsc", UINT64_MAX, &real->base_tsc) ||
	    !item_s64(&at, "base_ns", &real->base_ns) ||
	    !item_u64(&at, "mult", UINT64_MAX, &real->mult) ||
	    !item_s64(&at, "slew_mult", &real->slew_mult) ||
	    !item_u64(&at, "slew_end_tsc", UINT64_MAX, &real->slew_end_tsc) ||
	    !item_u64(&at, "as_of_tsc", UINT64_MAX, &real->as_of_tsc) ||
	    !item_u64(&at, "void_after_tsc", UINT64_MAX,
		      &real->void_after_tsc) ||
	    !item_u64(&at, "base_error_ps", UINT64_MAX,
		      &real->base_error_ps) ||
	    !item_u32(&at, "growth_ppb", UINT32_MAX, &real->growth_ppb) ||
	    !item_u32(&at, "shift", 63, &real->shift) || *at)
		return bad(p, "clock_real: malformed");
	return 0;
}

static int set_clock_state(struct parser *p, const char *at)
{
	struct tsct_recording *rec = p->rec;

	if (!item_u32(&at, "status", TSCT_STATUS_NR - 1, &rec->status) ||
	    !item_u32(&at, "epoch_first", UINT32_MAX, &rec->epoch_first) ||
	    !item_u32(&at, "epoch", UINT32_MAX, &rec->epoch) ||
	    !item_u32(&at, "rate_error_ppb", UINT32_MAX,
		      &rec->rate_error_ppb) || *at)
		return bad(p, "clock_state: malformed");
	return 0;
}

static int set_span(struct parser *p, const char *at)
{
	struct tsct_recording *rec = p->rec;

	if (!item_u64(&at, "begin", UINT64_MAX, &rec->begin) ||
	    !item_u64(&at, "end", UINT64_MAX, &rec->end) || *at ||
	    rec->end < rec->begin)
		return bad(p, "span: malformed");
	return 0;
}

static int set_source(struct parser *p, const char *value)
{
	__u32 i;

	for (i = 0; i < TSCT_SOURCE_NR; i++) {
		if (strcmp(value, tsct_ctf_sources[i]))
			continue;
		p->rec->source = i;
		return 0;
	}
	return bad(p, "source: '%.40s' is not a clock", value);
}

static int set_number(struct parser *p, const struct entry *e)
{
	struct tsct_recording *rec = p->rec;
	__u64 n;

	if (!strcmp(e->key, "tsctrace_format")) {
		if (!whole_u64(e->value, 1, &n) || n != 1)
			return bad(p, "format %.20s is newer than this program",
				   e->value);
		p->format = true;
	} else if (!strcmp(e->key, "complete")) {
		if (!whole_u64(e->value, 1, &n))
			return bad(p, "complete: 0 or 1 expected");
		rec->complete = n;
	} else if (!strcmp(e->key, "nr_cpus")) {
		if (!whole_u64(e->value, TSCT_CPUS_MAX, &n) || !n ||
		    rec->nr_streams)
			return bad(p, "nr_cpus: 1 to %u expected, once",
				   TSCT_CPUS_MAX);
		rec->nr_cpus = n;
	}
	return 0;
}

static bool name_fits(const char *name, size_t len)
{
	size_t i;

	if (!len || len >= TSCT_NAME_MAX || *name == '.')
		return false;
	for (i = 0; i < len; i++)
		if (!(name[i] >= 'a' && name[i] <= 'z') &&
		    !(name[i] >= 'A' && name[i] <= 'Z') &&
		    !(name[i] >= '0' && name[i] <= '9') &&
		    !strchr("_.-", name[i]))
			return false;
	return true;
}

static int set_stream(struct parser *p, const char *key, const char *at)
{
	struct tsct_recording *rec = p->rec;
	char name[TSCT_NAME_MAX] = "";
	struct tsct_stream_class *s;
	size_t len;
	__u64 index;
	int ret;

	if (!whole_u64(key, UINT32_MAX, &index) || index != rec->nr_streams ||
	    !rec->nr_cpus)
		return bad(p, "stream_%.20s: out of order", key);
	if (strncmp(at, "name=", 5))
		return bad(p, "stream_%s: malformed", key);
	at += 5;
	len = strcspn(at, " ");
	if (!name_fits(at, len))
		return bad(p, "stream_%s: not a channel's name", key);
	memcpy(name, at, len);
	at += len;
	ret = tsct_recording_add_stream(rec, name);
	if (ret < 0)
		return bad(p, "stream_%s: %s", key, strerror(-ret));
	s = &rec->streams[ret];
	if (!item_u32(&at, "policy", TSCT_POLICY_OVERWRITE, &s->policy) ||
	    !item_u32(&at, "kernel", 1, &s->kernel) ||
	    !item_u64(&at, "lost_no_ring", UINT64_MAX, &s->lost_no_ring) ||
	    *at)
		return bad(p, "stream_%s: malformed", key);
	return 0;
}

/* "_<stream>_<number>": the tail of an event's or a loss's key */
static bool parse_tail(struct parser *p, const char *tail, __u64 *ret_stream,
		       __u64 *ret_number)
{
	return parse_u64(&tail, ret_stream) && *tail++ == '_' &&
		parse_u64(&tail, ret_number) && !*tail &&
		*ret_stream < p->rec->nr_streams;
}

static int kind_of(const char *name, size_t len)
{
	int i;

	for (i = 0; i < TSCT_KIND_NR; i++)
		if (strlen(tsct_kind_names[i]) == len &&
		    !memcmp(tsct_kind_names[i], name, len))
			return i;
	return -EINVAL;
}

/* "kind name field:type,field:type" */
static int set_event(struct parser *p, const char *tail, const char *value)
{
	size_t kind_len = strcspn(value, " "), name_len;
	struct tsct_event_def def;
	char name[TSCT_EVENT_NAME_MAX] = "";
	int kind = kind_of(value, kind_len), err;
	__u64 stream, id;

	if (!parse_tail(p, tail, &stream, &id) || id < TSCT_ID_FIRST ||
	    id > TSCT_ID_MAX)
		return bad(p, "event_%.20s: no such stream or id", tail);
	if (kind < 0 || value[kind_len] != ' ')
		return bad(p, "event_%s: malformed", tail);
	value += kind_len + 1;
	name_len = strcspn(value, " ");
	if (name_len >= sizeof(name) || value[name_len] != ' ')
		return bad(p, "event_%s: malformed", tail);
	memcpy(name, value, name_len);
	if (tsct_def_parse(name, kind, value + name_len + 1, &def, NULL))
		return bad(p, "event_%s: not a definition", tail);
	def.id = id;
	err = tsct_recording_add_def(p->rec, stream, &def);
	if (err)
		return bad(p, "event_%s: %s", tail, strerror(-err));
	return 0;
}

static int set_loss(struct parser *p, const char *tail, const char *value)
{
	struct tsct_loss *loss;
	__u64 stream, cpu;
	int i;

	if (!parse_tail(p, tail, &stream, &cpu) || cpu >= p->rec->nr_cpus)
		return bad(p, "lost_%.20s: no such stream or CPU", tail);
	loss = &p->rec->streams[stream].loss[cpu];
	for (i = 0; i < TSCT_CAUSE_NR; i++)
		item_u64(&value, tsct_cause_names[i], UINT64_MAX / 65536,
			 &loss->cause[i]);
	return *value ? bad(p, "lost_%s: malformed", tail) : 0;
}

static int set_string(struct parser *p, struct entry *e)
{
	struct tsct_recording *rec = p->rec;
	const char *key = e->key;

	if (!strcmp(key, "tracer_name"))
		p->ours = !strcmp(e->value, "tsctrace");
	else if (!strcmp(key, "hostname"))
		return set_text(&rec->host, e);
	else if (!strcmp(key, "kernel_release"))
		return set_text(&rec->kernel, e);
	else if (!strcmp(key, "command"))
		return set_text(&rec->command, e);
	else if (!strcmp(key, "provider"))
		return set_text(&rec->provider, e);
	else if (!strcmp(key, "clock_origin"))
		return set_text(&rec->clock_origin, e);
	else if (!strcmp(key, "trace_uuid") && !parse_uuid(e->value, rec->uuid))
		return bad(p, "trace_uuid: malformed");
	else if (!strcmp(key, "boot_id") && !parse_uuid(e->value, rec->boot_id))
		return bad(p, "boot_id: malformed");
	else if (!strcmp(key, "source"))
		return set_source(p, e->value);
	else if (!strcmp(key, "span"))
		return set_span(p, e->value);
	else if (!strcmp(key, "clock_state"))
		return set_clock_state(p, e->value);
	else if (!strcmp(key, "clock_real"))
		return set_pair(p, e->value);
	else if (!strncmp(key, "stream_", 7))
		return set_stream(p, key + 7, e->value);
	else if (!strncmp(key, "event_", 6))
		return set_event(p, key + 6, e->value);
	else if (!strncmp(key, "lost_", 5))
		return set_loss(p, key + 5, e->value);
	return 0;
}

/* ---- lines ------------------------------------------------------------- */

static int octal(const char **at)
{
	const char *c = *at;
	int i, n = 0;

	for (i = 0; i < 3; i++) {
		if (c[i] < '0' || c[i] > '7')
			return -1;
		n = n * 8 + c[i] - '0';
	}
	*at += 3;
	return n > 0 && n < 256 ? n : -1;
}

/* Reads a string up to its quote into @to, which has room for the line. */
static bool unescape(const char **at, char *to)
{
	const char *c = *at;
	int n;

	while (*c != '"') {
		if (*c == '\n' || !*c)
			return false;
		if (*c != '\\') {
			*to++ = *c++;
			continue;
		}
		c++;
		if (*c == '"' || *c == '\\') {
			*to++ = *c++;
			continue;
		}
		n = octal(&c);
		if (n < 0)
			return false;
		*to++ = n;
	}
	*to = '\0';
	*at = c + 1;
	return true;
}

static int parse_entry(struct parser *p, struct entry *e)
{
	size_t line_len = strcspn(p->at, "\n"), len;
	const char *c = p->at;

	if (*c++ != '\t')
		return bad(p, "malformed");
	len = strcspn(c, " \n");
	if (!len || len >= sizeof(e->key) || strncmp(c + len, " = ", 3))
		return bad(p, "malformed");
	memcpy(e->key, c, len);
	e->key[len] = '\0';
	c += len + 3;
	e->value = calloc(1, line_len + 1);
	if (!e->value)
		return -ENOMEM;
	e->is_string = *c == '"';
	if (e->is_string) {
		c++;
		if (!unescape(&c, e->value))
			return bad(p, "%s: malformed text", e->key);
	} else {
		len = strcspn(c, ";\n");
		memcpy(e->value, c, len);
		c += len;
	}
	if (strncmp(c, ";\n", 2))
		return bad(p, "%s: malformed", e->key);
	p->at = c + 2;
	return 0;
}

static int parse_line(struct parser *p)
{
	struct entry e = { .value = NULL };
	int err;

	err = parse_entry(p, &e);
	if (!err)
		err = e.is_string ? set_string(p, &e) : set_number(p, &e);
	free(e.value);
	p->line++;
	return err;
}

static int not_ours(struct parser *p)
{
	snprintf(p->why, p->why_size,
		 "not a tsctrace recording; it is another tracer's");
	return -ENOMSG;
}

static int check_whole(struct parser *p)
{
	struct tsct_recording *rec = p->rec;

	if (!p->ours || !p->format)
		return not_ours(p);
	if (!rec->nr_cpus || !rec->host || !rec->kernel || !rec->command ||
	    !rec->provider || !rec->clock_origin)
		return bad(p, "the environment ends too early");
	if (!rec->real.mult || tsct_pair_check(&rec->real, rec->source))
		return bad(p, "clock_real: cannot be true");
	return 0;
}

int tsct_meta_parse(const char *text, size_t len, struct tsct_recording *rec,
		    char *why, size_t why_size)
{
	struct parser p = { .at = text, .line = 1, .rec = rec, .why = why,
			    .why_size = why_size };
	const char *env;
	int err;

	memset(rec, 0, sizeof(*rec));
	if (strncmp(text, "/* CTF 1.8 */", 13)) {
		snprintf(why, why_size, "not a tsctrace recording;"
			 " its metadata is no CTF 1.8 text");
		return -ENOMSG;
	}
	if (strlen(text) != len)
		return bad(&p, "there are NULs in it");
	env = strstr(text, "\nenv {\n");
	if (!env)
		return check_whole(&p);
	for (p.at = env + 7; text < p.at; text++)
		p.line += *text == '\n';
	while (strncmp(p.at, "};", 2)) {
		err = parse_line(&p);
		if (err)
			return p.ours ? err : not_ours(&p);
	}
	return check_whole(&p);
}
