// SPDX-License-Identifier: MIT
/* Runs all tests that are linked into this program: see suite.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seed.h"
#include "suite.h"

#define FILES_MAX	256
#define CASES_MAX	64
#define ENTRIES_MAX	4096

extern const struct unit_entry *const __start_unit_entries[];
extern const struct unit_entry *const __stop_unit_entries[];

/* The cases of the present file */
static struct {
	const struct unit_entry *entry;
	const char *name;
	const char *missing;
	TCase *tcase;	/* NULL: nothing to run so far */
} cases[CASES_MAX];
static unsigned int nr_cases;

static Suite *suite;	/* the present file's; NULL: nothing to run so far */
static const char *suite_name;
static SRunner *runner;
static char **wanted;	/* names of tests, or an empty list for all */
static int nr_found, nr_skipped;

static int compare(const void *a, const void *b)
{
	const struct unit_entry *first = *(const struct unit_entry *const *)a;
	const struct unit_entry *second = *(const struct unit_entry *const *)b;
	int files = strcmp(first->file, second->file);

	return files ? files : first->order - second->order;
}

/* Begins the suite of a file: "clock" for ".../check_clock.c". */
static void begin_file(const char *file)
{
	static char names[FILES_MAX][64];	/* libcheck keeps pointers */
	static unsigned int nr_files;
	const char *base = strrchr(file, '/');

	if (nr_files == FILES_MAX)
		abort();
	base = base ? base + 1 : file;
	if (!strncmp(base, "check_", 6))
		base += 6;
	snprintf(names[nr_files], sizeof(names[0]), "%.*s", (int)strcspn(base, "."), base);
	suite_name = names[nr_files++];
	suite = NULL;
	nr_cases = 0;
}

/* Two CASE() with one name have to have the same fixtures. */
static void check_same(const struct unit_entry *a, const struct unit_entry *b)
{
	if (a->before == b->before && a->after == b->after && a->missing == b->missing)
		return;
	fprintf(stderr, "%s: case \"%s\" with other fixtures than before\n", b->file, b->name);
	abort();
}

/* Returns the index of the case @name. */
static int find_case(const struct unit_entry *entry, const char *name)
{
	for (unsigned int i = 0; i < nr_cases; i++) {
		if (strcmp(cases[i].name, name))
			continue;
		check_same(cases[i].entry, entry);
		return (int)i;
	}
	if (nr_cases == CASES_MAX)
		abort();
	memset(&cases[nr_cases], 0, sizeof(cases[0]));
	cases[nr_cases].entry = entry;
	cases[nr_cases].name = name;
	if (entry->missing)
		cases[nr_cases].missing = entry->missing();
	return (int)nr_cases++;
}

static int is_wanted(const char *variable, const char *name)
{
	const char *only = getenv(variable);

	return !only || !strcmp(only, name);
}

static int is_wanted_test(const char *name)
{
	char **one = wanted;

	while (*one && strcmp(*one, name))
		one++;
	return !*wanted || *one;
}

/* Reports the iterations of a test as skipped, in TAP. */
static void skip(const struct unit_entry *entry, const char *name, const char *why)
{
	for (int i = entry->from; i < entry->to; i++)
		printf("ok %d - %s:%s:%s # SKIP %s\n", ++nr_skipped, entry->file,
		       name, (*entry->test)->name, why);
}

static TCase *make_case(const struct unit_entry *entry, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, entry->before, entry->after);
	if (entry->tags)
		tcase_set_tags(tcase, entry->tags);
	tcase_set_timeout(tcase, 300);
	suite_add_tcase(suite, tcase);
	return tcase;
}

/* Number of tests that RANDOM_TEST adds: @nr, or a quarter of them in make check-fast */
static int random_tests(int nr)
{
	const char *tier = getenv("TSCT_TIER");

	return tier && !strcmp(tier, "fast") ? (nr + 3) / 4 : nr;
}

static void add_test(const struct unit_entry *entry, int c)
{
	if (!is_wanted("CK_RUN_SUITE", suite_name) ||
	    !is_wanted("CK_RUN_CASE", cases[c].name) ||
	    !is_wanted_test((*entry->test)->name))
		return;
	nr_found++;
	if (cases[c].missing) {
		skip(entry, cases[c].name, cases[c].missing);
		return;
	}
	if (!suite) {
		suite = suite_create(suite_name);
		srunner_add_suite(runner, suite);
	}
	if (!cases[c].tcase)
		cases[c].tcase = make_case(cases[c].entry, cases[c].name);
	tcase_add_loop_test(cases[c].tcase, *entry->test, entry->from,
			    entry->random ? random_tests(entry->to) : entry->to);
}

static void add_tests(const struct unit_entry **entries, size_t nr)
{
	static const struct unit_entry no_fixtures;
	int c = -1;

	for (size_t i = 0; i < nr; i++) {
		if (!i || strcmp(entries[i]->file, entries[i - 1]->file)) {
			begin_file(entries[i]->file);
			c = -1;
		}
		if (entries[i]->name)
			c = find_case(entries[i], entries[i]->name);
		if (!entries[i]->test)
			continue;
		if (c < 0)
			c = find_case(&no_fixtures, suite_name);
		add_test(entries[i], c);
	}
}

void unit_begin(int i)
{
	seed_with((unsigned int)i);
}

int unit_repeats(int nr)
{
	const char *tier = getenv("TSCT_TIER");

	return tier && !strcmp(tier, "all") ? nr : (random_tests(nr) + 1) / 2;
}

/* The sanitizer's search for leaks. NULL: built without it */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

int main(int argc, char **argv)
{
	const size_t nr = __stop_unit_entries - __start_unit_entries;
	static const struct unit_entry *entries[ENTRIES_MAX];
	int failed;

	if (nr > ENTRIES_MAX)
		abort();
	memcpy(entries, __start_unit_entries, nr * sizeof(*entries));
	qsort(entries, nr, sizeof(*entries), compare);
	for (size_t i = 0; i < nr; i++)
		if (entries[i]->word && argc == 3 && !strcmp(argv[1], entries[i]->word))
			return entries[i]->run(argv[2]);
	wanted = argv + 1;
	print_seed();
	seed_with(0);
	runner = srunner_create(NULL);
	add_tests(entries, nr);
	if (!nr_found) {
		fprintf(stderr, "%s: no such test\n", argv[0]);
		return 2;
	}
	if (nr_skipped)
		printf("1..%d\n", nr_skipped);
	fflush(stdout);
	/* Maps all memory that a search reads. Without this, each test's process would take
	 * thousands of page faults for it. */
	if (__lsan_do_recoverable_leak_check)
		__lsan_do_recoverable_leak_check();
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
