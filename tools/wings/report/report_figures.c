// SPDX-License-Identifier: MIT
/* Tables of the lengths of spans and system calls: the figures of `stat --spans --calls` */
#include "report.h"
#include "report_trace.h"

#define FIGURES_SHOWN	200	/* limit of the number of rows of a table */

/* Writes the table cell of a length, with the exact length, ns, as an attribute. */
static void put_ns(FILE *to, const struct tsct_histogram *lengths, __u64 ns)
{
	if (!lengths->nr) {
		fputs("<td></td>", to);
		return;
	}
	report_print(to, "<td data-ns=\"%llu\">", ns);
	report_put_length(to, (double)ns);
	fputs("</td>", to);
}

static void put_quantile(FILE *to, const struct tsct_histogram *lengths, unsigned int per_mille)
{
	put_ns(to, lengths, lengths->nr ? tsct_histogram_quantile(lengths, per_mille) : 0);
}

/* Writes a button that shows a span in the timeline. */
static void put_span(const struct report *r, FILE *to, const struct slow_span *slow)
{
	report_print(to, "<button type=\"button\" data-span=\"%u,%llu,%llu\">",
		     r->row_of[slow->row], report_time(r, slow->begin_ns), slow->length_ns);
	report_put_length(to, (double)slow->length_ns);
	fputs("</button>", to);
}

static void put_slowest(const struct report *r, FILE *to, const struct span_group *g)
{
	unsigned int i;

	fputs("<td>", to);
	if (g->nr_slow)
		put_span(r, to, &g->slow[0]);
	fputs("</td><td class=\"left\">", to);
	if (g->nr_slow > 1)
		fprintf(to, "<details><summary>%u more</summary>", g->nr_slow - 1);
	for (i = 1; i < g->nr_slow; i++)
		put_span(r, to, &g->slow[i]);
	fputs(g->nr_slow > 1 ? "</details></td>" : "</td>", to);
}

static void put_group(const struct report *r, FILE *to, const struct span_group *g)
{
	const struct tsct_histogram *lengths = &g->lengths;

	report_print(to, "<tr><th scope=\"row\">%s%s</th>" REPORT_COUNT, g->name,
		     g->compat ? " (32-bit)" : "", lengths->nr);
	put_ns(to, lengths, lengths->sum);
	put_ns(to, lengths, lengths->nr ? lengths->sum / lengths->nr : 0);
	put_quantile(to, lengths, 500);
	put_quantile(to, lengths, 900);
	put_quantile(to, lengths, 990);
	put_quantile(to, lengths, 999);
	put_slowest(r, to, g);
	report_print(to, REPORT_COUNT REPORT_COUNT REPORT_COUNT REPORT_COUNT "</tr>\n",
		     g->why[TSCT_SPAN_OPEN], g->why[TSCT_SPAN_NOT_BEGUN],
		     g->why[TSCT_SPAN_UNKNOWN], g->why[TSCT_SPAN_AMBIGUOUS]);
}

static void put_table(const struct report *r, FILE *to, bool calls)
{
	const struct span_figures *f = &r->figures;
	__u32 i, nr = 0;

	for (i = 0; i < f->nr_groups; i++) {
		if (f->groups[i].is_call != calls)
			continue;
		if (!nr)
			fprintf(to, "<h2>%s</h2>\n<div class=\"scroll\"><table class=\"lengths\""
				" id=\"%s\">\n<thead><tr><th>Name</th><th>Count</th><th>Total</th>"
				"<th>Mean</th><th>p50</th><th>p90</th><th>p99</th><th>p99.9</th>"
				"<th>Max</th><th class=\"left\">Slowest</th><th>No end</th>"
				"<th>No begin</th><th>Unknown</th><th>Ambiguous</th></tr></thead>\n"
				"<tbody>\n", calls ? "System calls" : "Spans",
				calls ? "calls" : "slices");
		if (nr++ < FIGURES_SHOWN)
			put_group(r, to, &f->groups[i]);
	}
	if (nr)
		fputs("</tbody>\n</table></div>\n", to);
	if (nr > FIGURES_SHOWN)
		fprintf(to, "<p class=\"note\">The table has the %u names with the largest totals;"
			" 'trace-ctl stat --spans --calls' lists all %u.</p>\n", FIGURES_SHOWN, nr);
}

void report_figures(const struct report *r, FILE *to)
{
	if (!r->figures.nr_groups)
		return;
	fputs("<section>\n", to);
	put_table(r, to, false);
	put_table(r, to, true);
	fputs("<p class=\"note\">A click on a length shows the span in the timeline. Percentiles"
	      " are too large by less than 0.8 %. No end: open at the end of the recording or of"
	      " the thread. Unknown: the end, or the begin, may be among lost or hidden"
	      " events.", to);
	if (r->x.filter.nr_wheres)
		fputs(" The tables have the spans whose begin events meet <kbd>--where</kbd>.", to);
	fputs("</p>\n</section>\n", to);
}
