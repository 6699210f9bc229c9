// SPDX-License-Identifier: MIT
/* Input of t_mutants: each operator finds something here. if (a < 1) return 1; */
#include "sample.h"
#define TWICE(x)	((x) + (x)) /* a macro is no function */ + 1
#define LONG(x)	do {	\
	(x) += 2;	\
} while (0)

struct sample {
	int array[16];
};

static const int table[] = { 1, 2, 3 };

static void barriers(struct sample *s, int *p)
{
	smp_mb();
	smp_store_release(&s->array[i], READ_ONCE(*p));
	WRITE_ONCE(s->array[i], smp_load_acquire(p));
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
	__asm__ __volatile__ ("addl $1, %0" : "+m" (*p) : : "memory");
	BUILD_BUG_ON(sizeof(struct sample) != 64);
}

int calls(const char *text, char *other, int nr)
{
	const char mark = '1', *found = "if (a < 1)";
	struct sample s = { .array = { 1 } }, copy[4];
	unsigned int i;

	for (i = 0; i < nr && text[i]; i++) {
		if (text[i] != mark)	/* no 1 here */
			continue;
		log_text("calls: no \"1\" \
			in %s", text);	// nor 1 here
		s.array[i] += nr * 2;
		break;
	}
	for (;;)
		poke(&s);
	do {
		copy[0] = s;
	} while (0);
	switch (nr) {
	case LIMIT:
	case 2:
		return -EINVAL;
	default:
		break;
	}
again:
	list_for_each_entry(a, b, c) {
		*other = *text;
	}
	if (!found || nr >= LIMIT)
		goto again;
	return !text && 0x1fU << 8 == nr - 1.5 ? x & ~mask : LIMIT;
}

#ifdef __cplusplus
extern "C" {
#endif
static inline struct sample *none(void)
{
	return NULL;
}
#ifdef __cplusplus
}
#endif
