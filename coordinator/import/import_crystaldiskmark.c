/* CrystalDiskMark 3's text: "Sequential Read : 1080.370 MB/s", MB being 10^6 bytes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/import/import_int.h"

extern const struct importer import_crystaldiskmark;

static const struct {
	const char *label, *test;
	enum phase_kind kind;
	uint64_t record; /* LS_UNKNOWN_U64: not told */
	uint64_t depth;
} rows[] = {
	{ "Sequential Read :", "sequential-read", PHASE_READ, 1 << 20, 1 },
	{ "Sequential Write :", "sequential-write", PHASE_WRITE, 1 << 20, 1 },
	{ "Random Read 512KB :", "random-read-512k", PHASE_RANDOM_READ, 512 << 10, 1 },
	{ "Random Write 512KB :", "random-write-512k", PHASE_RANDOM_WRITE, 512 << 10, 1 },
	{ "Random Read 4KB (QD=1) :", "random-read-4k-q1", PHASE_RANDOM_READ, 4 << 10, 1 },
	{ "Random Write 4KB (QD=1) :", "random-write-4k-q1", PHASE_RANDOM_WRITE, 4 << 10, 1 },
	{ "Random Read 4KB (QD=32) :", "random-read-4k-q32", PHASE_RANDOM_READ, 4 << 10, 32 },
	{ "Random Write 4KB (QD=32) :", "random-write-4k-q32", PHASE_RANDOM_WRITE, 4 << 10, 32 },
};

/* Blanks around the colon vary. */
static void
collapse(const char *line, char *buf, size_t len)
{
	size_t n = 0;

	line += strspn(line, " \t");
	for (; *line != '\0' && n + 1 < len; line++) {
		if ((*line == ' ' || *line == '\t') && n > 0 && buf[n - 1] == ' ')
			continue;
		buf[n++] = *line == '\t' ? ' ' : *line;
	}
	buf[n] = '\0';
}

static bool
crystaldiskmark_sees(const struct import_text *text)
{
	return import_text_has(text, "Sequential Read :");
}

static enum ls_rc
take_row(struct results *doc, size_t r, const char *rest, size_t line, struct ls_err *err)
{
	double rate, iops;
	const char *end;

	if (!import_number_prefix(rest, &rate, &end) || import_after(end, "MB/s") == NULL)
		return import_error(
		    err, line, "\"%s\" of CrystalDiskMark is not followed by a rate in MB/s", rows[r].test);
	struct phase_result *phase = import_phase(doc, rows[r].kind, rows[r].test, line);
	import_phase_sizes(phase, LS_UNKNOWN_U64, rows[r].record);
	phase->spec.depth = rows[r].depth;
	phase->spec.direct = true;
	struct node_result *node = import_node(doc, phase, IMPORT_UNNAMED);
	node->bytes_per_s = rate * 1e6;
	import_node_metric(node, "rate", rate, "MB/s");
	const char *bracket = strchr(end, '[');
	if (bracket != NULL && import_number_prefix(bracket + 1, &iops, &end) && import_after(end, "IOPS") != NULL)
		node->ops_per_s = iops;
	return LS_OK;
}

static enum ls_rc
crystaldiskmark_read(const struct import_text *text, struct import_set *set, struct ls_err *err)
{
	static const char *const settings[] = { "Test :", "Date :", "OS :" };
	struct results *doc = NULL;
	size_t last = 0, after = 0;
	enum ls_rc rc = LS_OK;

	for (size_t i = 0; i < text->count && rc == LS_OK; i++) {
		char line[256];
		const char *rest;

		collapse(text->bare[i], line, sizeof(line));
		for (size_t r = 0; r < ARRAY_LEN(rows) && rc == LS_OK; r++) {
			if ((rest = import_after(line, rows[r].label)) == NULL)
				continue;
			if (r == 0 || doc == NULL) {
				if (doc != NULL)
					import_finish(doc, text, last);
				doc = import_doc(set, "CrystalDiskMark", NULL, "CrystalDiskMark text", i);
				import_title(doc, import_heading(text, "CrystalDiskMark", i, after));
				import_warn(doc, "each rate is the best of several runs, as CrystalDiskMark shows it");
			}
			rc = take_row(doc, r, rest, i, err);
			last = i;
		}
		for (size_t k = 0; k < ARRAY_LEN(settings) && doc != NULL && i - last < 6; k++)
			if ((rest = import_after(line, settings[k])) != NULL)
				import_setting(doc, settings[k], "%s", rest);
		after = last;
	}
	if (rc == LS_OK && doc != NULL)
		import_finish(doc, text, last);
	return rc;
}

const struct importer import_crystaldiskmark = {
	.name = "CrystalDiskMark",
	.help = "CrystalDiskMark 3: the text that it copies",
	.sees = crystaldiskmark_sees,
	.read = crystaldiskmark_read,
};
