// SPDX-License-Identifier: MIT
/* What recordings and exports say in TSDL (CTF 1.8) in the same words. */
#include "ctf_format.h"
#include "tsdl_writer.h"

/* Printable ASCII as it is, all else in octal */
void tsct_tsdl_put_string(FILE *to, const char *text)
{
	const unsigned char *at = (const void *)(text ? text : "");

	putc('"', to);
	for (; *at; at++) {
		if (*at == '"' || *at == '\\')
			fprintf(to, "\\%c", *at);
		else if (*at >= 0x20 && *at < 0x7f)
			putc(*at, to);
		else
			fprintf(to, "\\%03o", *at);
	}
	putc('"', to);
}

void tsct_tsdl_put_text(FILE *to, const char *key, const char *value)
{
	fprintf(to, "\t%s = ", key);
	tsct_tsdl_put_string(to, value);
	fputs(";\n", to);
}

void tsct_tsdl_put_uuid(FILE *to, const __u8 uuid[16])
{
	int i;

	for (i = 0; i < 16; i++)
		fprintf(to, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			uuid[i]);
}

void tsct_tsdl_put_head(FILE *to, const __u8 uuid[16])
{
	fputs("typealias integer { size = 8; align = 8; signed = false; } := u8_t;\n"
	      "typealias integer { size = 16; align = 8; signed = false; } := u16_t;\n"
	      "typealias integer { size = 32; align = 8; signed = false; } := u32_t;\n"
	      "typealias integer { size = 64; align = 8; signed = false; } := u64_t;\n"
	      "typealias integer { size = 8; align = 8; signed = true; } := s8_t;\n"
	      "typealias integer { size = 16; align = 8; signed = true; } := s16_t;\n"
	      "typealias integer { size = 32; align = 8; signed = true; } := s32_t;\n"
	      "typealias integer { size = 64; align = 8; signed = true; } := s64_t;\n"
	      "typealias integer { size = 8; align = 8; signed = false; base = 16; } := u8_x_t;\n"
	      "typealias integer { size = 16; align = 8; signed = false; base = 16; } := u16_x_t;\n"
	      "typealias integer { size = 32; align = 8; signed = false; base = 16; } := u32_x_t;\n"
	      "typealias integer { size = 64; align = 8; signed = false; base = 16; } := u64_x_t;\n"
	      "typealias integer { size = 8; align = 8; signed = true; base = 16; } := s8_x_t;\n"
	      "typealias integer { size = 16; align = 8; signed = true; base = 16; } := s16_x_t;\n"
	      "typealias integer { size = 32; align = 8; signed = true; base = 16; } := s32_x_t;\n"
	      "typealias integer { size = 64; align = 8; signed = true; base = 16; } := s64_x_t;\n"
	      "typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char_t;\n"
	      "typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32_t;\n"
	      "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64_t;\n\n"
	      "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", to);
	tsct_tsdl_put_uuid(to, uuid);
	fputs("\";\n\tbyte_order = le;\n\tpacket.header := struct {\n"
	      "\t\tu32_t magic;\n\t\tu8_t uuid[16];\n\t\tu32_t stream_id;\n"
	      "\t};\n};\n\n", to);
}

static const char *bare(const char *name)
{
	return name + strspn(name, "_");
}

/* Is one of them called like that, but for leading underscores? */
static bool is_like_one(const struct tsct_event_def *def, const char *name)
{
	__u32 i;

	for (i = 0; i < def->nr_fields; i++)
		if (!strcmp(bare(def->fields[i].name), bare(name)))
			return true;
	return false;
}

/*
 * Readers drop one leading underscore of a field's name; with it, names may
 * be TSDL's own words. babeltrace2 2.0 then takes "_x" beside "x" for the same
 * name, so such a one gets its place in the event as a suffix, or the first number
 * after it, in steps of TSCT_FIELDS_MAX, that makes it like no other one.
 */
static void name_field(const struct tsct_event_def *def, __u32 at,
		       char *to, size_t room)
{
	const char *name = def->fields[at].name;
	bool beside = false;
	__u32 i;

	for (i = 0; *name == '_' && i < def->nr_fields; i++)
		beside |= !strcmp(def->fields[i].name, name + 1);
	snprintf(to, room, "_%s", name);
	for (i = at; beside && is_like_one(def, to); i += TSCT_FIELDS_MAX)
		snprintf(to, room, "_%s_%u", name, i);
}

static void put_field(FILE *to, const struct tsct_event_def *def, __u32 at)
{
	const struct tsct_field *f = &def->fields[at];
	char name[TSCT_FIELD_NAME_MAX + 8];
	const char *type = tsct_ctf_types[f->type].name;

	name_field(def, at, name, sizeof(name));
	if (f->type == TSCT_TYPE_STRING)
		fprintf(to, "\t\tstring %s;\n", name);
	else if (f->type == TSCT_TYPE_BYTES)
		fprintf(to, "\t\tu8_x_t %s[%u];\n", name, f->count);
	else if (f->type == TSCT_TYPE_CHARS)
		fprintf(to, "\t\tchar_t %s[%u];\n", name, f->count);
	else if (tsct_ctf_is_syscall(f))
		fprintf(to, "\t\tenum syscall_%s %s;\n", type, name);
	else if (f->format == TSCT_FORMAT_HEX)
		fprintf(to, "\t\t%s_x_t %s;\n", type, name);
	else
		fprintf(to, "\t\t%s_t %s;\n", type, name);
}

void tsct_tsdl_put_event_as(FILE *to, const struct tsct_event_def *def, __u32 stream,
			__u32 id, const char *context)
{
	__u32 f;

	fprintf(to, "event {\n\tname = \"%s\";\n\tid = %u;\n"
		"\tstream_id = %u;\n", def->name, id, stream);
	if (context)
		fprintf(to, "\tcontext := struct {\n\t\t%s;\n\t};\n", context);
	fputs("\tfields := struct {\n", to);
	for (f = 0; f < def->nr_fields; f++)
		put_field(to, def, f);
	fputs("\t};\n};\n\n", to);
}

void tsct_tsdl_put_event(FILE *to, const struct tsct_event_def *def, __u32 stream)
{
	tsct_tsdl_put_event_as(to, def, stream, def->id, NULL);
}
