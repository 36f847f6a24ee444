#include "coordinator/cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/cli/documents.h"
#include "coordinator/cli/files.h"
#include "coordinator/report/compare.h"

extern const struct cmd cmd_compare;

struct compare_cmd_options {
	const char *metric, *of, *fail_if_slower, *json, *format, *output;
};

#define O(member) offsetof(struct compare_cmd_options, member)

static const struct option_row rows[] = {
	{ "metric", 'm', OPTION_TEXT, O(metric), "METRIC", "what to compare, see above; default last-done", 0, 0 },
	{ "of", 0, OPTION_TEXT, O(of), "SIDE",
	    "the ratio of this side to each of the others, in place of each to the first", 0, 0 },
	{ "fail-if-slower", 0, OPTION_TEXT, O(fail_if_slower), "PERCENT",
	    "exit status 4 when a ratio shows a side more than so much slower, such as 5%; where both sides have "
	    "repeats "
	    "the verdict must be slower, too",
	    0, 0 },
	{ "format", 'f', OPTION_TEXT, O(format), "FORM", "one of the forms above; default text", 0, 0 },
	{ "output", 'o', OPTION_TEXT, O(output), "FILE", "write there instead of to standard output", 0, 0 },
	{ "json", 0, OPTION_TEXT, O(json), "FILE",
	    "write it there as JSON, too; - is standard output, in place of the rest", 0, 0 },
	{ 0 },
};

/* A side with what it owns. */
struct side {
	char *label;
	struct document_list *lists; /* what its words brought */
	size_t lists_count;
	const struct results **runs; /* the documents in these; the array is owned */
	size_t count;
};

struct sides {
	struct side *items;
	size_t count;
};

static void
sides_free(struct sides *sides)
{
	for (size_t s = 0; s < sides->count; s++) {
		struct side *side = &sides->items[s];

		for (size_t l = 0; l < side->lists_count; l++)
			field_struct_fini(&document_list_desc, &side->lists[l]);
		free(side->lists);
		free(side->runs);
		free(side->label);
	}
	free(sides->items);
}

static struct side *
new_side(struct sides *sides)
{
	sides->items = ls_grow(sides->items, sides->count, sizeof(*sides->items));
	sides->items[sides->count] = (struct side){ 0 };
	return &sides->items[sides->count++];
}

static void
take_list(struct side *side, struct document_list *list)
{
	for (size_t d = 0; d < list->docs_count; d++) {
		side->runs = ls_grow(side->runs, side->count, sizeof(const struct results *));
		side->runs[side->count++] = &list->docs[d];
	}
	side->lists = ls_grow(side->lists, side->lists_count, sizeof(*side->lists));
	side->lists[side->lists_count++] = *list;
}

/* One run; "FILE#NAME" may name several of one name, which are repeats. */
static enum ls_rc
add_run(const struct cli *cli, struct side *side, const char *what, struct ls_err *err)
{
	struct document_list list;
	enum ls_rc rc = documents_load(cli, what, false, &list, err);

	if (rc != LS_OK)
		return rc;
	if (list.docs_count > 1 && strchr(what, '#') == NULL) {
		rc = documents_too_many(what, &list, err);
		field_struct_fini(&document_list_desc, &list);
		return rc;
	}
	take_list(side, &list);
	return LS_OK;
}

/* "LABEL=a,b,c" or "a,b,c"; without a label the side is called A, B, ... */
static enum ls_rc
add_side(const struct cli *cli, struct sides *sides, const char *word, struct ls_err *err)
{
	const char *equals = strchr(word, '=');
	const char *rest = equals == NULL ? word : equals + 1;
	struct side *side = new_side(sides);
	enum ls_rc rc = LS_OK;

	if (equals != NULL && equals != word)
		side->label = ls_strndup(word, (size_t)(equals - word));
	else if (sides->count <= 26)
		side->label = ls_asprintf("%c", (char)('A' + (int)sides->count - 1));
	else
		side->label = ls_asprintf("S%zu", sides->count);
	while (rc == LS_OK && *rest != '\0') {
		size_t len = strcspn(rest, ",");
		char *what = ls_strndup(rest, len);

		rc = add_run(cli, side, what, err);
		free(what);
		rest += len + (rest[len] == ',');
	}
	if (rc == LS_OK && side->count == 0)
		rc = ls_err_set(err, LS_E_INVALID, "\"%s\" names no run", word);
	return rc;
}

static struct side *
find_side(const struct sides *sides, const char *label)
{
	for (size_t s = 0; s < sides->count; s++)
		if (strcmp(sides->items[s].label, label) == 0)
			return &sides->items[s];
	return NULL;
}

/* All runs of one file: a side for each name; runs of one name are repeats. */
static enum ls_rc
add_file(const struct cli *cli, struct sides *sides, const char *what, struct ls_err *err)
{
	struct document_list list;
	enum ls_rc rc = documents_load(cli, what, false, &list, err);

	if (rc != LS_OK)
		return rc;
	for (size_t d = 0; d < list.docs_count; d++) {
		struct document_list one;
		const char *name = document_short_name(&list.docs[d]);
		struct side *side = find_side(sides, name);

		if (side == NULL) {
			side = new_side(sides);
			side->label = ls_strdup(name);
		}
		field_struct_init(&document_list_desc, &one);
		one.docs = ls_calloc(1, sizeof(*one.docs));
		one.docs_count = 1;
		one.docs[0] = list.docs[d];
		take_list(side, &one);
	}
	list.docs_count = 0; /* their contents have changed hands */
	field_struct_fini(&document_list_desc, &list);
	if (sides->count < 2)
		rc = ls_err_set(err, LS_E_INVALID, "%s holds runs of one name only: nothing to compare with", what);
	return rc;
}

static enum ls_rc
find_subject(const struct sides *sides, const char *label, size_t *out, struct ls_err *err)
{
	*out = SIZE_MAX;
	if (label == NULL)
		return LS_OK;
	for (size_t s = 0; s < sides->count; s++)
		if (strcmp(sides->items[s].label, label) == 0)
			*out = s;
	if (*out == SIZE_MAX)
		return ls_err_set(err, LS_E_INVALID, "--of: no side is called \"%s\"", label);
	return LS_OK;
}

static enum ls_rc
find_metric(const char *name, const struct compare_metric **out, struct ls_err *err)
{
	struct sink names = { 0 };

	*out = name == NULL ? &compare_metrics[0] : compare_metric_find(name);
	if (*out != NULL)
		return LS_OK;
	for (size_t i = 0; compare_metrics[i].name != NULL; i++)
		sink_printf(&names, "%s%s", i > 0 ? ", " : "", compare_metrics[i].name);
	ls_err_set(err, LS_E_INVALID, "--metric: \"%s\" is not known; metrics: %s", name, names.text);
	sink_free(&names);
	return LS_E_INVALID;
}

/* "5%", "2.5 %" or "5" as a part of 1. */
static enum ls_rc
parse_tolerance(const char *text, double *out, struct ls_err *err)
{
	char *end;
	double value = strtod(text, &end);

	end += strspn(end, " ");
	if (*end == '%')
		end++;
	if (end == text || *end != '\0' || !(value >= 0 && value < 100))
		return ls_err_set(err, LS_E_INVALID, "--fail-if-slower: \"%s\" is not a percentage such as 5%%", text);
	*out = value / 100;
	return LS_OK;
}

static void
compare_sides(const struct sides *sides, const struct compare_metric *metric, size_t subject, struct comparison *out)
{
	struct compare_side *list = ls_calloc(sides->count, sizeof(*list));

	for (size_t s = 0; s < sides->count; s++) {
		const struct side *side = &sides->items[s];

		list[s] = (struct compare_side){ side->label, side->runs, side->count };
	}
	compare_runs(list, sides->count, metric, subject, out);
	free(list);
}

static enum ls_rc
find_format(const char *name, const struct compare_format **out, struct ls_err *err)
{
	struct sink names = { 0 };

	*out = name == NULL ? &compare_formats[0] : compare_format_find(name);
	if (*out != NULL)
		return LS_OK;
	for (size_t i = 0; compare_formats[i].name != NULL; i++)
		sink_printf(&names, "%s%s", i > 0 ? ", " : "", compare_formats[i].name);
	ls_err_set(err, LS_E_INVALID, "--format: \"%s\" is not known; formats: %s", name, names.text);
	sink_free(&names);
	return LS_E_INVALID;
}

static enum ls_rc
write_as(const struct comparison *c, const struct compare_format *format, const char *path, struct ls_err *err)
{
	struct sink out = { 0 };

	format->render(c, &out);
	enum ls_rc rc = file_write(path, out.text, out.len, err);
	sink_free(&out);
	return rc;
}

static enum ls_rc
print(const struct comparison *c, const struct compare_cmd_options *options, const struct compare_format *format,
    struct ls_err *err)
{
	const char *json = options->json;
	enum ls_rc rc = json == NULL ? LS_OK : write_as(c, compare_format_find("json"), json, err);

	if (rc == LS_OK && (json == NULL || strcmp(json, "-") != 0))
		rc = write_as(c, format, options->output == NULL ? "-" : options->output, err);
	return rc;
}

static enum cli_exit
judge(const struct comparison *c, double tolerance)
{
	struct sink why = { 0 };
	enum cli_exit status = CLI_OK;

	if (compare_is_slower(c, tolerance, &why)) {
		status = CLI_SLOWER;
		cli_fail(status, "slower by more than %g %%:", 100 * tolerance);
		for (const char *line = why.text; *line != '\0';) {
			size_t len = strcspn(line, "\n");

			cli_fail(status, "  %.*s", (int)len, line);
			line += len + (line[len] == '\n');
		}
	}
	sink_free(&why);
	return status;
}

static enum cli_exit
run_compare(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct compare_cmd_options *options = opaque;
	const struct compare_metric *metric;
	const struct compare_format *format;
	struct sides sides = { 0 };
	struct comparison comparison;
	size_t subject = SIZE_MAX;
	double tolerance = 0;
	struct ls_err err;
	enum cli_exit status = CLI_OK;

	enum ls_rc rc = find_metric(options->metric, &metric, &err);
	if (rc == LS_OK)
		rc = find_format(options->format, &format, &err);
	/* Sentences of the document for programs have sizes in them. */
	if (rc == LS_OK && (options->json != NULL || strcmp(format->name, "json") == 0))
		units_use(UNITS_BINARY);
	if (rc == LS_OK && options->fail_if_slower != NULL)
		rc = parse_tolerance(options->fail_if_slower, &tolerance, &err);
	if (rc == LS_OK && words->count == 1)
		rc = add_file(cli, &sides, words->items[0], &err);
	for (size_t w = 0; rc == LS_OK && words->count > 1 && w < words->count; w++)
		rc = add_side(cli, &sides, words->items[w], &err);
	if (rc == LS_OK)
		rc = find_subject(&sides, options->of, &subject, &err);
	if (rc != LS_OK) {
		sides_free(&sides);
		return cli_fail_err(&err);
	}
	compare_sides(&sides, metric, subject, &comparison);
	if (print(&comparison, options, format, &err) != LS_OK)
		status = cli_fail(CLI_FAILED, "%s", err.text);
	else if (options->fail_if_slower != NULL)
		status = judge(&comparison, tolerance);
	field_struct_fini(&comparison_desc, &comparison);
	sides_free(&sides);
	return status;
}

static void
metrics_help(struct sink *out)
{
	sink_printf(out, "\nmetrics:\n");
	for (size_t i = 0; compare_metrics[i].name != NULL; i++)
		sink_printf(out, "  %-13s %s; %s is better\n", compare_metrics[i].name, compare_metrics[i].help,
		    compare_metrics[i].higher_is_better ? "more" : "less");
	sink_printf(out, "\nforms:\n");
	for (size_t i = 0; compare_formats[i].name != NULL; i++)
		sink_printf(out, "  %-13s %s\n", compare_formats[i].name, compare_formats[i].help);
}

const struct cmd cmd_compare = {
	.name = "compare",
	.summary = "ratios of runs, with intervals and a verdict where there are repeats",
	.synopsis = "SIDE SIDE...|FILE [--metric METRIC] [--of SIDE] [--fail-if-slower PERCENT] [--format FORM]",
	.help =
	    "Compares runs phase by phase. A SIDE is a run or a file, as for \"lockstep report\"; several separated\n"
	    "by commas are repeats of the same; LABEL=... gives the side a name. Ratios are percent of the first\n"
	    "side. One FILE with several runs in it is compared with itself, name by name. With repeats on both\n"
	    "sides (also those of \"repeat\" in a job) each ratio has a 95 % interval and a verdict. In what the\n"
	    "runs differ stands above the table. Exit status 4: slower, see --fail-if-slower.\n"
	    "\n"
	    "examples:\n"
	    "  lockstep compare before.json after.json\n"
	    "  lockstep compare old=a1.json,a2.json,a3.json new=b1.json,b2.json,b3.json --fail-if-slower 5%\n"
	    "  lockstep compare ext2=e2.json ext3=e3.json jfs=jfs.json --of jfs\n"
	    "  lockstep compare published-tables.txt --of jfs\n"
	    "  lockstep compare before.json after.json --format html --output compare.html\n"
	    "  lockstep compare 01k7 last --metric p99 --json - | jq .means",
	.more_help = metrics_help,
	.options = rows,
	.options_size = sizeof(struct compare_cmd_options),
	.min_words = 1,
	.max_words = 100,
	.run = run_compare,
};
