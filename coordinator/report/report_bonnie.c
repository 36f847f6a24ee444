/*
 * The console table of bonnie++, a line for each machine and one for all together. What was not run is blank, what took less than
 * half a second is plus signs, as there. Letters after rates: k, m, g are powers of 1024 bytes, as bonnie++ 2.00 prints.
 */
#include "coordinator/report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/report/bonnie_int.h"
#include "coordinator/report/text_int.h"

extern const struct report_format report_bonnie;

enum { W_RATE = 6, W_LATENCY = 10, W_LABEL = 19 };

struct bonnie_table {
	struct sink *out;
	const struct results *results;
	const struct report_row *row;
	int label; /* columns of what stands before the first number */
};

/* KiB/s in at most five columns. */
static void
rate_text(double kib_per_s, char *buf, size_t len)
{
	static const char suffix[] = "kmgt";
	size_t unit = 0;

	for (; unit + 2 < sizeof(suffix) && kib_per_s >= (unit == 0 ? 9999.5 : 999.5); unit++)
		kib_per_s /= 1024;
	snprintf(buf, len, "%.*f%c", unit > 0 && kib_per_s < 99.95 ? 1 : 0, kib_per_s, suffix[unit]);
}

/* Operations per second: all digits, as they carry no unit of their own. */
static void
count_text(double per_s, bool decimals, char *buf, size_t len)
{
	if (decimals && per_s < 1000)
		snprintf(buf, len, "%.1f", per_s);
	else
		snprintf(buf, len, "%.0f", floor(per_s));
}

static void
pair(struct sink *out, const struct report_cell *cell, double rate, const char *text)
{
	char cpu[16] = "";

	if (cell->measured && bonnie_too_short(cell)) {
		sink_printf(out, " +++++ +++");
		return;
	}
	if (!cell->measured || !isfinite(rate)) {
		sink_repeat(out, ' ', W_RATE + 4);
		return;
	}
	if (isfinite(cell->cpu_percent))
		snprintf(cpu, sizeof(cpu), "%.0f", floor(cell->cpu_percent));
	sink_printf(out, "%*s%*s", W_RATE, text, strlen(text) < W_RATE ? 4 : 3, cpu);
}

static void
end_line(struct sink *out)
{
	while (out->len > 0 && out->text[out->len - 1] == ' ')
		out->len--;
	sink_printf(out, "\n");
}

/* What stands in a line between name and first number. buf: 96 bytes. */
static const char *
io_size(const struct bonnie_table *t, size_t node, char *buf, size_t len)
{
	const struct phase_result *first = bonnie_first(t->row, bonnie_io_kinds, BONNIE_IO);
	char size[32];
	char chunk[32];

	snprintf(buf, len, "%s:%s", bonnie_size(report_bytes_of_files(t->results, first, node), size, sizeof(size)),
	    bonnie_size(report_record_size(first), chunk, sizeof(chunk)));
	return buf;
}

static const char *
files_size(const struct bonnie_table *t, size_t node, char *buf, size_t len)
{
	const struct phase_result *first = bonnie_first(t->row, bonnie_file_kinds, BONNIE_FILES);
	char files[32];

	bonnie_files(t->results, first, node, files, sizeof(files));
	const struct phase *spec = &first->spec;
	bool tree = (phase_kind_info((enum phase_kind)spec->kind)->groups & PHASE_TREE) != 0;
	char dirs[32] = "";

	if (tree && spec->directories > 1)
		snprintf(dirs, sizeof(dirs), "/%" PRIu64, spec->directories);
	if (spec->links != LINKS_NONE)
		snprintf(buf, len, "%s:%s%s", files, spec->links == LINKS_HARD ? "link" : "symlink", dirs);
	else if (spec->size == 0)
		snprintf(buf, len, "%s%s", files, dirs);
	else
		snprintf(buf, len, "%s:%" PRIu64 ":%" PRIu64 "%s", files, spec->size,
		    tree ? spec->min_size : spec->size, dirs);
	return buf;
}

typedef const char *size_text(const struct bonnie_table *t, size_t node, char *buf, size_t len);

static int
label_width(const struct bonnie_table *t, size_text *size)
{
	size_t width = W_LABEL;

	for (size_t n = 0; n <= t->results->nodes_count; n++) {
		size_t node = n < t->results->nodes_count ? n : REPORT_ALL;
		char name[80];
		char text[96];

		width = LS_MAX(width,
		    strlen(bonnie_name(t->results, node, name, sizeof(name))) + 1 +
			strlen(size(t, node, text, sizeof(text))));
	}
	return (int)width;
}

static void
label(const struct bonnie_table *t, size_t node, size_text *size)
{
	char name[80];
	char text[96];

	bonnie_name(t->results, node, name, sizeof(name));
	size(t, node, text, sizeof(text));
	sink_printf(t->out, "%s%*s", name, t->label - (int)strlen(name), text);
}

static void
io_cells(const struct bonnie_table *t, size_t node)
{
	for (size_t i = 0; i < BONNIE_IO; i++) {
		struct report_cell cell = bonnie_cell(t->results, t->row, bonnie_io_kinds[i], node);
		double rate = i == BONNIE_IO - 1 ? cell.ops_per_s : cell.bytes_per_s / 1024;
		char text[32];

		if (i == BONNIE_IO - 1)
			count_text(rate, true, text, sizeof(text));
		else
			rate_text(rate, text, sizeof(text));
		pair(t->out, &cell, rate, text);
	}
	end_line(t->out);
}

static void
files_cells(const struct bonnie_table *t, size_t node)
{
	for (size_t i = 0; i < BONNIE_FILES; i++) {
		struct report_cell cell = bonnie_cell(t->results, t->row, bonnie_file_kinds[i], node);
		char text[32];

		count_text(cell.ops_per_s, false, text, sizeof(text));
		pair(t->out, &cell, cell.ops_per_s, text);
	}
	end_line(t->out);
}

static void
latency_line(const struct bonnie_table *t, const char *const *kinds, size_t count, size_t node)
{
	sink_printf(t->out, "%-*s", t->label, "Latency");
	for (size_t i = 0; i < count; i++) {
		struct report_cell cell = bonnie_cell(t->results, t->row, kinds[i], node);
		char text[32];

		sink_printf(t->out, "%*s", W_LATENCY, bonnie_latency(cell.latency_max_ns, text, sizeof(text)));
	}
	end_line(t->out);
}

static void
head_line(const struct bonnie_table *t, const char *first, const char *rest)
{
	sink_printf(t->out, "%-*s %s\n", t->label, first, rest);
}

static void
io_part(struct bonnie_table *t)
{
	char version[80];

	t->label = label_width(t, io_size);
	snprintf(version, sizeof(version), "Version %s", report_version(t->results));
	head_line(t, version, "------Sequential Output------ --Sequential Input- --Random-");
	head_line(t, "", "-Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--");
	head_line(t, "Name:Size etc", " /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP");
	for (size_t n = 0; n <= t->results->nodes_count; n++) {
		size_t node = n < t->results->nodes_count ? n : REPORT_ALL;

		label(t, node, io_size);
		io_cells(t, node);
		latency_line(t, bonnie_io_kinds, BONNIE_IO, node);
	}
}

static void
files_part(struct bonnie_table *t)
{
	char version[80];

	t->label = label_width(t, files_size);
	snprintf(version, sizeof(version), "Version %s", report_version(t->results));
	head_line(t, version, "------Sequential Create------ --------Random Create--------");
	head_line(t, "", "-Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--");
	head_line(t, "files:max:min", " /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP");
	for (size_t n = 0; n <= t->results->nodes_count; n++) {
		size_t node = n < t->results->nodes_count ? n : REPORT_ALL;

		label(t, node, files_size);
		files_cells(t, node);
		latency_line(t, bonnie_file_kinds, BONNIE_FILES, node);
	}
}

/* What limits the trust; bonnie++ prints no table when something failed, here it must not pass for a whole one. */
static void
unfinished(struct sink *out, const struct results *results)
{
	text_warnings(out, "", results->run.warnings, results->run.warnings_count);
	for (size_t p = 0; p < results->phases_count; p++)
		if (results->phases[p].state != PHASE_STATE_DONE)
			text_wrap(out, "! ", "phase %s %s: its numbers are not whole", results->phases[p].name,
			    field_enum_name(phase_state_names, results->phases[p].state));
}

static bool
was_run(const struct report_rows *rows, const char *test)
{
	for (size_t r = 0; r < rows->count; r++) {
		const struct phase_result *phase = report_row_find(&rows->items[r], test);

		if (phase != NULL && phase->imported == NULL)
			return true;
	}
	return false;
}

static void
legend(struct sink *out, const struct report_rows *rows)
{
	static const struct {
		const char *test, *what;
	} others[] = {
		{ "rewrite", "Rewrite overwrites in place and reads nothing before" },
		{ "random-read", "Seeks only read" },
		{ "stat", "Read of files asks for attributes only" },
	};

	sink_printf(out, "\n");
	text_wrap(out, "",
	    "k, m, g: KiB/s, MiB/s, GiB/s (1 KiB = 1024 bytes); seeks and files: per second; %%CP: of one CPU; "
	    "Latency: "
	    "the longest operation. (all N): all machines together, work over last end minus first start; (sum N): "
	    "each machine's "
	    "own rate, added. +++++: took less than half a second.");
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (was_run(rows, others[i].test))
			text_wrap(out, "! ", "not as bonnie++ does it: %s", others[i].what);
}

static enum ls_rc
render_bonnie(const struct results *results, struct sink *out, struct ls_err *err)
{
	struct report_rows rows = report_rows_of(results, PHASE_DATA | PHASE_META, false);

	(void)err;
	for (size_t r = 0; r < rows.count; r++) {
		struct bonnie_table t = { .out = out, .results = results, .row = &rows.items[r] };

		if (r > 0)
			sink_printf(out, "\n");
		if (bonnie_first(t.row, bonnie_io_kinds, BONNIE_IO) != NULL)
			io_part(&t);
		if (bonnie_first(t.row, bonnie_file_kinds, BONNIE_FILES) != NULL)
			files_part(&t);
	}
	unfinished(out, results);
	if (rows.count == 0)
		sink_printf(out, "No phase has a result.\n");
	else
		legend(out, &rows);
	report_rows_free(&rows);
	return LS_OK;
}

const struct report_format report_bonnie = {
	.name = "bonnie",
	.extension = "bonnie.txt",
	.help = "the console table of bonnie++, a line per machine and one for all",
	.render = render_bonnie,
};
