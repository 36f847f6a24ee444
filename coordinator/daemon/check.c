#include "coordinator/daemon/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "coordinator/daemon/run_tools.h"

#define CLOCK_WARN_NS NS_PER_MS

struct report {
	const struct check_input *in;
	check_fn fn;
	void *arg;
	enum check_level worst;
};

static void LS_PRINTF(5, 6)
    say(struct report *r, enum check_level level, const char *check, const char *node, const char *fmt, ...)
{
	char text[1024];
	struct check_row row = {
		.check = (char *)(uintptr_t)check,
		.node = (char *)(uintptr_t)node,
		.level = (int)level,
		.text = text,
	};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (level > r->worst)
		r->worst = level;
	r->fn(&row, r->arg);
}

static const char *
or_unknown(const char *s)
{
	return s != NULL && s[0] != '\0' ? s : "unknown";
}

static const char *
name_of(const struct check_node *n)
{
	return n->info->name;
}

/* --- what must be equal on all nodes -------------------------------------------------------------------------------------- */

typedef const char *(*text_fn)(const struct check_node *n);

static const char *
get_kernel(const struct check_node *n)
{
	return or_unknown(n->info->facts.kernel);
}

static const char *
get_fs_type(const struct check_node *n)
{
	return n->info->facts.volume != NULL ? or_unknown(n->info->facts.volume->fs_type) : NULL;
}

static const char *
get_fs_id(const struct check_node *n)
{
	return n->info->facts.volume != NULL ? or_unknown(n->info->facts.volume->fs_id) : NULL;
}

static const char *
get_options(const struct check_node *n)
{
	return n->info->facts.volume != NULL ? or_unknown(n->info->facts.volume->mount_options) : NULL;
}

static const char *
get_build(const struct check_node *n)
{
	return or_unknown(n->build);
}

/* The first node's value against all others'; NULL values are left out. */
static void
compare_texts(struct report *r, const char *check, text_fn get, enum check_level level)
{
	const struct check_node *first = NULL;
	bool differ = false;

	for (size_t i = 0; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];

		if (get(n) == NULL)
			continue;
		if (first == NULL) {
			first = n;
		} else if (strcmp(get(first), get(n)) != 0) {
			say(r, level, check, name_of(n), "%.300s, but %s has %.300s", get(n), name_of(first),
			    get(first));
			differ = true;
		}
	}
	if (first != NULL && !differ)
		say(r, CHECK_OK, check, NULL, "%.900s on all nodes", get(first));
}

static uint64_t
volume_total(const struct check_node *n)
{
	return n->info->facts.volume != NULL ? n->info->facts.volume->total_bytes : LS_UNKNOWN_U64;
}

static void
compare_sizes(struct report *r)
{
	const struct check_node *first = NULL;
	char a[32], b[32];

	for (size_t i = 0; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];

		if (volume_total(n) == LS_UNKNOWN_U64)
			continue;
		if (first == NULL)
			first = n;
		else if (volume_total(first) != volume_total(n))
			say(r, CHECK_WARNING, "volume size", name_of(n), "%s, but %s sees %s",
			    units_format_size(volume_total(n), a, sizeof(a)), name_of(first),
			    units_format_size(volume_total(first), b, sizeof(b)));
	}
}

/* --- each node ------------------------------------------------------------------------------------------------------------- */

static void
check_refusals(struct report *r)
{
	for (size_t i = 0; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];

		if (n->refused != NULL)
			say(r, CHECK_FAILED, "path", name_of(n), "%s", n->refused);
		else if (n->info->facts.volume == NULL)
			say(r, CHECK_FAILED, "path", name_of(n), "did not answer");
	}
}

static void
check_one_volume(struct report *r)
{
	enum check_level level = r->in->job->allow_separate_volumes ? CHECK_WARNING : CHECK_FAILED;
	size_t seen = 0, blind = 0;

	for (size_t i = 0; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];

		seen += n->info->facts.volume != NULL;
		if (n->blind_to == NULL)
			continue;
		blind++;
		say(r, level, "one volume", name_of(n),
		    "the path is not the same volume on all nodes: %s does not see what was written by %s", name_of(n),
		    n->blind_to);
	}
	if (blind == 0 && seen == r->in->count)
		say(r, CHECK_OK, "one volume", NULL, "all %zu nodes see each other's files", seen);
}

static void
check_expected_fs(struct report *r)
{
	const char *want = r->in->job->expect_fs;

	if (want == NULL || want[0] == '\0')
		return;
	for (size_t i = 0; i < r->in->count; i++) {
		const char *have = get_fs_type(&r->in->nodes[i]);

		if (have != NULL && strcmp(have, want) != 0)
			say(r, CHECK_FAILED, "expected file system", name_of(&r->in->nodes[i]),
			    "%s lies on %s, not on %s", r->in->job->path, have, want);
	}
}

static void
check_space(struct report *r)
{
	const struct job *job = r->in->job;

	for (size_t i = 0; i < r->in->count; i++) {
		const struct volume_facts *v = r->in->nodes[i].info->facts.volume;
		char need[32], have[32], reserve[32];

		if (v == NULL || v->free_bytes == LS_UNKNOWN_U64 || v->total_bytes == LS_UNKNOWN_U64)
			continue;
		uint64_t kept = v->total_bytes / 100 * job->reserve_percent;
		bool fits = v->free_bytes >= kept && v->free_bytes - kept >= r->in->need_bytes;

		say(r, fits ? CHECK_OK : CHECK_FAILED, "space", name_of(&r->in->nodes[i]),
		    "needs %s, %s free, %s reserved", units_format_size(r->in->need_bytes, need, sizeof(need)),
		    units_format_size(v->free_bytes, have, sizeof(have)),
		    units_format_size(kept, reserve, sizeof(reserve)));
	}
}

static void
check_clocks(struct report *r)
{
	for (size_t i = 0; i < r->in->count; i++) {
		const struct node_clock *c = &r->in->nodes[i].info->clock;
		char error[32], trip[32];

		if (c->uncertainty_ns == LS_UNKNOWN_I64) {
			say(r, CHECK_WARNING, "clock", name_of(&r->in->nodes[i]), "not measured");
			continue;
		}
		say(r, c->uncertainty_ns > CLOCK_WARN_NS ? CHECK_WARNING : CHECK_OK, "clock", name_of(&r->in->nodes[i]),
		    "offset %lld ns +- %s, round trip %s", (long long)c->offset_ns,
		    units_format_duration(c->uncertainty_ns, error, sizeof(error)),
		    units_format_duration(c->rtt_ns, trip, sizeof(trip)));
	}
}

/* Does any phase read or write through the page cache? */
static bool
uses_page_cache(const struct job *job)
{
	for (size_t i = 0; i < job->phases_count; i++)
		if ((phase_kind_info((enum phase_kind)job->phases[i].kind)->groups & PHASE_DATA) != 0 &&
		    !job->phases[i].direct)
			return true;
	return false;
}

static void
check_memory(struct report *r)
{
	uint64_t share = r->in->count > 0 ? r->in->need_bytes / r->in->count : 0;

	for (size_t i = 0; i < r->in->count; i++) {
		const struct node_facts *f = &r->in->nodes[i].info->facts;
		char set[32], memory[32];

		if (f->memory_bytes == LS_UNKNOWN_U64) {
			say(r, CHECK_WARNING, "memory", name_of(&r->in->nodes[i]), "size of the memory is not known");
			continue;
		}
		units_format_size(share, set, sizeof(set));
		units_format_size(f->memory_bytes, memory, sizeof(memory));
		if (uses_page_cache(r->in->job) && share / 2 < f->memory_bytes)
			say(r, CHECK_WARNING, "memory", name_of(&r->in->nodes[i]),
			    "file set of %s per node is below twice the memory (%s): caches may answer", set, memory);
		else
			say(r, CHECK_OK, "memory", name_of(&r->in->nodes[i]), "%s, file set of %s per node", memory,
			    set);
	}
}

static void
check_tool(struct report *r, enum tool_kind tool)
{
	enum check_level level = r->in->job->allow_mixed_tools ? CHECK_WARNING : CHECK_FAILED;
	const struct tool_facts *first = NULL;
	const char *first_node = NULL;

	for (size_t i = 0; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];
		const struct tool_facts *mine;
		struct ls_err err;

		if (run_tool_of(name_of(n), &n->info->facts, tool, &mine, &err) != LS_OK) {
			say(r, CHECK_FAILED, tool_names[tool], name_of(n), "%s", err.text);
			continue;
		}
		if (first == NULL) {
			first = mine;
			first_node = name_of(n);
		}
		if (run_tool_versions(r->in->job, tool, first_node, first->version, name_of(n), mine->version, &err) !=
		    LS_OK)
			say(r, level, tool_names[tool], name_of(n), "%s", err.text);
		else
			say(r, CHECK_OK, tool_names[tool], name_of(n), "version %s, %s", or_unknown(mine->version),
			    mine->path);
	}
}

enum check_level
check_nodes(const struct check_input *in, check_fn fn, void *arg)
{
	struct report r = { .in = in, .fn = fn, .arg = arg, .worst = CHECK_OK };

	check_refusals(&r);
	compare_texts(&r, "lockstep build", get_build, in->job->allow_mixed_builds ? CHECK_WARNING : CHECK_FAILED);
	compare_texts(&r, "kernel", get_kernel, CHECK_WARNING);
	compare_texts(&r, "file system", get_fs_type, CHECK_WARNING);
	compare_texts(&r, "file system id", get_fs_id, CHECK_WARNING);
	compare_texts(&r, "mount options", get_options, CHECK_WARNING);
	compare_sizes(&r);
	check_one_volume(&r);
	check_expected_fs(&r);
	check_space(&r);
	check_clocks(&r);
	check_memory(&r);
	for (enum tool_kind tool = 0; tool < TOOL_COUNT; tool++)
		if (run_wants_tool(in->job, tool))
			check_tool(&r, tool);
	return r.worst;
}
