/* The making of documents. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/version.h"
#include "coordinator/import/import_int.h"

#define TITLE_MAX   128
#define HEADING_FAR 200 /* lines above a block in which a heading is looked for */

static char *format(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

static char *
format(const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	text = ls_malloc((size_t)LS_MAX(n, 0) + 1);
	vsnprintf(text, (size_t)LS_MAX(n, 0) + 1, fmt, ap);
	return text;
}

/* A text within a limit of bytes, on the heap. */
static char *
limited(const char *text, size_t max)
{
	char *copy = ls_malloc(max + 1);

	import_copy(copy, max + 1, text, strlen(text));
	return copy;
}

static void
replace(char **to, char *text)
{
	free(*to);
	*to = text;
}

struct results *
import_doc(struct import_set *set, const char *tool, const char *version, const char *format_name, size_t line)
{
	struct results *doc = ls_malloc(sizeof(*doc));
	struct origin *origin = ls_malloc(sizeof(*origin));

	field_struct_init(&results_desc, doc);
	field_struct_init(&origin_desc, origin);
	replace(&origin->tool, limited(tool, 32));
	replace(&origin->format, limited(format_name, 64));
	origin->first_line = line + 1;
	doc->run.origin = origin;
	doc->run.state = RUN_FINISHED;
	replace(&doc->run.lockstep.version, limited(lockstep_version, 64));
	replace(&doc->run.lockstep.build, limited(lockstep_build, 64));
	if (version != NULL)
		import_set_version(doc, version);

	set->docs = ls_grow(set->docs, set->count, sizeof(*set->docs));
	set->docs[set->count++] = doc;
	return doc;
}

void
import_set_version(struct results *doc, const char *version)
{
	replace(&doc->run.origin->version, limited(version, 64));
}

void
import_setting(struct results *doc, const char *name, const char *fmt, ...)
{
	struct origin *o = doc->run.origin;
	struct setting *s;
	va_list ap;

	if (o->settings_count >= 1024)
		return;
	o->settings = ls_grow(o->settings, o->settings_count, sizeof(*o->settings));
	s = &o->settings[o->settings_count++];
	field_struct_init(&setting_desc, s);
	replace(&s->name, limited(name, 128));
	va_start(ap, fmt);
	char *value = format(fmt, ap);
	va_end(ap);
	replace(&s->value, limited(value, 8192));
	free(value);
}

const char *
import_setting_get(const struct results *doc, const char *name)
{
	for (size_t i = 0; i < doc->run.origin->settings_count; i++)
		if (strcmp(doc->run.origin->settings[i].name, name) == 0)
			return doc->run.origin->settings[i].value;
	return NULL;
}

void
import_title(struct results *doc, const char *title)
{
	const struct origin *o = doc->run.origin;
	char *made = ls_asprintf("%s%s%s%s%s", o->tool, o->version != NULL ? " " : "",
	    o->version != NULL ? o->version : "", title != NULL ? ": " : "", title != NULL ? title : "");

	replace(&doc->run.name, limited(made, TITLE_MAX));
	replace(&doc->run.job.name, limited(made, TITLE_MAX));
	free(made);
}

/* More letters than digits, short, and no sentence: it may name what follows. */
static bool
names_something(const char *line)
{
	size_t letters = 0;
	size_t digits = 0;
	size_t len = strlen(line);

	for (size_t i = 0; i < len; i++) {
		letters += (line[i] | 0x20) >= 'a' && (line[i] | 0x20) <= 'z';
		digits += line[i] >= '0' && line[i] <= '9';
	}
	return letters > digits && len <= 80 && strstr(line, " = ") == NULL && line[len - 1] != '.' &&
	    line[len - 1] != ';';
}

const char *
import_heading(const struct import_text *text, const char *command, size_t line, size_t after)
{
	size_t far = line > HEADING_FAR ? line - HEADING_FAR : 0;
	bool above = true;

	for (size_t i = line; i > LS_MAX(after, far); i--) {
		const char *l = text->bare[i - 1] + strspn(text->bare[i - 1], "#! \t");
		bool marked = strchr(text->bare[i - 1], '#') == text->bare[i - 1] && text->bare[i - 1][0] != '\0';

		if (l[strcspn(l, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")] == '\0')
			continue;
		if (strstr(l, command) != NULL || ((above || marked) && names_something(l)))
			return l;
		above = false;
	}
	return NULL;
}

void
import_warn(struct results *doc, const char *fmt, ...)
{
	va_list ap;

	if (doc->run.warnings_count >= 1000)
		return;
	va_start(ap, fmt);
	char *text = format(fmt, ap);
	va_end(ap);
	warnings_add(&doc->run.warnings, &doc->run.warnings_count, "%s", text);
	free(text);
}

void
import_phase_warn(struct phase_result *phase, const char *fmt, ...)
{
	va_list ap;

	if (phase->warnings_count >= 1000)
		return;
	va_start(ap, fmt);
	char *text = format(fmt, ap);
	va_end(ap);
	warnings_add(&phase->warnings, &phase->warnings_count, "%s", text);
	free(text);
}

struct phase_result *
import_phase(struct results *doc, enum phase_kind kind, const char *test, size_t line)
{
	struct phase_result *phase;

	doc->phases = ls_grow(doc->phases, doc->phases_count, sizeof(*doc->phases));
	phase = &doc->phases[doc->phases_count];
	field_struct_init(&phase_result_desc, phase);
	phase->kind = phase->spec.kind = (int)kind;
	phase->index = doc->phases_count++;
	replace(&phase->name, limited(test, 128));
	phase->imported = ls_malloc(sizeof(*phase->imported));
	field_struct_init(&imported_phase_desc, phase->imported);
	replace(&phase->imported->test, limited(test, 64));
	phase->imported->line = line + 1;
	return phase;
}

void
import_phase_sizes(struct phase_result *phase, uint64_t file_size, uint64_t record_size)
{
	phase->imported->file_size = file_size;
	phase->imported->record_size = record_size;
	if (file_size != LS_UNKNOWN_U64)
		phase->spec.file_size = file_size;
	if (record_size != LS_UNKNOWN_U64 && record_size >= 1 && record_size <= 1 << 30)
		phase->spec.record_size = record_size;
}

static void
add_run_node(struct results *doc, const char *name)
{
	for (size_t i = 0; i < doc->nodes_count; i++)
		if (strcmp(doc->nodes[i].name, name) == 0)
			return;
	doc->nodes = ls_grow(doc->nodes, doc->nodes_count, sizeof(*doc->nodes));
	field_struct_init(&run_node_desc, &doc->nodes[doc->nodes_count]);
	replace(&doc->nodes[doc->nodes_count++].name, ls_strdup(name));
}

struct node_result *
import_node(struct results *doc, struct phase_result *phase, const char *name)
{
	struct node_result *node;

	phase->nodes = ls_grow(phase->nodes, phase->nodes_count, sizeof(*phase->nodes));
	node = &phase->nodes[phase->nodes_count++];
	field_struct_init(&node_result_desc, node);
	replace(&node->node, limited(name, 64));
	node->bytes = node->ops = LS_UNKNOWN_U64;
	add_run_node(doc, node->node);
	return node;
}

static void
metric_add(struct metric **list, size_t *count, const char *name, double value, const char *unit)
{
	if (*count >= 256)
		return;
	*list = ls_grow(*list, *count, sizeof(**list));
	struct metric *m = &(*list)[(*count)++];
	field_struct_init(&metric_desc, m);
	replace(&m->name, limited(name, 64));
	m->value = value;
	replace(&m->unit, limited(unit, 32));
}

void
import_node_metric(struct node_result *node, const char *name, double value, const char *unit)
{
	metric_add(&node->metrics, &node->metrics_count, name, value, unit);
}

void
import_phase_metric(struct phase_result *phase, const char *name, double value, const char *unit)
{
	metric_add(&phase->imported->metrics, &phase->imported->metrics_count, name, value, unit);
}

struct latency *
import_latency(struct node_result *node)
{
	if (node->latency_ns == NULL) {
		node->latency_ns = ls_malloc(sizeof(*node->latency_ns));
		field_struct_init(&latency_desc, node->latency_ns);
	}
	return node->latency_ns;
}

struct op_result *
import_op(struct node_result *node, enum op_kind op)
{
	struct op_result **slot = by_op_slot(&node->by_op, op);

	if (*slot == NULL) {
		*slot = ls_malloc(sizeof(**slot));
		field_struct_init(&op_result_desc, *slot);
	}
	return *slot;
}

void
import_label_sums(struct results *doc)
{
	for (size_t p = 0; p < doc->phases_count; p++) {
		struct phase_result *phase = &doc->phases[p];
		double bytes = 0;
		double ops = 0;

		if (phase->nodes_count < 2 || !isnan(phase->aggregate.sum_of_rates.bytes_per_s) ||
		    !isnan(phase->aggregate.sum_of_rates.ops_per_s))
			continue;
		for (size_t n = 0; n < phase->nodes_count; n++) {
			bytes += phase->nodes[n].bytes_per_s;
			ops += phase->nodes[n].ops_per_s;
		}
		phase->aggregate.sum_of_rates = (struct rate){ .bytes_per_s = bytes, .ops_per_s = ops };
		/* the tool itself held its processes together and says what they did in all */
		if (!isnan(phase->aggregate.last_done.bytes_per_s) || !isnan(phase->aggregate.last_done.ops_per_s))
			continue;
		if (isnan(bytes) && isnan(ops))
			import_phase_warn(
			    phase, "not taken at one barrier: no aggregate, and no sum as rates are missing");
		else if (isnan(bytes))
			import_phase_warn(phase,
			    "not taken at one barrier: no aggregate; the sum of rates, %.1f/s, only adds what each "
			    "told of "
			    "itself",
			    ops);
		else
			import_phase_warn(phase,
			    "not taken at one barrier: no aggregate; the sum of rates, %.0f MB/s (%.2f Gb/s on a "
			    "wire), "
			    "only adds what each told of itself",
			    bytes / 1e6, bytes * 8 / 1e9);
	}
}

static uint64_t
hash_text(uint64_t h, const char *text)
{
	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ULL;
	return (h ^ '\n') * 0x100000001b3ULL;
}

void
import_finish(struct results *doc, const struct import_text *text, size_t last)
{
	struct origin *o = doc->run.origin;
	uint64_t a = hash_text(0xcbf29ce484222325ULL, o->tool);
	uint64_t b = hash_text(0x84222325cbf29ce4ULL, o->format);

	/* documents of one table differ in their column */
	if (import_setting_get(doc, "column") != NULL)
		a = hash_text(a, import_setting_get(doc, "column"));
	o->last_line = LS_MIN(last + 1, (size_t)LS_MAX(text->count, 1UL));
	replace(&o->file, limited(text->name, 4095));
	for (size_t i = (size_t)o->first_line - 1; i < o->last_line && i < text->count; i++) {
		a = hash_text(a, text->lines[i]);
		b = hash_text(b, text->lines[i]);
	}
	replace(
	    &doc->run.id, ls_asprintf("import-%016llx%08llx", (unsigned long long)a, (unsigned long long)(b >> 32)));
	if (doc->run.name == NULL || doc->run.name[0] == '\0')
		import_title(doc, NULL);
	import_label_sums(doc);
}
