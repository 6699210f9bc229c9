// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "json_value.h"
#include "utf8.h"

json_t *tsct_json_text(const char *text, size_t len)
{
	json_t *json = json_stringn(text, len);
	char *clean;

	if (json)
		return json;
	clean = malloc(3 * len + 1);
	if (!clean)
		return NULL;
	json = json_stringn(clean, tsct_utf8_clean(clean, text, len));
	free(clean);
	return json;
}

static json_t *integer(const struct tsct_value *v, __s64 exact)
{
	const char *name = tsct_value_syscall(v);
	__s64 value = tsct_value_integer(v);

	if (name)
		return json_string(name);
	if (tsct_value_exceeds_s64(v))
		return json_sprintf("%" PRIu64, (uint64_t)value);
	if (exact && (value > exact || value < -exact))
		return json_sprintf("%" PRId64, (int64_t)value);
	return json_integer(value);
}

static json_t *real(double value)
{
	if (isfinite(value))
		return json_real(value);
	return json_string(isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
}

static json_t *bytes(const struct tsct_value *v)
{
	char *hex = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&hex, &len);
	json_t *json;

	if (!to)
		return NULL;
	tsct_value_print_bytes(to, v);
	json = fclose(to) ? NULL : json_stringn(hex, len);
	free(hex);
	return json;
}

json_t *tsct_json_value(const struct tsct_value *v, __s64 exact)
{
	if (tsct_value_is_integer(v))
		return integer(v, exact);
	if (tsct_value_is_float(v))
		return real(tsct_value_double(v));
	if (tsct_value_is_text(v))
		return tsct_json_text((const char *)v->at,
				      tsct_value_text_len(v));
	return bytes(v);
}
