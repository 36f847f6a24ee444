/*
 * elbencho's results CSV, whose last column is the command line with quotes of its own, and its live CSV, a row each few seconds: what
 * was done by then, so that the rate of the whole is its last row over its time, not a mean of rows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/import/elbencho_int.h"

#define MIB 1048576.0

/* Columns by title. */
struct columns {
	char **titles; /* owned */
	size_t count;
};

static const char *
field(const struct columns *c, char **f, size_t count, const char *title)
{
	for (size_t i = 0; i < c->count && i < count; i++)
		if (strcmp(c->titles[i], title) == 0)
			return f[i];
	return "";
}

static double
value(const struct columns *c, char **f, size_t count, const char *title)
{
	const char *text = field(c, f, count, title);
	double v;

	return import_number(text, strlen(text), &v) ? v : (double)NAN;
}

static struct elbencho_pair
pair(const struct columns *c, char **f, size_t count, const char *title)
{
	char name[64];
	struct elbencho_pair p;

	snprintf(name, sizeof(name), "%s [first]", title);
	p.first = value(c, f, count, name);
	snprintf(name, sizeof(name), "%s [last]", title);
	p.last = value(c, f, count, name);
	return p;
}

static void
latency(const struct columns *c, char **f, size_t count, const char *title, double *out)
{
	static const char *const parts[] = { "min", "avg", "max" };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s [%s]", title, parts[i]);
		out[i] = value(c, f, count, name);
	}
}

/* What stands behind the last column but one; the command's quotes are no quotes of CSV. */
static const char *
command_of(const char *line, size_t columns)
{
	for (size_t i = 0; i + 1 < columns; i++) {
		line = strchr(line, ',');
		if (line == NULL)
			return "";
		line++;
	}
	return line;
}

static struct results *
begin_doc(struct import_set *set, const struct columns *c, char **f, size_t count, const char *command, size_t line)
{
	static const char *const settings[] = { "label", "path type", "paths", "hosts", "threads", "dirs", "files",
		"file size", "block size", "direct IO", "random", "IO depth", "ISO date" };
	const char *version = field(c, f, count, "version");
	const char *label = field(c, f, count, "label");
	struct results *doc = import_doc(set, "elbencho", version[0] != '\0' ? version : NULL, "elbencho CSV", line);

	import_title(doc, label[0] != '\0' ? label : NULL);
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (field(c, f, count, settings[i])[0] != '\0')
			import_setting(doc, settings[i], "%s", field(c, f, count, settings[i]));
	if (command[0] != '\0')
		import_setting(doc, "command", "%s", command);
	return doc;
}

static bool
has_phase(const struct results *doc, const char *name)
{
	for (size_t i = 0; i < doc->phases_count; i++)
		if (strcmp(doc->phases[i].imported->test, name) == 0)
			return true;
	return false;
}

static void
add_row(struct results *doc, const struct columns *c, char **f, size_t count, size_t line)
{
	struct elbencho_phase p;
	size_t before = doc->phases_count;

	import_elbencho_phase_init(&p, field(c, f, count, "operation"), line);
	p.elapsed_ms = pair(c, f, count, "time ms");
	p.iops = pair(c, f, count, "IOPS");
	p.mib_s = pair(c, f, count, "MiB/s");
	p.mib = pair(c, f, count, "MiB");
	p.entries_s = pair(c, f, count, "entries/s");
	p.entries = pair(c, f, count, "entries");
	p.cpu = pair(c, f, count, "CPU%");
	latency(c, f, count, "IO lat us", p.io_latency);
	latency(c, f, count, "Ent lat us", p.entry_latency);
	import_elbencho_add(doc, &p);
	double size = value(c, f, count, "file size");
	double block = value(c, f, count, "block size");
	if (doc->phases_count > before)
		import_phase_sizes(&doc->phases[before], import_to_u64(size), import_to_u64(block));
}

static enum ls_rc
read_results(
    const struct import_text *text, struct import_set *set, size_t *line, const struct columns *c, struct ls_err *err)
{
	struct results *doc = NULL;
	const char *command = "";
	size_t i = *line + 1;
	size_t first = *line;

	for (; i < text->count; i++) {
		const char *own = command_of(text->bare[i], c->count);
		size_t count;

		if (strchr(text->bare[i], ',') == NULL)
			break;
		char **f = import_csv_fields(text->bare[i], &count);
		if (count < c->count) {
			free(f);
			return import_error(
			    err, i, "this row of elbencho's CSV has %zu of %zu fields", count, c->count);
		}
		/* another command, or a phase again: another run */
		if (doc == NULL || strcmp(own, command) != 0 || has_phase(doc, field(c, f, count, "operation"))) {
			if (doc != NULL)
				import_finish(doc, text, i - 1);
			doc = begin_doc(set, c, f, count, own, doc == NULL ? first : i);
			command = own;
		}
		add_row(doc, c, f, count, i);
		free(f);
		if (doc->phases_count > 0)
			*line = i;
	}
	if (doc == NULL || doc->phases_count == 0)
		return import_error(err, first, "elbencho's CSV has no row of a phase that measures anything");
	import_finish(doc, text, i - 1);
	*line = i - 1;
	return LS_OK;
}

/* --- live CSV ----------------------------------------------------------------------------------------------------- */

struct live {
	size_t rows, line;
	double ms, bytes, active, most, idle_rows;
	char name[32];
};

static void
live_end(struct results *doc, const struct live *l)
{
	if (l->rows == 0)
		return;
	struct phase_result *phase =
	    import_phase(doc, strcmp(l->name, "READ") == 0 ? PHASE_READ : PHASE_WRITE, l->name, l->line);
	phase->duration_ns = import_to_i64(l->ms * 1e6);
	phase->aggregate.bytes = import_to_u64(l->bytes);
	if (l->ms > 0)
		phase->aggregate.last_done.bytes_per_s = l->bytes / (l->ms / 1e3);
	import_phase_metric(phase, "rows", (double)l->rows, "");
	import_phase_metric(phase, "largest rate of a row", l->most, "MiB/s");
	import_phase_metric(phase, "last row: time", l->ms, "ms");
	import_phase_metric(phase, "last row: active workers", l->active, "");
	import_phase_metric(phase, "rows without progress", l->idle_rows, "");
	if (l->active > 0)
		import_phase_warn(phase,
		    "%.0f workers were still active in the last row: the end of the phase is not in the file",
		    l->active);
	if (l->idle_rows > 0)
		import_phase_warn(phase, "%.0f of %zu rows show no progress: a mean of the others would be too high",
		    l->idle_rows, l->rows);
}

static enum ls_rc
live_row(struct results *doc, const struct columns *c, char **f, size_t count, size_t line, struct live *l,
    struct ls_err *err)
{
	const char *name = field(c, f, count, "Phase");
	double ms = value(c, f, count, "RuntimeMS");
	double bytes = value(c, f, count, "DoneBytes");
	double rate = value(c, f, count, "MiB/s");

	if (!(ms >= 0 && ms < 9e12) || !(bytes >= 0 && bytes < 9e15) || isnan(rate))
		return import_error(err, line, "this row of elbencho's live CSV does not tell time, bytes and rate");
	if (strcmp(field(c, f, count, "Rank"), "Total") != 0)
		return LS_OK;
	if (l->rows > 0 && (strcmp(l->name, name) != 0 || ms < l->ms)) {
		live_end(doc, l);
		l->rows = 0;
	}
	if (l->rows == 0) {
		*l = (struct live){ .line = line };
		import_copy(l->name, sizeof(l->name), name, strlen(name));
	}
	l->rows++;
	l->ms = ms;
	l->bytes = bytes;
	l->active = value(c, f, count, "Active");
	l->most = fmax(l->most, rate);
	l->idle_rows += rate == 0 && bytes > 0;
	return LS_OK;
}

static enum ls_rc
read_live(
    const struct import_text *text, struct import_set *set, size_t *line, const struct columns *c, struct ls_err *err)
{
	struct results *doc = import_doc(set, "elbencho", NULL, "elbencho live CSV", *line);
	struct live l = { 0 };
	size_t i = *line + 1;
	enum ls_rc rc = LS_OK;

	for (; i < text->count && rc == LS_OK && strchr(text->bare[i], ',') != NULL; i++) {
		size_t count;
		char **f = import_csv_fields(text->bare[i], &count);

		rc = count + 1 < c->count
		    ? import_error(err, i, "this row of elbencho's live CSV has %zu of %zu fields", count, c->count)
		    : live_row(doc, c, f, count, i, &l, err);
		free(f);
	}
	if (rc != LS_OK)
		return rc;
	live_end(doc, &l);
	if (doc->phases_count == 0)
		return import_error(err, *line, "elbencho's live CSV has no row of a total");
	*line = i - 1;
	import_finish(doc, text, *line);
	return LS_OK;
}

enum ls_rc
import_elbencho_csv(
    const struct import_text *text, struct import_set *set, size_t *line, bool *took, struct ls_err *err)
{
	const char *l = text->bare[*line];
	bool live = strncmp(l, "Label,Phase,RuntimeMS,", 22) == 0;
	struct columns c;

	*took = live || strncmp(l, "ISO date,label,", 15) == 0;
	if (!*took)
		return LS_OK;
	c.titles = import_csv_fields(l, &c.count);
	enum ls_rc rc = live ? read_live(text, set, line, &c, err) : read_results(text, set, line, &c, err);
	free(c.titles);
	return rc;
}
