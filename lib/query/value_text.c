// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "lib/ctf/recording.h"
#include "value_text.h"

/* ---- values ------------------------------------------------------------------ */

char *tsct_value_format(char *at, const struct tsct_value *v)
{
	const char *call;
	__u64 bits = 0;
	__s64 value;

	switch (v->field->type) {
	case TSCT_TYPE_F32:
	case TSCT_TYPE_F64:
		return tsct_digits_real(at, tsct_value_double(v),
					v->field->type == TSCT_TYPE_F32);
	case TSCT_TYPE_STRING:
	case TSCT_TYPE_CHARS:
		*at++ = '"';
		at = tsct_text_escape(at, (const char *)v->at, tsct_value_text_len(v),
				       "\"\\");
		*at++ = '"';
		return at;
	case TSCT_TYPE_BYTES:
		return tsct_digits_bytes(at, v->at, v->size);
	}
	call = tsct_value_syscall(v);
	value = tsct_value_integer(v);
	if (call) {
		at = tsct_digits_signed(stpcpy(stpcpy(at, call), "("), value);
		*at++ = ')';
		return at;
	}
	if (v->field->format == TSCT_FORMAT_HEX) {
		/* Only the bytes of the value's type are shown: a negative int has no
		 * leading ffffffff. */
		memcpy(&bits, v->at, v->size);
		return tsct_digits_hex(at, bits);
	}
	return v->field->type == TSCT_TYPE_U64 ?
		tsct_digits_unsigned(at, (__u64)value) : tsct_digits_signed(at, value);
}

/* ---- JSON -------------------------------------------------------------------- */

char *tsct_value_put_json(char *at, const struct tsct_value *v)
{
	const char *call;

	if (tsct_value_is_text(v))
		return tsct_json_put_text(at, (const char *)v->at, tsct_value_text_len(v));
	if (tsct_value_is_float(v))
		return tsct_json_put_real(at, tsct_value_double(v),
					  v->field->type == TSCT_TYPE_F32);
	if (!tsct_value_is_integer(v)) {
		*at++ = '"';
		at = tsct_digits_bytes(at, v->at, v->size);
		*at++ = '"';
		return at;
	}
	call = tsct_value_syscall(v);
	if (call)
		return tsct_json_put_text(at, call, strlen(call));
	return tsct_value_exceeds_s64(v) ?
		tsct_json_put_unsigned(at, (__u64)tsct_value_integer(v)) :
		tsct_json_put_signed(at, tsct_value_integer(v));
}
