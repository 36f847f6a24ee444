/*
 * elbencho's console: blocks of "NAME  Elapsed ms : first last" and further rows. Where services log into the same file, each phase has a
 * block of each service and then the master's, which alone is the result of the run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/import/elbencho_int.h"

extern const struct importer import_elbencho;

#define MIB        1048576.0
#define PHASES_MAX 4096

struct elbencho {
	const struct import_text *text;
	struct import_set *set;
	size_t services; /* "Service now listening" */
	size_t after;    /* where the run before ended */
	size_t title;    /* line of the titles of this run */
	bool open;
	bool limit;                    /* "Terminating due to phase time limit" */
	const char *working;           /* "Working on ...": what a wrapper says of the run that comes */
	const char *command;           /* "COMMAND LINE: ..." */
	struct elbencho_phase *phases; /* owned */
	size_t count;
};

static const struct {
	const char *name;
	enum phase_kind kind;
} kinds[] = {
	{ "WRITE", PHASE_WRITE },
	{ "READ", PHASE_READ },
	{ "MKDIRS", PHASE_MKDIR },
	{ "MKBUCKETS", PHASE_CREATE },
	{ "STAT", PHASE_STAT },
	{ "HEADOBJ", PHASE_STAT },
	{ "RMFILES", PHASE_DELETE },
	{ "RMOBJECTS", PHASE_DELETE },
	{ "RMDIRS", PHASE_RMDIR },
	{ "RMBUCKETS", PHASE_DELETE },
};

void
import_elbencho_phase_init(struct elbencho_phase *p, const char *name, size_t line)
{
	const struct elbencho_pair none = { (double)NAN, (double)NAN };

	*p = (struct elbencho_phase){ .line = line, .end = line };
	import_copy(p->name, sizeof(p->name), name, strlen(name));
	p->elapsed_ms = p->iops = p->mib_s = p->mib = p->entries_s = p->entries = p->cpu = none;
	for (size_t i = 0; i < 3; i++)
		p->io_latency[i] = p->entry_latency[i] = (double)NAN;
}

static bool
is_pause(const char *name)
{
	return strcmp(name, "SYNC") == 0 || strcmp(name, "DROPCACHE") == 0;
}

static void
pair_metric(struct phase_result *phase, const char *name, struct elbencho_pair pair, const char *unit)
{
	char metric[64];

	if (!isnan(pair.first)) {
		snprintf(metric, sizeof(metric), "%s first done", name);
		import_phase_metric(phase, metric, pair.first, unit);
	}
	if (!isnan(pair.last)) {
		snprintf(metric, sizeof(metric), "%s last done", name);
		import_phase_metric(phase, metric, pair.last, unit);
	}
}

static void
latency_metrics(struct phase_result *phase, const char *name, const double *value)
{
	static const char *const parts[] = { "min", "avg", "max" };

	for (size_t i = 0; i < 3; i++) {
		char metric[64];

		if (isnan(value[i]))
			continue;
		snprintf(metric, sizeof(metric), "%s latency %s", name, parts[i]);
		import_phase_metric(phase, metric, value[i], "us");
	}
}

void
import_elbencho_add(struct results *doc, const struct elbencho_phase *p)
{
	enum phase_kind kind = PHASE_WRITE;

	if (is_pause(p->name))
		return;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].name, p->name) == 0)
			kind = kinds[i].kind;
	struct phase_result *phase = import_phase(doc, kind, p->name, p->line);
	struct aggregate *a = &phase->aggregate;
	a->first_done.bytes_per_s = p->mib_s.first * MIB;
	a->last_done.bytes_per_s = p->mib_s.last * MIB;
	a->first_done.ops_per_s = isnan(p->iops.first) ? p->entries_s.first : p->iops.first;
	a->last_done.ops_per_s = isnan(p->iops.last) ? p->entries_s.last : p->iops.last;
	if (p->mib.last >= 0 && p->mib.last < 8e12)
		a->bytes = import_to_u64(p->mib.last * MIB);
	if (p->elapsed_ms.last >= 0)
		phase->duration_ns = import_to_i64(p->elapsed_ms.last * 1e6);
	pair_metric(phase, "elapsed", p->elapsed_ms, "ms");
	pair_metric(phase, "rate", p->mib_s, "MiB/s");
	pair_metric(phase, "IOPS", p->iops, "op/s");
	pair_metric(phase, "total", p->mib, "MiB");
	pair_metric(phase, "entries", p->entries_s, "1/s");
	pair_metric(phase, "entries total", p->entries, "");
	pair_metric(phase, "CPU", p->cpu, "%");
	latency_metrics(phase, "I/O", p->io_latency);
	latency_metrics(phase, "entry", p->entry_latency);
	if (p->elapsed_ms.last <= 1)
		import_phase_warn(
		    phase, "it took %.0f ms: too short for a rate that means anything", p->elapsed_ms.last);
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

static bool
is_title(const char *line)
{
	return strncmp(line, "OPERATION ", 10) == 0 && strstr(line, "RESULT TYPE") != NULL;
}

/* "label : first last" from text; false when there are no numbers. */
static bool
row_of(const char *text, char *label, size_t len, struct elbencho_pair *out)
{
	const char *colon = strchr(text, ':');
	struct import_words w;

	if (colon == NULL)
		return false;
	text += strspn(text, " \t");
	import_copy(label, len, text, (size_t)(colon - text));
	for (size_t n = strlen(label); n > 0 && label[n - 1] == ' '; n--)
		label[n - 1] = '\0';
	import_words_of(colon + 1, &w);
	if (w.count < 1 || w.count > 2 || !import_word_number(&w, 0, &out->first))
		return false;
	out->last = out->first;
	return w.count == 1 || import_word_number(&w, 1, &out->last);
}

static void
take_row(struct elbencho_phase *p, const char *label, struct elbencho_pair value)
{
	if (strcmp(label, "Elapsed ms") == 0 || strcmp(label, "Elapsed time ms") == 0)
		p->elapsed_ms = value;
	else if (strcmp(label, "IOPS") == 0)
		p->iops = value;
	else if (strcmp(label, "Throughput MiB/s") == 0)
		p->mib_s = value;
	else if (strcmp(label, "Total MiB") == 0)
		p->mib = value;
	else if (strstr(label, "s/s") != NULL)
		p->entries_s = value; /* Files/s, Dirs/s, Objects/s */
	else if (strstr(label, " total") != NULL)
		p->entries = value;
	else if (strncmp(label, "CPU", 3) == 0)
		p->cpu = value;
}

/* "WRITE     Elapsed ms       :      49659      94917": begins a block. */
static bool
begins_block(const char *line, char *name, size_t len, const char **rest)
{
	size_t n = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	if (n < 3 || (line[n] != ' ' && line[n] != '\t'))
		return false;
	*rest = line + n + strspn(line + n, " \t");
	import_copy(name, len, line, n);
	return strncmp(*rest, "Elapsed", 7) == 0;
}

static enum ls_rc
take_block(struct elbencho *e, size_t *line, const char *name, const char *rest, struct ls_err *err)
{
	struct elbencho_phase p;
	struct elbencho_pair value;
	char label[64];

	import_elbencho_phase_init(&p, name, *line);
	if (!row_of(rest, label, sizeof(label), &value))
		return import_error(err, *line, "the block %s of elbencho does not tell its time", name);
	take_row(&p, label, value);
	size_t i = *line + 1;
	for (; i < e->text->count; i++) {
		const char *l = e->text->bare[i];

		if ((l[0] != ' ' && l[0] != '\t') || !row_of(l, label, sizeof(label), &value))
			break;
		take_row(&p, label, value);
	}
	p.end = i < e->text->count && strcmp(e->text->bare[i], "---") == 0 ? i : i - 1;
	*line = i - 1;
	if (e->count >= PHASES_MAX)
		return import_error(err, i, "more than %d blocks of elbencho in one run", PHASES_MAX);
	e->phases = ls_grow(e->phases, e->count, sizeof(*e->phases));
	e->phases[e->count++] = p;
	return LS_OK;
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

/* A value of the master is the sum of its services', each rounded. */
static bool
adds_up(const struct elbencho_phase *services, size_t count, double mib, double entries)
{
	double a = 0, b = 0;

	for (size_t i = 0; i < count; i++) {
		a += services[i].mib.last;
		b += services[i].entries.last;
	}
	return !(fabs(a - mib) > (double)count) && !(fabs(b - entries) > 0.5);
}

/* Keeps the master's block of each phase. */
static enum ls_rc
keep_master(struct elbencho *e, struct ls_err *err)
{
	size_t group = e->services + 1;
	size_t kept = 0;

	if (e->count % group != 0)
		return import_error(err, e->title,
		    "%zu services wrote into this log, but its %zu blocks are no whole number of phases: which are the "
		    "run's "
		    "results cannot be told",
		    e->services, e->count);
	for (size_t i = 0; i < e->count; i += group) {
		const struct elbencho_phase *master = &e->phases[i + group - 1];

		for (size_t k = 0; k < group; k++)
			if (strcmp(e->phases[i + k].name, master->name) != 0)
				return import_error(err, e->phases[i + k].line,
				    "%zu services wrote into this log, and blocks of %s and %s are mixed: which are "
				    "the run's "
				    "results cannot be told",
				    e->services, e->phases[i + k].name, master->name);
		if (!adds_up(&e->phases[i], e->services, master->mib.last, master->entries.last))
			return import_error(err, master->line,
			    "the last of %zu blocks of %s is not the sum of those before: the master's is not among "
			    "them",
			    group, master->name);
		e->phases[kept++] = *master;
	}
	e->count = kept;
	return LS_OK;
}

static void
command_settings(struct results *doc, const char *command)
{
	static const char *const options[] = { "--hosts", "--threads", "--files", "--dirs", "--size", "--block",
		"--iodepth", "--timelimit", "-t", "-b", "-s" };
	const char *p = command;

	import_setting(doc, "command", "%s", command);
	while ((p = strstr(p, "\"-")) != NULL) {
		size_t len = strcspn(p + 1, "\"");

		for (size_t i = 0; i < ARRAY_LEN(options); i++) {
			if (strlen(options[i]) != len || strncmp(options[i], p + 1, len) != 0)
				continue;
			const char *value = strchr(p + 1 + len, '"');
			value = value != NULL ? strchr(value + 1, '"') : NULL;
			if (value == NULL)
				return;
			import_setting(doc, options[i] + strspn(options[i], "-"), "%.*s",
			    (int)LS_MIN(strcspn(value + 1, "\""), (size_t)4000), value + 1);
		}
		p += 1 + len;
	}
}

static enum ls_rc
finish(struct elbencho *e, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;
	size_t services = e->services;

	if (!e->open)
		return LS_OK;
	if (e->count == 0)
		return import_error(err, e->title, "elbencho's table has titles and no phase: nothing was run");
	size_t last = e->phases[e->count - 1].end;
	if (services > 0)
		rc = keep_master(e, err);
	if (rc != LS_OK)
		return rc;
	struct results *doc = import_doc(e->set, "elbencho", NULL, "elbencho console", e->title);
	import_title(doc, e->working != NULL ? e->working : NULL);
	if (e->command != NULL)
		command_settings(doc, e->command);
	if (e->working != NULL)
		import_setting(doc, "working on", "%s", e->working);
	for (size_t i = 0; i < e->count; i++)
		import_elbencho_add(doc, &e->phases[i]);
	if (services > 0)
		import_warn(
		    doc, "%zu services wrote into the same log: only the master's blocks are the result", services);
	if (e->limit)
		import_warn(doc, "a phase was ended by its time limit");
	if (doc->phases_count == 0)
		return import_error(err, e->title, "elbencho's table has no phase that measures anything");
	import_finish(doc, e->text, last);
	e->after = last + 1;
	e->open = e->limit = false;
	e->count = 0;
	e->working = NULL;
	return LS_OK;
}

static enum ls_rc
take_line(struct elbencho *e, size_t *i, struct ls_err *err)
{
	const char *line = e->text->bare[*i];
	const char *rest;
	char name[32];
	enum ls_rc rc = LS_OK;

	if (is_title(line)) {
		rc = finish(e, err);
		e->title = *i;
		e->open = true;
		return rc;
	}
	if ((rest = import_after(line, "Working on ")) != NULL) {
		rc = finish(e, err);
		e->working = rest;
		return rc;
	}
	if ((rest = import_after(line, "COMMAND LINE:")) != NULL) {
		rc = finish(e, err);
		e->command = rest;
		return rc;
	}
	e->limit |= e->open && strstr(line, "Terminating due to phase time limit") != NULL;
	if (e->open && begins_block(line, name, sizeof(name), &rest))
		rc = take_block(e, i, name, rest, err);
	return rc;
}

static bool
elbencho_sees(const struct import_text *text)
{
	for (size_t i = 0; i < text->count; i++)
		if (is_title(text->bare[i]) || strncmp(text->bare[i], "ISO date,label,", 15) == 0 ||
		    strncmp(text->bare[i], "Label,Phase,RuntimeMS,", 22) == 0)
			return true;
	return false;
}

static enum ls_rc
elbencho_read(const struct import_text *text, struct import_set *set, struct ls_err *err)
{
	struct elbencho e = { .text = text, .set = set };
	enum ls_rc rc = LS_OK;

	for (size_t i = 0; i < text->count; i++)
		e.services += strncmp(text->bare[i], "Service now listening", 21) == 0;
	for (size_t i = 0; i < text->count && rc == LS_OK; i++) {
		bool took;

		rc = import_elbencho_csv(text, set, &i, &took, err);
		if (rc == LS_OK && !took)
			rc = take_line(&e, &i, err);
	}
	if (rc == LS_OK)
		rc = finish(&e, err);
	free(e.phases);
	return rc;
}

const struct importer import_elbencho = {
	.name = "elbencho",
	.help = "elbencho 1.x to 3.x: console output, results CSV, live CSV",
	.sees = elbencho_sees,
	.read = elbencho_read,
};
