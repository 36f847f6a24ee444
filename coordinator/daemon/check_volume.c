/* The volume: there, one, of the right kind, large enough. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "common/base/units.h"
#include "coordinator/daemon/check_int.h"

#define FILL_WARN_PERCENT 85 /* allocators of nearly full volumes search long */
#define NAMES_SHOWN       8

void
check_row_path(struct check_report *r)
{
	for (size_t i = 0; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];

		if (n->refused != NULL)
			check_say(r, CHECK_FAILED, check_name(n), "%s", n->refused);
		else if (check_volume(n) == NULL)
			check_say(r, CHECK_FAILED, check_name(n), "did not answer");
		else
			check_say(r, CHECK_OK, check_name(n), "%s on %s",
			    check_volume(n)->mount_point != NULL ? check_volume(n)->mount_point : "unknown mount",
			    check_volume(n)->source != NULL ? check_volume(n)->source : "unknown source");
	}
}

/* --- one volume ------------------------------------------------------------------------------------------------------------- */

/*
 * Nodes that see the first node's token have its volume. The others see neither it nor, having been asked for no other token, each other:
 * what they have in common the id of the file system tells, and a node without one stands alone.
 */
static int
by_id(const void *a, const void *b)
{
	const struct volume_facts *va = check_volume(*(const struct check_node *const *)a);
	const struct volume_facts *vb = check_volume(*(const struct check_node *const *)b);

	return strcmp(va->fs_id != NULL ? va->fs_id : "", vb->fs_id != NULL ? vb->fs_id : "");
}

static bool
same_id(const struct check_node *a, const struct check_node *b)
{
	const char *x = check_volume(a)->fs_id, *y = check_volume(b)->fs_id;

	return x != NULL && y != NULL && strcmp(x, y) == 0;
}

/* The nodes in list fall into groups one behind the other; the largest's first place, its length in *count. */
static size_t
largest_group(const struct check_node **list, size_t n, size_t *count)
{
	size_t best = 0;

	*count = 0;
	for (size_t i = 0, end; i < n; i = end) {
		end = i + 1;
		while (end < n && same_id(list[i], list[end]))
			end++;
		if (end - i > *count) {
			*count = end - i;
			best = i;
		}
	}
	return best;
}

static void
name_nodes(struct sink *out, const struct check_node **list, size_t n)
{
	for (size_t i = 0; i < n && i < NAMES_SHOWN; i++)
		sink_printf(out, "%s%s", i > 0 ? ", " : "", check_name(list[i]));
	if (n > NAMES_SHOWN)
		sink_printf(out, " and %zu more", n - NAMES_SHOWN);
}

/* Says of each node outside the majority that it has another volume than those. */
static void
say_odd(struct check_report *r, enum check_level level, const struct check_node **list, size_t n,
    const struct check_node **most, size_t most_count, const char *names)
{
	for (size_t i = 0; i < n; i++) {
		if (list + i >= most && list + i < most + most_count)
			continue;
		check_say(r, level, check_name(list[i]), "has another volume at %s than %s; does not see what %s wrote",
		    r->in->job->path, names, list[i]->blind_to != NULL ? list[i]->blind_to : names);
	}
}

static void
name_the_odd(struct check_report *r, enum check_level level)
{
	const struct check_node **list = ls_calloc(r->in->count + 1, sizeof(*list));
	struct sink names = { 0 };
	size_t with_first = 0, rest, alike = 0;

	/* First those on the first node's volume, then the others by their file system's id. */
	for (size_t i = 0; i < r->in->count; i++)
		if (i == 0 || r->in->nodes[i].blind_to == NULL)
			list[with_first++] = &r->in->nodes[i];
	rest = with_first;
	for (size_t i = 1; i < r->in->count; i++)
		if (r->in->nodes[i].blind_to != NULL)
			list[rest++] = &r->in->nodes[i];
	qsort(list + with_first, rest - with_first, sizeof(const struct check_node *), by_id);

	size_t at = with_first + largest_group(list + with_first, rest - with_first, &alike);
	const struct check_node **most = with_first >= alike ? list : list + at;
	size_t most_count = LS_MAX(with_first, alike);

	if (with_first == r->in->count) {
		/* Only the first node misses something: caches of names, or a node that wrote late. */
		check_say(r, level, check_name(list[0]), "does not see what %s wrote", list[0]->blind_to);
	} else if (most_count == 1) {
		check_say(r, level, NULL, "%s is a volume of its own on each of the %zu nodes", r->in->job->path,
		    r->in->count);
	} else {
		name_nodes(&names, most, most_count);
		say_odd(r, level, list, rest, most, most_count, names.text);
	}
	sink_free(&names);
	free(list);
}

void
check_row_one_volume(struct check_report *r)
{
	enum check_level level = r->in->job->allow_separate_volumes ? CHECK_WARNING : CHECK_FAILED;
	size_t verified = 0, blind = 0;

	for (size_t i = 0; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];

		verified += n->verified && check_volume(n) != NULL;
		blind += n->blind_to != NULL;
	}
	for (size_t i = 0; verified > 0 && !r->in->before_run && i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];

		if (!n->verified && check_volume(n) != NULL && n->refused == NULL)
			check_say(
			    r, CHECK_FAILED, check_name(n), "has not said whether it sees the other nodes' files");
	}
	if (verified < r->in->count)
		return;
	if (blind == 0)
		check_say(r, CHECK_OK, NULL, "all %zu nodes see each other's files", verified);
	else
		name_the_odd(r, level);
}

void
check_row_expected(struct check_report *r)
{
	const char *want = r->in->job->expect_fs;
	size_t right = 0;

	if (want == NULL || *want == '\0')
		return;
	for (size_t i = 0; i < r->in->count; i++) {
		const struct volume_facts *v = check_volume(&r->in->nodes[i]);

		if (v == NULL)
			continue;
		if (v->fs_type != NULL && check_fs_is(want, v->fs_type))
			right++;
		else
			check_say(r, CHECK_FAILED, check_name(&r->in->nodes[i]), "%s lies on %s, not on %s",
			    r->in->job->path, v->fs_type != NULL ? v->fs_type : "an unknown file system", want);
	}
	if (right == r->in->count)
		check_say(r, CHECK_OK, NULL, "%s on all nodes", want);
}

/* --- space ------------------------------------------------------------------------------------------------------------------- */

/* percent of total, rounded up, for any total: as the runner does (agent/runner/space.c). */
static uint64_t
reserve_of(uint64_t total, uint64_t percent)
{
	return total / 100 * percent + (total % 100 * percent + 99) / 100;
}

void
check_row_space(struct check_report *r)
{
	for (size_t i = 0; i < r->in->count; i++) {
		const struct volume_facts *v = check_volume(&r->in->nodes[i]);
		char need[32], have[32], reserve[32];

		if (v == NULL || v->free_bytes == LS_UNKNOWN_U64 || v->total_bytes == LS_UNKNOWN_U64)
			continue;
		uint64_t kept = reserve_of(v->total_bytes, r->in->job->reserve_percent);
		bool fits =
		    r->in->need_bytes == 0 || (v->free_bytes >= kept && v->free_bytes - kept >= r->in->need_bytes);

		check_say(r, fits ? CHECK_OK : CHECK_FAILED, check_name(&r->in->nodes[i]),
		    "all nodes together need %s; %s free, of which %s (%llu %%) stay free",
		    units_format_size(r->in->need_bytes, need, sizeof(need)),
		    units_format_size(v->free_bytes, have, sizeof(have)),
		    units_format_size(kept, reserve, sizeof(reserve)), (unsigned long long)r->in->job->reserve_percent);
	}
}

void
check_row_inodes(struct check_report *r)
{
	for (size_t i = 0; i < r->in->count; i++) {
		const struct volume_facts *v = check_volume(&r->in->nodes[i]);

		/* OCFS2, GFS2 and others make inodes as they need them: no limit of their own. */
		if (v == NULL || v->free_inodes == LS_UNKNOWN_U64 || v->total_inodes == LS_UNKNOWN_U64)
			continue;
		uint64_t kept = reserve_of(v->total_inodes, r->in->job->reserve_percent);
		bool fits =
		    r->in->need_files == 0 || (v->free_inodes >= kept && v->free_inodes - kept >= r->in->need_files);

		check_say(r, fits ? CHECK_OK : CHECK_FAILED, check_name(&r->in->nodes[i]),
		    "all nodes together make %llu files; %llu inodes free, of which %llu stay free",
		    (unsigned long long)r->in->need_files, (unsigned long long)v->free_inodes,
		    (unsigned long long)kept);
	}
}

static unsigned
percent_of(uint64_t part, uint64_t total)
{
	return (unsigned)((double)part * 100.0 / (double)total);
}

void
check_row_fill(struct check_report *r)
{
	for (size_t i = 0; i < r->in->count; i++) {
		const struct volume_facts *v = check_volume(&r->in->nodes[i]);

		if (v == NULL || v->free_bytes == LS_UNKNOWN_U64 || v->total_bytes == LS_UNKNOWN_U64 ||
		    v->total_bytes == 0 || v->free_bytes > v->total_bytes)
			continue;
		uint64_t used = v->total_bytes - v->free_bytes;
		unsigned now = percent_of(used, v->total_bytes);
		unsigned then = percent_of(used + LS_MIN(r->in->need_bytes, v->free_bytes), v->total_bytes);

		if (then > FILL_WARN_PERCENT)
			check_say(r, CHECK_WARNING, check_name(&r->in->nodes[i]),
			    "%u %% full, %u %% with this run's files: above %d %% volumes get slow", now, then,
			    FILL_WARN_PERCENT);
		else
			check_say(r, CHECK_OK, check_name(&r->in->nodes[i]), "%u %% full, %u %% with this run's files",
			    now, then);
	}
}

/* --- what must not lie there, and what must be possible there ------------------------------------------------------------------ */

static bool
same_text(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static bool
on_same_volume(const struct check_own *own, const struct check_node *n)
{
	const struct volume_facts *v = check_volume(n);

	if (same_text(own->store_fs_id, v->fs_id) && own->store_bytes == v->total_bytes)
		return true;
	return same_text(own->boot_id, n->info->facts.boot_id) && same_text(own->store_device, v->device);
}

static bool
lies_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* File systems that several machines mount: there the store must not even be beside the run's directory. */
static bool
is_shared_type(const char *type)
{
	static const char *const types[] = { "ocfs2", "gfs2", "nfs", "nfs4", "ceph", "cifs", "smb3", "lustre",
		"glusterfs", "fuse.glusterfs", "fuse.ceph", "beegfs", "gpfs", "9p", "virtiofs" };

	for (size_t i = 0; type != NULL && i < ARRAY_LEN(types); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

void
check_row_store(struct check_report *r)
{
	const struct check_own *own = r->in->own;

	for (size_t i = 0; own != NULL && own->store != NULL && i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];

		if (check_volume(n) == NULL || !on_same_volume(own, n))
			continue;
		if (is_shared_type(check_volume(n)->fs_type) || lies_below(own->store, r->in->job->path)) {
			check_say(r, CHECK_FAILED, NULL,
			    "the coordinator's store (%s) lies on the volume under test: a volume that hangs would "
			    "stop the "
			    "coordinator, and its writes would be measured; see store in lockstepd.conf",
			    own->store);
			return;
		}
		if (!r->in->before_run) {
			check_say(r, CHECK_WARNING, NULL,
			    "the coordinator's store (%s) is on the same file system: its writes are measured, too",
			    own->store);
			return;
		}
	}
}

static bool
wants_engine(const struct job *job, int engine)
{
	for (size_t i = 0; i < job->phases_count; i++)
		if ((int)job->phases[i].engine == engine)
			return true;
	return false;
}

/* One finding when all have it; one for each node that has not. */
static void
look_at_engine(struct check_report *r, const char *name, int engine, bool (*has)(const struct volume_facts *v))
{
	bool wanted = wants_engine(r->in->job, engine);
	size_t have = 0;

	for (size_t i = 0; i < r->in->count; i++) {
		const struct volume_facts *v = check_volume(&r->in->nodes[i]);

		if (v == NULL)
			continue;
		if (has(v))
			have++;
		else
			check_say(r, wanted ? CHECK_FAILED : CHECK_WARNING, check_name(&r->in->nodes[i]),
			    "not to be had%s", wanted ? ", and the job uses it" : "; this job does not use it");
	}
	if (have == r->in->count)
		check_say(r, CHECK_OK, NULL, "%s works on all nodes", name);
}

static bool
has_io_uring(const struct volume_facts *v)
{
	return v->io_uring;
}

static bool
has_libaio(const struct volume_facts *v)
{
	return v->libaio;
}

void
check_row_io_uring(struct check_report *r)
{
	look_at_engine(r, "io_uring", ENGINE_IO_URING, has_io_uring);
}

void
check_row_libaio(struct check_report *r)
{
	look_at_engine(r, "libaio", ENGINE_LIBAIO, has_libaio);
}

void
check_row_direct(struct check_report *r)
{
	uint64_t align = r->in->direct_align;

	for (size_t i = 0; i < r->in->count; i++) {
		const struct volume_facts *v = check_volume(&r->in->nodes[i]);
		const char *node = check_name(&r->in->nodes[i]);

		if (v == NULL || v->dio_source == NULL)
			continue;
		if (v->dio_align == LS_UNKNOWN_U64)
			check_say(r, align != 0 ? CHECK_FAILED : CHECK_OK, node, "not possible (learned from %s)%s",
			    v->dio_source, align != 0 ? "; direct must be false" : "");
		else if (align != 0 && v->dio_align > align)
			check_say(r, CHECK_FAILED, node,
			    "needs %llu-byte alignment (learned from %s), the job's sizes are multiples of %llu only",
			    (unsigned long long)v->dio_align, v->dio_source, (unsigned long long)align);
		else
			check_say(r, CHECK_OK, node, "%llu-byte alignment (learned from %s)",
			    (unsigned long long)v->dio_align, v->dio_source);
	}
}
