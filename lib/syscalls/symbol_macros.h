/* SPDX-License-Identifier: MIT */
/* Short macros for the entries of the tables of symbols.h */
#ifndef TSCT_SYMBOL_MACROS_H
#define TSCT_SYMBOL_MACROS_H

#include <stddef.h>

#include "symbols.h"

/* An entry with the value of a macro of the system's headers: a flag, one of
 * the alternatives in the bits of @mask, and a whole value. Values have 32 bits. */
#define F(flag)			{ (__u32)(flag), (__u32)(flag), #flag }
#define M(mask, name)		{ (__u32)(name), (__u32)(mask), #name }
#define E(name)			{ (__u32)(name), ~0ULL, #name }
#define END			{ 0, 0, NULL }

#endif /* TSCT_SYMBOL_MACROS_H */
