/*
 * iozone 3.0 to 3.5xx: automatic mode, throughput mode, reports of -R, and rows of them in notes. "KB" is 1024 bytes. A run begins with
 * the first line of its head and ends where the next head begins.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/import/iozone_int.h"

extern const struct importer import_iozone;

const struct iozone_test_info import_iozone_tests[IOZONE_TESTS] = {
	[IOZONE_WRITE] = { "write", "write", "initial writers", "Writer", "Initial write", 0, PHASE_WRITE },
	[IOZONE_REWRITE] = { "rewrite", "rewrite", "rewriters", "Re-writer", "Rewrite", 0, PHASE_REWRITE },
	[IOZONE_READ] = { "read", "read", "readers", "Reader", "Read", 1, PHASE_READ },
	[IOZONE_REREAD] = { "reread", "reread", "re-readers", "Re-Reader", "Re-read", 1, PHASE_REREAD },
	[IOZONE_RANDOM_READ] = { "random-read", "read", "random readers", "Random read", "Random read", 2,
	    PHASE_RANDOM_READ },
	[IOZONE_RANDOM_WRITE] = { "random-write", "write", "random writers", "Random write", "Random write", 2,
	    PHASE_RANDOM_WRITE },
	[IOZONE_BACKWARD_READ] = { "backward-read", "read", "reverse readers", "Backward read", "Reverse Read", 3,
	    PHASE_BACKWARD_READ },
	[IOZONE_RECORD_REWRITE] = { "record-rewrite", "rewrite", NULL, "Record rewrite", NULL, 4,
	    PHASE_RECORD_REWRITE },
	[IOZONE_STRIDE_READ] = { "stride-read", "read", "stride readers", "Stride read", "Stride read", 5,
	    PHASE_STRIDE_READ },
	[IOZONE_FWRITE] = { "fwrite", "fwrite", "fwriters", "Fwrite", "Fwrite", 6, PHASE_FWRITE },
	[IOZONE_FREWRITE] = { "frewrite", "frewrite", NULL, "Re-Fwrite", NULL, 6, PHASE_FREWRITE },
	[IOZONE_FREAD] = { "fread", "fread", "freaders", "Fread", "Fread", 7, PHASE_FREAD },
	[IOZONE_FREREAD] = { "freread", "freread", NULL, "Re-Fread", NULL, 7, PHASE_FREREAD },
	[IOZONE_PWRITE] = { "pwrite", NULL, "pwrite writers", "Pwrite", "Pwrite", 9, PHASE_PWRITE },
	[IOZONE_RE_PWRITE] = { "re-pwrite", NULL, NULL, "Re-Pwrite", NULL, 9, PHASE_RE_PWRITE },
	[IOZONE_PREAD] = { "pread", NULL, "pread readers", "Pread", "Pread", 10, PHASE_PREAD },
	[IOZONE_RE_PREAD] = { "re-pread", NULL, NULL, "Re-Pread", NULL, 10, PHASE_RE_PREAD },
	[IOZONE_MIXED] = { "mixed", NULL, "mixed workload", NULL, "Mixed workload", 8, PHASE_MIXED },
};

/* Lines of the head: what they begin with, and the name of the setting. "": the line is a switch. */
static const struct {
	const char *begins;
	const char *name;
} head_lines[] = {
	{ "Version $Revision:", "version" },
	{ "Command line used:", "command" },
	{ "Run began:", "began" },
	{ "Output is in", "unit" },
	{ "Machine =", "machine" },
	{ "File size set to", "file size" },
	{ "Record Size", "record size" },
	{ "Using minimum file size of", "smallest file" },
	{ "Using maximum file size of", "largest file" },
	{ "Using Minimum Record Size", "smallest record" },
	{ "Using Maximum Record Size", "largest record" },
	{ "File stride size set to", "stride" },
	{ "Time Resolution =", "time resolution" },
	{ "Throughput test with", "throughput test with" },
	{ "Auto Mode", "" },
	{ "Cross over of record size disabled", "" },
	{ "Include fsync in write timing", "" },
	{ "Include close in write timing", "" },
	{ "O_DIRECT feature enabled", "" },
	{ "SYNC Mode", "" },
	{ "OPS Mode", "" },
	{ "Microseconds/op Mode", "" },
	{ "Purge Mode On", "" },
	{ "No retest option selected", "" },
	{ "Setting no_unlink", "" },
	{ "Stonewall disabled", "" },
	{ "Disrupted read patterns selected", "" },
	{ "Network distribution mode enabled", "" },
	{ "Multi_buffer", "" },
	{ "CPU utilization Resolution", "" },
};

/* The upper line of the titles, "random random bkwd", names nothing. */
static size_t
above_titles(const struct import_text *text, size_t line)
{
	return line > 0 && import_after(text->bare[line - 1], "random") != NULL ? line - 1 : line;
}

struct results *
import_iozone_doc(struct iozone *z, const char *form, size_t line)
{
	if (z->doc != NULL)
		return z->doc;
	z->doc =
	    import_doc(z->set, "iozone", z->version[0] != '\0' ? z->version : NULL, form, z->open ? z->start : line);
	for (size_t i = z->open ? z->start : line; i < line; i++) {
		for (size_t k = 0; k < ARRAY_LEN(head_lines); k++) {
			const char *rest = import_after(z->text->bare[i], head_lines[k].begins);

			if (rest == NULL)
				continue;
			if (head_lines[k].name[0] == '\0')
				import_setting(z->doc, head_lines[k].begins, "yes");
			else
				import_setting(z->doc, head_lines[k].name, "%s", rest);
			break;
		}
	}
	if (z->command != NULL && import_setting_get(z->doc, "command") == NULL)
		import_setting(z->doc, "command", "%s", z->command);
	/* a head is part of the run, and what names the run stands above it; a noted command may be far away */
	import_title(
	    z->doc, import_heading(z->text, "iozone -", z->banner ? z->start : above_titles(z->text, line), z->after));
	if (strcmp(form, "iozone -R report") == 0 && import_setting_get(z->doc, "unit") == NULL)
		import_warn(z->doc, "the report names no unit: its values are read as KiB/s, iozone's default");
	return z->doc;
}

const char *
import_iozone_node(const struct iozone *z)
{
	return z->machine[0] != '\0' ? z->machine : IMPORT_UNNAMED;
}

struct phase_result *
import_iozone_phase(struct iozone *z, enum iozone_test test, uint64_t file_size, uint64_t record_size, size_t line)
{
	struct phase_result *phase =
	    import_phase(z->doc, import_iozone_tests[test].kind, import_iozone_tests[test].test, line);
	/* the standard library's streams are not opened with O_DIRECT */
	bool stdio = test >= IOZONE_FWRITE && test <= IOZONE_FREREAD;

	import_phase_sizes(phase, file_size, record_size);
	phase->spec.direct = z->direct && !stdio;
	phase->spec.fsync = z->fsync;
	return phase;
}

void
import_iozone_value(const struct iozone *z, struct node_result *node, double value)
{
	switch (z->unit) {
	case IOZONE_KIB_S:
		node->bytes_per_s = value * 1024;
		break;
	case IOZONE_OPS_S:
		node->ops_per_s = value;
		break;
	case IOZONE_US_OP:
		import_node_metric(node, "time per operation", value, "us");
		break;
	}
}

static void
finish(struct iozone *z)
{
	if (z->doc == NULL)
		return;
	if (z->banner && !z->complete)
		import_warn(
		    z->doc, "the output ends without \"iozone test complete\": it may be cut, and tests missing");
	if (z->direct && z->table)
		import_warn(z->doc,
		    "direct I/O was on, but fwrite, frewrite, fread and freread go through buffers all the same");
	import_finish(z->doc, z->text, z->end);
	z->after = z->end + 1;
	z->doc = NULL;
}

void
import_iozone_begin(struct iozone *z, size_t line)
{
	finish(z);
	*z = (struct iozone){ .text = z->text, .set = z->set, .after = z->after, .start = line, .end = line };
}

/* A command as people note it: "# iozone -a -g 2G". */
static const char *
noted_command(const char *line)
{
	const char *at = strstr(line, "iozone -");

	if (at == NULL || strlen(line) > 8000)
		return NULL;
	while (at > line && at[-1] != ' ' && at[-1] != '\t' && at[-1] != '#' && at[-1] != '$' && at[-1] != '"')
		at--;
	return at;
}

static void
note(struct iozone *z, const char *line)
{
	const char *rest;

	if ((rest = import_after(line, "Version $Revision:")) != NULL)
		import_copy(z->version, sizeof(z->version), rest, strcspn(rest, " $"));
	if ((rest = import_after(line, "Command line used:")) != NULL) {
		z->command = rest;
		z->banner = true;
	}
	if ((rest = import_after(line, "Machine =")) != NULL) {
		struct import_words w;

		import_words_of(rest, &w);
		import_word_copy(&w, w.count > 1 ? 1 : 0, z->machine, sizeof(z->machine));
	}
	z->direct |= import_after(line, "O_DIRECT feature enabled") != NULL;
	z->fsync |= import_after(line, "Include fsync in write timing") != NULL;
	if (import_after(line, "OPS Mode") != NULL)
		z->unit = IOZONE_OPS_S;
	if (import_after(line, "Microseconds/op Mode") != NULL)
		z->unit = IOZONE_US_OP;
}

/* A line that is no result: part of a head, the end, or nothing of ours. */
static void
other_line(struct iozone *z, size_t i)
{
	const char *line = z->text->bare[i];
	bool title = strstr(line, "Performance Test of File I/O") != NULL;
	const char *command = noted_command(line);
	bool head = title || command != NULL;

	if (strstr(line, "iozone test complete") != NULL && z->doc != NULL) {
		z->complete = true;
		z->end = i;
		return;
	}
	for (size_t k = 0; k < ARRAY_LEN(head_lines) && !head; k++)
		head = import_after(line, head_lines[k].begins) != NULL;
	if (!head)
		return;
	if (z->doc != NULL || title || !z->open)
		import_iozone_begin(z, i);
	z->open = true;
	if (command != NULL && !z->banner)
		z->command = command;
	note(z, line);
}

static bool
iozone_sees(const struct import_text *text)
{
	for (size_t i = 0; i < text->count; i++)
		if (import_iozone_table_title(text->bare[i]))
			return true;
	return import_text_has(text, "Children see throughput for") || import_text_has(text, "riter report\"") ||
	    import_text_has(text, "eader report\"") || import_text_has(text, "\"Throughput report");
}

static enum ls_rc
iozone_read(const struct import_text *text, struct import_set *set, struct ls_err *err)
{
	struct iozone z = { .text = text, .set = set };
	enum ls_rc rc = LS_OK;

	for (size_t i = 0; i < text->count && rc == LS_OK; i++) {
		bool took = false;

		/* a second table belongs to another run, whether it has a head or not */
		if (z.table && import_iozone_table_title(text->bare[i]))
			import_iozone_begin(&z, i);
		rc = import_iozone_table(&z, &i, &took, err);
		if (rc == LS_OK && !took)
			rc = import_iozone_throughput(&z, &i, &took, err);
		if (rc == LS_OK && !took)
			rc = import_iozone_excel(&z, &i, &took, err);
		if (rc == LS_OK && !took)
			other_line(&z, i);
	}
	if (rc == LS_OK)
		finish(&z);
	return rc;
}

const struct importer import_iozone = {
	.name = "iozone",
	.help = "iozone 3.0 to 3.5xx: tables of automatic mode, throughput mode, reports of -R",
	.sees = iozone_sees,
	.read = iozone_read,
};
