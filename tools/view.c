// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "core/def.h"
#include "ctf.h"
#include "json.h"
#include "view.h"

/* ---- recordings -------------------------------------------------------- */

static void report(void *arg, const char *sentence)
{
	fflush(stdout);
	fprintf(stderr, "trace-ctl %s: %s\n", (const char *)arg, sentence);
}

int view_open(const char *verb, const char *dir, struct tsct_trace **ret_trace)
{
	char why[256];
	int err = tsct_trace_open(dir, report, (void *)verb, ret_trace, why,
				  sizeof(why));

	if (!err)
		return 0;
	fprintf(stderr, "trace-ctl %s: %s: %s", verb, dir, why);
	if (err == -ENOENT || err == -ENOMSG || err == -ENOTDIR)
		fputs("; name the directory that 'trace-ctl record' made",
		      stderr);
	if (err == -EACCES)
		fputs("; run it as the one who recorded, or as root", stderr);
	fputc('\n', stderr);
	return err;
}

static void say_lost(const char *verb, const struct tsct_recording *rec)
{
	struct tsct_loss loss;
	__u64 no_ring = 0;
	__u32 i;

	tsct_recording_loss(rec, &loss);
	for (i = 0; i < rec->nr_streams; i++)
		no_ring += rec->streams[i].lost_no_ring;
	fprintf(stderr, "trace-ctl %s: %" PRIu64 " events were lost while recording:",
		verb, (uint64_t)(tsct_loss_total(&loss) + no_ring));
	for (i = 0; i < TSCT_LOSS_NR; i++)
		if (loss.cause[i])
			fprintf(stderr, " %s %" PRIu64, tsct_loss_names[i],
				(uint64_t)loss.cause[i]);
	if (no_ring)
		fprintf(stderr, " no_ring %" PRIu64, (uint64_t)no_ring);
	fputc('\n', stderr);
}

int view_missing(const char *verb, const struct tsct_trace *trace)
{
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	__u64 discarded = tsct_trace_discarded(trace);

	fflush(stdout);
	if (!rec->complete) {
		fprintf(stderr, "trace-ctl %s: the recorder was ended before the"
			" recording was; events of its last second may be"
			" missing\n", verb);
		if (discarded)
			fprintf(stderr, "trace-ctl %s: %" PRIu64 " events were lost while recording\n",
				verb, (uint64_t)discarded);
	} else if (tsct_recording_lossy(rec)) {
		say_lost(verb, rec);
	}
	if (rec->provider_gone)
		fprintf(stderr, "trace-ctl %s: tsctraced went away while this was"
			" recorded: programs that started after that are not in"
			" it\n", verb);
	return !rec->complete || rec->provider_gone || discarded ||
		tsct_recording_lossy(rec) || tsct_trace_damage(trace) ? EXIT_LOST : EXIT_DONE;
}

json_t *view_json_loss(const struct tsct_loss *loss)
{
	json_t *json = json_object();
	int i;

	for (i = 0; i < TSCT_LOSS_NR; i++)
		json_object_set_new(json, tsct_loss_names[i],
				    json_integer(loss->cause[i]));
	return json;
}

/* ---- times ------------------------------------------------------------- */

time_t view_second(__s64 ns, __s64 *ret_rest_ns)
{
	time_t second = ns / 1000000000;

	*ret_rest_ns = ns % 1000000000;
	if (*ret_rest_ns < 0) {
		*ret_rest_ns += 1000000000;
		second--;
	}
	return second;
}

/* ---- fields ------------------------------------------------------------ */

bool view_next(const struct tsct_trace_event *event, unsigned int *nr,
	       size_t *pos, struct view_field *ret_field)
{
	if (*nr == event->def->nr_fields)
		return false;
	ret_field->field = &event->def->fields[(*nr)++];
	ret_field->at = event->payload + *pos;
	/* The reader made sure that every field fits. */
	ret_field->size = tsct_def_field_size(ret_field->field, ret_field->at,
					      event->len - *pos);
	*pos += ret_field->size;
	return true;
}

__s64 view_integer(const struct view_field *f)
{
	const struct tsct_ctf_type *type = &tsct_ctf_types[f->field->type];
	unsigned int unused = 64 - 8 * type->size;
	__u64 bits = 0;

	memcpy(&bits, f->at, type->size);
	if (!type->is_signed)
		return bits;
	return (__s64)(bits << unused) >> unused;
}

static double real_of(const struct view_field *f)
{
	double d;
	float s;

	if (f->field->type == TSCT_TYPE_F64) {
		memcpy(&d, f->at, sizeof(d));
		return d;
	}
	memcpy(&s, f->at, sizeof(s));
	return s;
}

static __u64 hex_of(const struct view_field *f)
{
	__u64 bits = 0;

	memcpy(&bits, f->at, f->size);
	return bits;
}

static size_t text_len(const struct view_field *f)
{
	return strnlen((const char *)f->at, f->size);
}

static void print_escaped(FILE *to, const char *text, size_t len,
			  const char *special)
{
	const unsigned char *c = (const void *)text, *end = c + len;
	size_t n;

	for (; c < end; c += n) {
		n = ctl_utf8_len(c, end - c);
		if (!n) {
			fprintf(to, "\\x%02x", *c);
			n = 1;
			continue;
		}
		if (strchr(special, *c))
			putc_unlocked('\\', to);
		fwrite_unlocked(c, 1, n, to);
	}
}

static void print_text(FILE *to, const char *text, size_t len)
{
	putc_unlocked('"', to);
	print_escaped(to, text, len, "\"\\");
	putc_unlocked('"', to);
}

void view_print_plain(FILE *to, const char *text)
{
	print_escaped(to, text, strlen(text), "\\");
}

static void print_bytes(FILE *to, const struct view_field *f)
{
	size_t i;

	for (i = 0; i < f->size; i++)
		fprintf(to, "%02x", f->at[i]);
}

static void print_integer(FILE *to, const struct view_field *f)
{
	const char *name = NULL;
	__s64 value = view_integer(f);

	if (tsct_ctf_is_syscall(f->field))
		name = tsct_syscall_name(value);
	if (name)
		fprintf(to, "%s(%" PRId64 ")", name, (int64_t)value);
	else if (f->field->format == TSCT_FORMAT_HEX)
		fprintf(to, "0x%" PRIx64, (uint64_t)hex_of(f));
	else if (f->field->type == TSCT_TYPE_U64)
		fprintf(to, "%" PRIu64, (uint64_t)value);
	else
		fprintf(to, "%" PRId64, (int64_t)value);
}

void view_print(FILE *to, const struct view_field *f)
{
	switch (f->field->type) {
	case TSCT_TYPE_F32:
		fprintf(to, "%.9g", real_of(f));
		break;
	case TSCT_TYPE_F64:
		fprintf(to, "%.17g", real_of(f));
		break;
	case TSCT_TYPE_STRING:
	case TSCT_TYPE_CHARS:
		print_text(to, (const char *)f->at, text_len(f));
		break;
	case TSCT_TYPE_BYTES:
		print_bytes(to, f);
		break;
	default:
		print_integer(to, f);
	}
}

static json_t *json_bytes(const struct view_field *f)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	json_t *json;

	if (!to)
		return NULL;
	print_bytes(to, f);
	json = fclose(to) ? NULL : json_stringn(text, len);
	free(text);
	return json;
}

/* JSON's numbers end at 2^63 here, and know no infinity: text beyond. */
static json_t *json_integer_field(const struct view_field *f)
{
	__s64 value = view_integer(f);
	const char *name = NULL;

	if (tsct_ctf_is_syscall(f->field))
		name = tsct_syscall_name(value);
	if (name)
		return json_string(name);
	if (f->field->type == TSCT_TYPE_U64 && value < 0)
		return json_sprintf("%" PRIu64, (uint64_t)value);
	return json_integer(value);
}

json_t *view_json(const struct view_field *f)
{
	double real;

	switch (f->field->type) {
	case TSCT_TYPE_F32:
	case TSCT_TYPE_F64:
		real = real_of(f);
		return isfinite(real) ? json_real(real) :
			json_string(isnan(real) ? "nan" : real < 0 ? "-inf" :
				    "inf");
	case TSCT_TYPE_STRING:
	case TSCT_TYPE_CHARS:
		return ctl_json_textn((const char *)f->at, text_len(f));
	case TSCT_TYPE_BYTES:
		return json_bytes(f);
	default:
		return json_integer_field(f);
	}
}
