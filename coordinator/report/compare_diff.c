/* In what the sides of a comparison differ, and what is odd about repeats. */
#include "coordinator/report/compare_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "common/stat/ratio.h"
#include "common/stat/summary.h"
#include "coordinator/report/rows_int.h"

#define ROWS_NAMED  4    /* in the sentence of a difference */
#define MUCH_SPREAD 0.10 /* standard deviation over mean from which repeats deserve a word */

/* --- differences between rows ------------------------------------------------------------------------------------- */

static void
add_difference(struct compare_differences *list, const char *row, const char *text)
{
	struct compare_difference *d = NULL;

	for (size_t i = 0; i < list->count && d == NULL; i++)
		if (strcmp(list->items[i].text, text) == 0)
			d = &list->items[i];
	if (d == NULL) {
		list->items = ls_grow(list->items, list->count, sizeof(*list->items));
		d = &list->items[list->count++];
		*d = (struct compare_difference){ .text = ls_strdup(text) };
	}
	warnings_add(&d->rows, &d->rows_count, "%s", row);
	d->times++;
}

/* A parameter's value as text. buf: 64 bytes. */
static const char *
field_text(const struct field_desc *field, const void *obj, char *buf, size_t len)
{
	const char *at = (const char *)obj + field->offset;

	buf[0] = '\0';
	switch (field->kind) {
	case FIELD_BOOL:
		snprintf(buf, len, "%s", *(const bool *)at ? "yes" : "no");
		break;
	case FIELD_U64:
		snprintf(buf, len, "%" PRIu64, *(const uint64_t *)(const void *)at);
		break;
	case FIELD_SIZE:
		units_format_size(*(const uint64_t *)(const void *)at, buf, len);
		break;
	case FIELD_DURATION:
		units_format_duration(*(const int64_t *)(const void *)at, buf, len);
		break;
	case FIELD_ENUM:
		/* Of runs from before there were others. */
		if (field->names == phase_caches_names && *(const int *)(const void *)at == CACHES_AS_JOB) {
			snprintf(buf, len, "%s", phase_caches_names[CACHES_NONE]);
			break;
		}
		snprintf(buf, len, "%s", field_enum_name(field->names, *(const int *)(const void *)at));
		break;
	case FIELD_I64:
	case FIELD_F64:
	case FIELD_STR:
	case FIELD_STR_LIST:
	case FIELD_I64_LIST:
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT:
	case FIELD_STRUCT_PTR:
	case FIELD_STRUCT_LIST:
	case FIELD_KIND_COUNT:
		break;
	}
	return buf;
}

/* Parameters that say nothing about what is measured. */
static bool
is_beside_the_point(const char *name)
{
	return strcmp(name, "name") == 0 || strcmp(name, "deadline") == 0 || strcmp(name, "workers") == 0;
}

struct pair {
	struct compare_differences *list;
	const char *row;
	const char *label[2];
	const struct compare_sample *sample[2];
};

static void
differ(const struct pair *p, const char *what, const char *a, const char *b)
{
	char text[512];

	if (strcmp(a, b) == 0)
		return;
	snprintf(text, sizeof(text), "%s differs: %s has %s, %s has %s", what, p->label[0], a, p->label[1], b);
	add_difference(p->list, p->row, text);
}

static void
differ_count(const struct pair *p, const char *what, uint64_t a, uint64_t b)
{
	char x[32];
	char y[32];

	snprintf(x, sizeof(x), "%" PRIu64, a);
	snprintf(y, sizeof(y), "%" PRIu64, b);
	differ(p, what, x, y);
}

static void
differ_spec(const struct pair *p)
{
	const struct phase_result *a = p->sample[0]->part.phase;
	const struct phase_result *b = p->sample[1]->part.phase;

	for (size_t i = 0; i < phase_desc.field_count; i++) {
		const struct field_desc *field = &phase_desc.fields[i];
		char x[64];
		char y[64];

		if (is_beside_the_point(field->name) || !phase_field_applies(field, (enum phase_kind)a->kind))
			continue;
		differ(p, field->name, field_text(field, &a->spec, x, sizeof(x)),
		    field_text(field, &b->spec, y, sizeof(y)));
	}
}

/* Imports tell their sizes and nothing else that can be set side by side. */
static void
differ_sizes(const struct pair *p)
{
	const struct phase_result *a = p->sample[0]->part.phase;
	const struct phase_result *b = p->sample[1]->part.phase;
	char x[64];
	char y[64];

	if (report_file_size(a) != LS_UNKNOWN_U64 && report_file_size(b) != LS_UNKNOWN_U64)
		differ(p, "file_size", units_format_size(report_file_size(a), x, sizeof(x)),
		    units_format_size(report_file_size(b), y, sizeof(y)));
	if (report_record_size(a) != LS_UNKNOWN_U64 && report_record_size(b) != LS_UNKNOWN_U64)
		differ(p, "record_size", units_format_size(report_record_size(a), x, sizeof(x)),
		    units_format_size(report_record_size(b), y, sizeof(y)));
	if (a->nodes_count > 0 && b->nodes_count > 0)
		differ_count(p, "number of nodes", a->nodes_count, b->nodes_count);
}

static void
differ_streams(const struct pair *p)
{
	size_t nodes[2];
	uint64_t streams[2];

	for (int i = 0; i < 2; i++)
		streams[i] = report_streams(p->sample[i]->run, p->sample[i]->part.phase, &nodes[i]);
	differ_count(p, "number of nodes", nodes[0], nodes[1]);
	if (nodes[0] == nodes[1])
		differ_count(p, "number of workers", streams[0], streams[1]);
}

void
compare_row_differences(
    struct compare_differences *list, const struct comparison *c, const struct compare_cells *row, const char *name)
{
	size_t base = 0;

	while (base < c->groups_count && row->groups[base].count == 0)
		base++;
	for (size_t g = 0; g < c->groups_count; g++) {
		struct pair p = { list, name, { c->groups[base].label, c->groups[g].label }, { NULL, NULL } };

		if (row->groups[g].count == 0) {
			char text[256];

			snprintf(text, sizeof(text), "%s has no such phase", c->groups[g].label);
			add_difference(list, name, text);
			continue;
		}
		for (size_t s = g == base ? 1 : 0; s < row->groups[g].count; s++) {
			p.sample[0] = &row->groups[base].items[0];
			p.sample[1] = &row->groups[g].items[s];
			if (s > 0 && p.sample[1]->run == row->groups[g].items[s - 1].run)
				continue; /* repetitions of one run have one job */
			if (p.sample[0]->part.phase->imported != NULL || p.sample[1]->part.phase->imported != NULL) {
				differ_sizes(&p);
				continue;
			}
			differ_spec(&p);
			differ_streams(&p);
			differ(&p, "where the rates go to",
			    p.sample[0]->part.phase->aggregate.page_cache ? "the page cache" : "the volume",
			    p.sample[1]->part.phase->aggregate.page_cache ? "the page cache" : "the volume");
		}
	}
}

static char *
sentence(const struct compare_difference *d, size_t rows)
{
	struct sink text = { 0 };

	sink_printf(&text, "%s", d->text);
	if (d->times < rows) {
		sink_printf(&text, " (");
		for (size_t i = 0; i < d->rows_count && i < ROWS_NAMED; i++)
			sink_printf(&text, "%s%s", i > 0 ? ", " : "", d->rows[i]);
		if (d->rows_count > ROWS_NAMED)
			sink_printf(&text, " and %zu more", d->rows_count - ROWS_NAMED);
		sink_printf(&text, ")");
	}
	return text.text;
}

void
compare_differences_end(struct compare_differences *list, struct comparison *c, size_t rows)
{
	for (size_t i = 0; i < list->count; i++) {
		struct compare_difference *d = &list->items[i];
		char *text = sentence(d, rows);

		warnings_add(&c->differences, &c->differences_count, "%s", text);
		free(text);
		for (size_t r = 0; r < d->rows_count; r++)
			free(d->rows[r]);
		free(d->rows);
		free(d->text);
	}
	free(list->items);
	*list = (struct compare_differences){ 0 };
}

/* --- differences between runs ------------------------------------------------------------------------------------- */

static const struct node_facts *
first_facts(const struct results *run)
{
	return run->nodes_count > 0 ? &run->nodes[0].facts : NULL;
}

static const struct volume_facts *
first_volume(const struct results *run)
{
	for (size_t n = 0; n < run->nodes_count; n++)
		if (run->nodes[n].facts.volume != NULL)
			return run->nodes[n].facts.volume;
	return NULL;
}

static const char *
get_tool(const struct results *run)
{
	return run->run.origin == NULL ? "lockstep" : run->run.origin->tool;
}

static const char *
get_tool_version(const struct results *run)
{
	return run->run.origin == NULL ? NULL : run->run.origin->version;
}

static const char *
get_build(const struct results *run)
{
	return run->run.lockstep.build;
}

static const char *
get_version(const struct results *run)
{
	return run->run.lockstep.version;
}

static const char *
get_kernel(const struct results *run)
{
	return first_facts(run) == NULL ? NULL : first_facts(run)->kernel;
}

static const char *
get_cpu(const struct results *run)
{
	return first_facts(run) == NULL ? NULL : first_facts(run)->cpu_model;
}

static const char *
get_fs(const struct results *run)
{
	const struct volume_facts *volume = first_volume(run);

	return volume == NULL ? NULL : volume->fs_type;
}

static const char *
get_options(const struct results *run)
{
	const struct volume_facts *volume = first_volume(run);

	return volume == NULL ? NULL : volume->mount_options;
}

static const struct {
	const char *what;
	const char *(*get)(const struct results *run);
	bool is_fact; /* may be the very point of the comparison */
} run_texts[] = {
	{ "tool", get_tool, false },
	{ "version of the tool", get_tool_version, false },
	{ "version of lockstep", get_version, false },
	{ "build of lockstep", get_build, true },
	{ "file system", get_fs, true },
	{ "mount options", get_options, true },
	{ "kernel of the first node", get_kernel, true },
	{ "CPU of the first node", get_cpu, true },
};

static void
run_difference(struct comparison *c, bool is_fact, const char *text)
{
	if (is_fact)
		warnings_add(&c->facts, &c->facts_count, "%s", text);
	else
		warnings_add(&c->differences, &c->differences_count, "%s", text);
}

static void
compare_texts(
    struct comparison *c, const struct results *a, const char *label_a, const struct results *b, const char *label_b)
{
	for (size_t i = 0; i < ARRAY_LEN(run_texts); i++) {
		const char *x = run_texts[i].get(a);
		const char *y = run_texts[i].get(b);
		char text[1024];

		if (x == NULL || y == NULL || x[0] == '\0' || y[0] == '\0' || strcmp(x, y) == 0)
			continue;
		snprintf(
		    text, sizeof(text), "%s: %s has %.300s, %s has %.300s", run_texts[i].what, label_a, x, label_b, y);
		run_difference(c, run_texts[i].is_fact, text);
	}
}

static void
run_state(struct comparison *c, const struct results *run, const char *label)
{
	if (run->run.state != RUN_FINISHED)
		warnings_add(&c->differences, &c->differences_count, "%s: run %s is %s", label, run->run.id,
		    field_enum_name(run_state_names, run->run.state));
}

static bool
is_same_run(const struct compare_side *sides, size_t g, size_t r)
{
	const char *id = sides[g].runs[r]->run.id;

	for (size_t h = 0; h <= g; h++)
		for (size_t q = 0; q < (h == g ? r : sides[h].count); q++)
			if (id[0] != '\0' && strcmp(sides[h].runs[q]->run.id, id) == 0)
				return true;
	return false;
}

void
compare_run_differences(struct comparison *c, const struct compare_side *sides, size_t count)
{
	const struct results *base = sides[0].runs[0];

	for (size_t g = 0; g < count; g++) {
		for (size_t r = 0; r < sides[g].count; r++) {
			const struct results *run = sides[g].runs[r];

			run_state(c, run, sides[g].label);
			if (is_same_run(sides, g, r))
				warnings_add(&c->differences, &c->differences_count,
				    "%s: run %s stands here more than once: it is compared with itself", sides[g].label,
				    run->run.id);
			if (run != base)
				compare_texts(c, base, sides[0].label, run, sides[g].label);
		}
	}
}

/* --- odd repeats -------------------------------------------------------------------------------------------------- */

static void
note_failed(struct comparison *c, size_t group, const char *title, const struct compare_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++)
		if (samples->items[i].part.phase->state != PHASE_STATE_DONE)
			warnings_add(&c->notes, &c->notes_count, "%s, %s: repeat %zu %s and does not count", title,
			    c->groups[group].label, i + 1,
			    field_enum_name(phase_state_names, samples->items[i].part.phase->state));
}

static const char *
advice(size_t which, double value, double median, bool higher_is_better)
{
	bool slow = higher_is_better ? value < median : value > median;

	if (which == 0 && slow)
		return "the first one is often slower while caches fill: run a repetition more and leave it out, or "
		       "set warmup";
	if (slow)
		return "see what else ran on the nodes or the volume then, and repeat it";
	return "see whether a cache answered, and repeat it";
}

void
compare_note_repeats(struct comparison *c, size_t group, const struct compare_row *row,
    const struct compare_samples *samples, const double *values)
{
	bool *far = ls_calloc(samples->count + 1, sizeof(*far));
	struct summary s = summary_of(values, samples->count);
	char title[400];

	compare_row_title(row, title, sizeof(title));
	note_failed(c, group, title, samples);
	compare_note_drift(c, group, title, samples);
	ratio_outliers(values, samples->count, far);
	for (size_t i = 0; i < samples->count; i++) {
		char value[64];
		char median[64];

		if (!far[i])
			continue;
		warnings_add(&c->notes, &c->notes_count,
		    "%s, %s: repeat %zu (%s) lies far from the others (median %s); %s", row->name,
		    c->groups[group].label, i + 1, compare_format(values[i], row->unit, value, sizeof(value)),
		    compare_format(s.median, row->unit, median, sizeof(median)),
		    advice(i, values[i], s.median, c->higher_is_better));
	}
	free(far);
}

void
compare_note_spread(struct comparison *c)
{
	for (size_t g = 0; g < c->groups_count; g++) {
		const struct compare_row *worst = NULL;
		size_t count = 0;
		char title[400];

		for (size_t r = 0; r < c->rows_count; r++) {
			const struct compare_row *row = &c->rows[r];

			if (!(row->values[g].spread > MUCH_SPREAD))
				continue;
			count++;
			if (worst == NULL || row->values[g].spread > worst->values[g].spread)
				worst = row;
		}
		if (worst == NULL)
			continue;
		warnings_add(&c->notes, &c->notes_count,
		    "%s: in %zu of %zu phases the repeats vary by more than %.0f %%, most in %s (%.0f %%, standard "
		    "deviation "
		    "over mean); longer phases or more repeats narrow the intervals",
		    c->groups[g].label, count, c->rows_count, 100 * MUCH_SPREAD,
		    compare_row_title(worst, title, sizeof(title)), 100 * worst->values[g].spread);
	}
}
