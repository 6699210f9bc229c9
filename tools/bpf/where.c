// SPDX-License-Identifier: MIT
/* Reads conditions on fields, and applies them to definitions of events */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/event_def.h"
#include "lib/syscalls/syscalls.h"
#include "tools/bpf/bpf_errors.h"
#include "tools/common/near_name.h"
#include "where.h"

/* ---- text -------------------------------------------------------------------- */

/* Operators, tried from the last to the first, so that "<=" is found before "<". */
static const char *const ops[] = {
	[WHERE_EQUAL] = "==", [WHERE_NOT_EQUAL] = "!=", [WHERE_LESS] = "<",
	[WHERE_LESS_EQUAL] = "<=", [WHERE_GREATER] = ">", [WHERE_GREATER_EQUAL] = ">=",
	[WHERE_BITS] = "&",
};
#define NR_OPS	(sizeof(ops) / sizeof(*ops))

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\n");
}

static int fail_syntax(const char *at)
{
	return bpf_errors_fail(-EINVAL, "'%s': not a condition; use [EVENT:]FIELD OP VALUE, joined"
		 " by &&, or, on one field, by ||, with == != < <= > >= or & (bits): 'ret < 0', "
		 "'sys_openat:flags & O_CREAT'", at);
}

/* Reads [EVENT:]FIELD into @where. Returns false if the text is malformed. */
static bool read_names(const char *text, size_t len, struct where *where)
{
	const char *colon = memrchr(text, ':', len), *field = colon ? colon + 1 : text;
	const size_t event_len = colon ? (size_t)(colon - text) : 0;
	const size_t field_len = len - (size_t)(field - text);

	if (!field_len || field_len >= sizeof(where->field) ||
	    event_len >= sizeof(where->event) || (colon && !event_len))
		return false;
	memcpy(where->event, text, event_len);
	memcpy(where->field, field, field_len);
	return where->field[strspn(where->field, "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

/* Returns the errno value of a name such as "ENOENT"; 0: no such name. */
static int find_error(const char *name)
{
	const char *known;
	int i;

	for (i = 1; *name == 'E' && i < 4096; i++) {
		known = strerrorname_np(i);
		if (known && !strcmp(name, known))
			return i;
	}
	return 0;
}

/* Reads names of constants, "O_CREAT|O_EXCL". Returns false if a name is unknown. */
static bool read_constants(const char *text, uint64_t *ret_number)
{
	__u64 value;
	size_t len;

	*ret_number = 0;
	for (;; text += len + 1) {
		len = strcspn(text, "|");
		if (!tsct_syscall_constant || !tsct_syscall_constant(text, len, &value))
			return false;
		*ret_number |= value;
		if (!text[len])
			return true;
	}
}

static void read_number(struct where *where)
{
	const char *digits = where->text + (*where->text == '-');
	const int error = find_error(digits);
	char *end = where->text;

	where->is_number = read_constants(where->text, &where->number);
	if (where->is_number)
		return;
	where->is_negative = *where->text == '-';
	errno = 0;
	where->number = error ? (uint64_t)error : strtoull(digits, &end, 0);
	where->is_number = error || (isdigit((unsigned char)*digits) && !*end && !errno);
	if (where->is_negative && where->number > 1ULL << 63)
		where->is_number = false;
	if (where->is_negative)
		where->number = -where->number;
	where->is_negative &= where->number != 0;
}

/* Reads a value into @where. Returns the end of the value, or NULL if the value is malformed. */
static const char *read_value(const char *at, struct where *where)
{
	const bool quoted = *at == '"';
	const char *from = at + quoted;
	const char *or = quoted ? NULL : strstr(from, "||");
	size_t len = strcspn(from, quoted ? "\"" : " \t\n&\"");

	if (or && (size_t)(or - from) < len)
		len = (size_t)(or - from);
	if ((!len && !quoted) || len >= sizeof(where->text) ||
	    (quoted ? from[len] != '"' : from[len] == '"'))
		return NULL;
	memcpy(where->text, from, len);
	if (!quoted)
		read_number(where);
	return from + len + quoted;
}

static const char *read_condition(const char *at, struct where *where)
{
	const char *op;
	size_t i;

	memset(where, 0, sizeof(*where));
	at = skip_blanks(at);
	op = skip_blanks(at + strcspn(at, " \t\n=!<>&"));
	if (!read_names(at, strcspn(at, " \t\n=!<>&"), where))
		return NULL;
	for (i = NR_OPS; i && strncmp(op, ops[i - 1], strlen(ops[i - 1])); i--)
		;
	if (!i || !strncmp(op, "&&", 2))
		return NULL;
	where->op = (enum where_op)(i - 1);
	at = read_value(skip_blanks(op + strlen(ops[i - 1])), where);
	return at ? skip_blanks(at) : NULL;
}

static bool is_same_field(const struct where *a, const struct where *b)
{
	return !strcmp(a->event, b->event) && !strcmp(a->field, b->field);
}

int where_parse(const char *text, struct where_list *list)
{
	const char *at = text, *end, *joint = NULL;
	struct where *where;

	for (;;) {
		if (list->nr == WHERE_MAX) {
			return bpf_errors_fail(-EINVAL, "'%s': more than %d conditions", at,
					       WHERE_MAX);
		}
		where = &list->where[list->nr];
		end = read_condition(at, where);
		if (!end || (*end && strncmp(end, "&&", 2) && strncmp(end, "||", 2)))
			return fail_syntax(at);
		if ((joint && *end && *joint != *end) ||
		    (joint && *joint == '|' && !is_same_field(&where[-1], where))) {
			return bpf_errors_fail(-EINVAL, "'%s': || joins conditions on one field;"
				 " give --where several times for conditions that must all hold",
				 text);
		}
		list->nr++;
		where->or_next = *end == '|';
		if (!*end)
			return 0;
		joint = end;
		at = skip_blanks(end + 2);
	}
}

/* ---- events ------------------------------------------------------------------ */

static bool is_event(const struct where *where, const char *system, const char *name)
{
	char full[TSCT_EVENT_NAME_MAX + 64];

	snprintf(full, sizeof(full), "%s:%s", system, name);
	return !*where->event || !fnmatch(where->event, name, 0) ||
		(*system && !fnmatch(where->event, full, 0));
}

/* Returns true if a name is in a list of names that are separated by ", ". */
static bool is_listed(const char *list, const char *name)
{
	const size_t len = strlen(name);

	for (; *list; list += strcspn(list, " "), list += *list == ' ')
		if (!strncmp(list, name, len) && (!list[len] || list[len] == ','))
			return true;
	return false;
}

/* Stores, for the error message, the field names of an event that lacks the condition's field. */
static void note_fields(struct where *where, const struct tsct_event_def *def)
{
	const size_t room = sizeof(where->fields) - sizeof(", ...");
	const char *name;
	unsigned int i;
	size_t used;

	for (i = 0; i < def->nr_fields; i++) {
		name = def->fields[i].name;
		if (near_name(where->field, name))
			memcpy(where->near, name, sizeof(where->near));
		used = strlen(where->fields);
		if (is_listed(where->fields, name) || is_listed(where->fields, "..."))
			continue;
		snprintf(where->fields + used, sizeof(where->fields) - used, "%s%s",
			 used ? ", " : "", used + strlen(name) + 2 < room ? name : "...");
	}
}

/* Returns true if an integer field of @size bytes can have the value or, for &, all its bits. */
static bool fits_field(const struct where *where, unsigned int size, bool is_signed)
{
	const uint64_t most = UINT64_MAX >> (64 - 8 * size);

	if (where->op == WHERE_BITS)
		return where->is_negative ? is_signed : where->number <= most;
	if (where->is_negative)
		return is_signed && -where->number <= most / 2 + 1;
	return where->number <= (is_signed ? most / 2 : most);
}

static int fail_type(const struct where *where, const struct tsct_event_def *def,
		     const char *type, const char *reason)
{
	return bpf_errors_fail(-EINVAL, "%s:%s %s %s: the field is %s%s", def->name, where->field,
		 ops[where->op], where->text, type, reason);
}

static int apply_number(const struct where *where, const struct tsct_event_def *def,
			const struct tsct_field *field, struct where_condition *c)
{
	const struct tsct_field_type *type = &tsct_field_types[field->type];

	c->size = type->size;
	c->is_signed = field->type >= TSCT_TYPE_S8;
	if (!where->is_number)
		return fail_type(where, def, type->name, tsct_syscall_constant ?
				 ", an integer, but the value is a text" : ", an integer, but the "
				 "value is a text; for names of constants, "
				 TSCT_WING_MISSING("strace"));
	/* With several events, do not check: the field may be wider in another event. */
	if (*where->event && !strpbrk(where->event, "*?[") &&
	    !fits_field(where, type->size, c->is_signed))
		return fail_type(where, def, type->name, ", which cannot have this value");
	return 1;
}

static int apply_text(const struct where *where, const struct tsct_event_def *def,
		      const struct tsct_field *field, struct where_condition *c)
{
	if (where->op != WHERE_EQUAL && where->op != WHERE_NOT_EQUAL)
		return fail_type(where, def, "text", "; use == or !=");
	if (field->type != TSCT_TYPE_CHARS || c->len <= field->count)
		return 1;
	/* A text that is as long as its field is recorded without a NUL. */
	if (c->text[c->len - 1] || c->len - 1 > field->count)
		return fail_type(where, def, "text", ", and shorter than the value");
	c->len = (u8)field->count;
	return 1;
}

void where_value(const struct where *where, struct where_condition *c)
{
	const size_t len = strlen(where->text);
	const bool is_prefix = len && where->text[len - 1] == '*';

	*c = (struct where_condition) {
		.op = (u8)where->op, .value = where->number, .negative = where->is_negative,
		.or_next = where->or_next,
		/* The comparison includes the NUL, unless @where is a prefix. */
		.len = (u8)(is_prefix ? len - 1 : len + 1),
	};
	memcpy(c->text, where->text, is_prefix ? len - 1 : len);
}

int where_apply(struct where *where, const char *system, const struct tsct_event_def *def,
		struct where_condition *c)
{
	const struct tsct_field *field = NULL;
	unsigned int offset = 0, i;
	int ret;

	if (!is_event(where, system, def->name))
		return 0;
	where->is_event_known = true;
	for (i = 0; i < def->nr_fields; i++) {
		field = &def->fields[i];
		if (!strcmp(field->name, where->field))
			break;
		offset += tsct_field_types[field->type].size + field->count;
	}
	if (i == def->nr_fields) {
		note_fields(where, def);
		return 0;
	}
	where_value(where, c);
	c->field = (u16)i;
	c->offset = (u16)offset;
	if (field->type <= TSCT_TYPE_S64)
		ret = apply_number(where, def, field, c);
	else if (field->type == TSCT_TYPE_STRING || field->type == TSCT_TYPE_CHARS)
		ret = apply_text(where, def, field, c);
	else
		ret = fail_type(where, def, tsct_field_types[field->type].name,
				", which cannot be compared");
	where->is_used |= ret > 0;
	return ret;
}

int where_apply_all(struct where_list *list, const char *system,
		    const struct tsct_event_def *def, struct where_condition *conditions)
{
	int nr = 0, ret;
	unsigned int i;

	for (i = 0; i < list->nr; i++) {
		ret = where_apply(&list->where[i], system, def, &conditions[nr]);
		if (ret < 0)
			return ret;
		nr += ret;
	}
	return nr;
}

int where_check_used(const struct where_list *list)
{
	const struct where *where;

	for (where = list->where; where < list->where + list->nr; where++) {
		if (where->is_used)
			continue;
		if (!where->is_event_known)
			return bpf_errors_fail(-EINVAL, "%s:%s: no event of -e is named '%s'",
					       where->event, where->field, where->event);
		return bpf_errors_fail(-EINVAL, "%s%s%s: %s no such field%s%s%s%s%s",
				 where->event, *where->event ? ":" : "", where->field,
				 *where->event ? "there is" : "the events of -e have",
				 *where->fields ? "; there are " : "", where->fields,
				 *where->near ? "; did you mean '" : "", where->near,
				 *where->near ? "'?" : "");
	}
	return 0;
}

/* ---- rate limit -------------------------------------------------------------- */

int where_rate(const char *text, uint64_t *ret_ns, uint64_t *ret_early_ns)
{
	const unsigned long rate = strtoul(text, NULL, 10);
	const char *end = text + strspn(text, "0123456789");

	if (end == text || (*end && strcmp(end, "/s")) || !rate || rate > WHERE_RATE_MAX)
		return -EINVAL;
	/* Round up, so that the average is at most `rate`. */
	*ret_ns = (1000000000 + rate - 1) / rate;
	*ret_early_ns = rate >= 20 ? (rate / 10 - 1) * *ret_ns : 0;
	return 0;
}
