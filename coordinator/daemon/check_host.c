/* The machines: clocks, memory, what else they do, and the state of their cluster software. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "coordinator/daemon/check_int.h"
#include "coordinator/daemon/run_tools.h"

#define CLOCK_WARN_NS NS_PER_MS
#define LOAD_WARN     0.5 /* per CPU */
#define SWAP_WARN     (64ULL << 20)

void
check_row_coordinator(struct check_report *r)
{
	const char *own = r->in->own != NULL ? r->in->own->boot_id : NULL;
	size_t found = 0, last = 0;

	for (size_t i = 0; own != NULL && i < r->in->count; i++) {
		const char *boot = r->in->nodes[i].info->facts.boot_id;

		if (boot == NULL || strcmp(own, boot) != 0)
			continue;
		found++;
		last = i;
	}
	if (found == 1)
		check_say(r, CHECK_WARNING, check_name(&r->in->nodes[last]),
		    "the coordinator runs on this node: it takes CPU time and network there only, and is lost with the "
		    "node when that is "
		    "fenced");
	else if (found > 1)
		check_say(r, CHECK_WARNING, NULL,
		    "%zu nodes are on one machine with the coordinator: they share its CPUs, memory and caches", found);
	else if (own != NULL)
		check_say(r, CHECK_OK, NULL, "is none of the nodes");
}

void
check_row_clock(struct check_report *r)
{
	for (size_t i = 0; i < r->in->count; i++) {
		const struct node_clock *c = &r->in->nodes[i].info->clock;
		const char *node = check_name(&r->in->nodes[i]);
		char offset[32], error[32], trip[32];

		if (c->uncertainty_ns == LS_UNKNOWN_I64) {
			check_say(r, CHECK_WARNING, node, "not measured");
			continue;
		}
		/* CLOCK_MONOTONIC counts from a boot: any offset is as good as another, once it is known. */
		check_say(r, c->uncertainty_ns > CLOCK_WARN_NS ? CHECK_WARNING : CHECK_OK, node,
		    "offset %s, uncertainty %s, round trip %s%s",
		    units_format_duration(c->offset_ns, offset, sizeof(offset)),
		    units_format_duration(c->uncertainty_ns, error, sizeof(error)),
		    units_format_duration(c->rtt_ns, trip, sizeof(trip)),
		    c->uncertainty_ns > CLOCK_WARN_NS ? ": starts may differ by the uncertainty" : "");
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

void
check_row_memory(struct check_report *r)
{
	uint64_t share = r->in->count > 0 ? r->in->need_bytes / r->in->count : 0;

	for (size_t i = 0; i < r->in->count; i++) {
		const struct node_facts *f = &r->in->nodes[i].info->facts;
		char set[32], memory[32];

		if (f->memory_bytes == LS_UNKNOWN_U64) {
			check_say(r, CHECK_WARNING, check_name(&r->in->nodes[i]), "size of the memory is not known");
			continue;
		}
		units_format_size(share, set, sizeof(set));
		units_format_size(f->memory_bytes, memory, sizeof(memory));
		if (uses_page_cache(r->in->job) && share / 2 < f->memory_bytes)
			check_say(r, CHECK_WARNING, check_name(&r->in->nodes[i]),
			    "file set of %s per node is below twice the memory (%s): caches may answer", set, memory);
		else
			check_say(
			    r, CHECK_OK, check_name(&r->in->nodes[i]), "%s, file set of %s per node", memory, set);
	}
}

void
check_row_load(struct check_report *r)
{
	for (size_t i = 0; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];
		const struct host_facts *h = check_host(n);
		uint64_t cpus = n->info->facts.cpus;

		if (h == NULL || isnan(h->load) || cpus == LS_UNKNOWN_U64 || cpus == 0)
			continue;
		bool busy = h->load > LOAD_WARN * (double)cpus;

		check_say(r, busy ? CHECK_WARNING : CHECK_OK, check_name(n), "%.2f over the last minute on %llu CPUs%s",
		    h->load, (unsigned long long)cpus, busy ? ": something else is at work there" : "");
	}
}

void
check_row_swap(struct check_report *r)
{
	for (size_t i = 0; i < r->in->count; i++) {
		const struct host_facts *h = check_host(&r->in->nodes[i]);
		char used[32];

		if (h == NULL || h->swap_used_bytes == LS_UNKNOWN_U64)
			continue;
		bool much = h->swap_used_bytes > SWAP_WARN;

		check_say(r, much ? CHECK_WARNING : CHECK_OK, check_name(&r->in->nodes[i]), "%s in use%s",
		    units_format_size(h->swap_used_bytes, used, sizeof(used)),
		    much ? ": memory is short there, or was" : "");
	}
}

static bool
is_cluster_fs(const struct check_node *n)
{
	const char *type = check_volume(n) != NULL ? check_volume(n)->fs_type : NULL;

	return type != NULL && (strcmp(type, "ocfs2") == 0 || strcmp(type, "gfs2") == 0);
}

/* Sessions that are not logged in have lost their target. */
void
check_row_session(struct check_report *r)
{
	for (size_t i = 0; i < r->in->count; i++) {
		const struct host_facts *h = check_host(&r->in->nodes[i]);
		const struct block_facts *b = h != NULL ? h->block : NULL;

		for (size_t k = 0; b != NULL && k < b->iscsi_count; k++)
			check_say(r, strstr(b->iscsi[k], ", LOGGED_IN,") != NULL ? CHECK_OK : CHECK_FAILED,
			    check_name(&r->in->nodes[i]), "%s: %s", b->name != NULL ? b->name : "device", b->iscsi[k]);
	}
}

/* What dlm shows of quorum; corosync itself tells it to root only. */
static void
look_at_dlm(struct check_report *r, const struct check_node *n, const struct cluster_facts *c)
{
	for (size_t i = 0; i < c->stopped_count; i++)
		check_say(r, CHECK_FAILED, check_name(n),
		    "dlm's lock space %s grants no locks: a member is being fenced or recovered, or quorum is lost "
		    "(corosync-quorumtool, as root)",
		    c->stopped[i]);
	if (c->stopped_count == 0 && c->spaces_count > 0)
		check_say(r, CHECK_OK, check_name(n),
		    "dlm grants locks in %s: nothing waits for quorum (which corosync tells to root only)",
		    c->spaces_count == 1 ? "its lock space" : "all lock spaces");
}

void
check_row_cluster_state(struct check_report *r)
{
	for (size_t i = 0; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];
		const struct host_facts *h = check_host(n);

		if (h == NULL || !is_cluster_fs(n))
			continue;
		if (h->gfs2 != NULL)
			check_say(r, CHECK_FAILED, check_name(n), "%s", h->gfs2);
		else if (h->clusters_count == 0)
			check_say(r, CHECK_WARNING, check_name(n),
			    "%s without cluster software that /sys shows: is it mounted for this node alone?",
			    check_volume(n)->fs_type);
		for (size_t k = 0; k < h->clusters_count; k++) {
			if (strcmp(h->clusters[k].stack, "dlm") == 0)
				look_at_dlm(r, n, &h->clusters[k]);
			if (h->clusters[k].nodes != LS_UNKNOWN_U64 && h->clusters[k].nodes < r->in->count)
				check_say(r, CHECK_WARNING, check_name(n),
				    "%s knows of %llu nodes, fewer than the %zu that take part", h->clusters[k].stack,
				    (unsigned long long)h->clusters[k].nodes, r->in->count);
		}
	}
}

static void
check_tool(struct check_report *r, enum tool_kind tool)
{
	enum check_level level = r->in->job->allow_mixed_tools ? CHECK_WARNING : CHECK_FAILED;
	const struct tool_facts *first = NULL;
	const char *first_node = NULL;

	r->check = tool_names[tool];
	for (size_t i = 0; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];
		const struct tool_facts *mine;
		struct ls_err err;

		if (run_tool_of(check_name(n), &n->info->facts, tool, &mine, &err) != LS_OK) {
			check_say(r, CHECK_FAILED, check_name(n), "%s", err.text);
			continue;
		}
		if (first == NULL) {
			first = mine;
			first_node = check_name(n);
		}
		if (run_tool_versions(
			r->in->job, tool, first_node, first->version, check_name(n), mine->version, &err) != LS_OK)
			check_say(r, level, check_name(n), "%s", err.text);
		else
			check_say(r, CHECK_OK, check_name(n), "version %s, %s",
			    mine->version != NULL ? mine->version : "unknown", mine->path);
	}
}

void
check_row_tools(struct check_report *r)
{
	for (enum tool_kind tool = 0; tool < TOOL_COUNT; tool++)
		if (run_wants_tool(r->in->job, tool))
			check_tool(r, tool);
}
