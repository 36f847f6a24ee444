#include "agent/engine/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/crc32c.h"
#include "common/base/mem.h"

void
checks_init(struct checks *all, const char *run_dir, uint64_t seed)
{
	memset(all, 0, sizeof(*all));
	pthread_mutex_init(&all->lock, NULL);
	all->run_dir = run_dir;
	all->seed = seed;
	for (size_t i = 0; i < ARRAY_LEN(all->unchecked); i++)
		all->unchecked[i] = -1;
}

static void
forget_findings(struct checks *all)
{
	for (size_t i = 0; i < all->kept_count; i++)
		field_struct_fini(&mismatch_desc, &all->kept[i]);
	all->kept_count = 0;
}

void
checks_fini(struct checks *all)
{
	forget_findings(all);
	free(all->passes);
	free(all->kinds);
	pthread_mutex_destroy(&all->lock);
}

void
checks_begin(struct checks *all, uint64_t epoch, int kind)
{
	pthread_mutex_lock(&all->lock);
	forget_findings(all);
	while (all->kind_count < epoch) {
		all->kinds = ls_grow(all->kinds, all->kind_count, sizeof(*all->kinds));
		all->kinds[all->kind_count++] = kind;
	}
	pthread_mutex_unlock(&all->lock);
}

void
checks_note_writer(struct checks *all, unsigned layout, int kind, bool fresh, bool checkable)
{
	pthread_mutex_lock(&all->lock);
	if (!checkable)
		all->unchecked[layout] = kind;
	else if (fresh)
		all->unchecked[layout] = -1;
	pthread_mutex_unlock(&all->lock);
}

int
checks_unchecked(struct checks *all, unsigned layout)
{
	pthread_mutex_lock(&all->lock);
	int kind = all->unchecked[layout];
	pthread_mutex_unlock(&all->lock);
	return kind;
}

/* --- passes ---------------------------------------------------------------------------------------------------------- */

static void
append(struct pass **list, size_t *count, const struct pass *pass)
{
	if (pass->begin >= pass->end)
		return;
	*list = ls_grow(*list, *count, sizeof(**list));
	(*list)[(*count)++] = *pass;
}

static bool
meets(const struct pass *p, uint64_t file, uint64_t begin, uint64_t end)
{
	return p->file == file && p->begin < end && p->end > begin;
}

void
checks_note_pass(struct checks *all, uint64_t file, uint64_t begin, uint64_t end, uint64_t generation)
{
	pthread_mutex_lock(&all->lock);
	for (size_t i = 0; i < all->pass_count;) {
		struct pass old = all->passes[i];
		if (!meets(&old, file, begin, end)) {
			i++;
			continue;
		}
		/* What is left of it lies outside, so that the loop passes it by. */
		all->passes[i] = all->passes[--all->pass_count];
		append(&all->passes, &all->pass_count,
		    &(struct pass){ file, old.begin, LS_MIN(old.end, begin), old.generation });
		append(&all->passes, &all->pass_count,
		    &(struct pass){ file, LS_MAX(old.begin, end), old.end, old.generation });
	}
	append(&all->passes, &all->pass_count, &(struct pass){ file, begin, end, generation });
	pthread_mutex_unlock(&all->lock);
}

void
checks_forget_passes(struct checks *all, uint64_t file)
{
	size_t kept = 0;

	pthread_mutex_lock(&all->lock);
	for (size_t i = 0; i < all->pass_count; i++)
		if (all->passes[i].file != file)
			all->passes[kept++] = all->passes[i];
	all->pass_count = kept;
	pthread_mutex_unlock(&all->lock);
}

void
check_init(struct check *c, struct checks *all, uint64_t file, uint64_t begin, uint64_t end)
{
	memset(c, 0, sizeof(*c));
	c->all = all;
	pthread_mutex_lock(&all->lock);
	for (size_t i = 0; i < all->pass_count; i++)
		if (meets(&all->passes[i], file, begin, end))
			append(&c->least, &c->least_count, &all->passes[i]);
	pthread_mutex_unlock(&all->lock);
}

void
check_fini(struct check *c)
{
	free(c->least);
	c->least = NULL;
	c->least_count = 0;
}

/* The oldest generation that may stand at that offset; 0: any. */
static uint64_t
least_at(const struct check *c, uint64_t offset)
{
	uint64_t from = offset - c->base;
	uint64_t at = c->part_begin + from / c->step * c->record + from % c->step;

	for (size_t i = 0; i < c->least_count; i++)
		if (at >= c->least[i].begin && at < c->least[i].end)
			return c->least[i].generation;
	return 0;
}

/* --- findings -------------------------------------------------------------------------------------------------------- */

/* What armed that epoch; NULL where this node does not know. */
static const char *
kind_of(const struct checks *all, uint64_t epoch)
{
	if (epoch == 0 || epoch > all->kind_count)
		return NULL;
	return phase_kind_names[all->kinds[epoch - 1]];
}

static char *
file_name(uint64_t file)
{
	unsigned layout = DATA_FILE_LAYOUT(file);
	uint64_t many = DATA_FILE_MANY(file);
	/* From the medium: any number may stand there. */
	const char *name = field_enum_name(phase_layout_names, (int)layout);

	if (many > 0)
		return ls_asprintf("%s %" PRIu64 " file %" PRIu64, name, DATA_FILE_NUMBER(file), many - 1);
	return ls_asprintf("%s %" PRIu64, name, DATA_FILE_NUMBER(file));
}

static void
describe_stamp(const struct checks *all, const struct data_stamp *stamp, struct block_stamp *out)
{
	uint64_t epoch = stamp->generation >> 32;
	const char *kind = stamp->run == all->seed ? kind_of(all, epoch) : NULL;
	char time[64];

	field_struct_init(&block_stamp_desc, out);
	free(out->run);
	free(out->file);
	free(out->written_at);
	out->run = ls_asprintf("%016" PRIx64, stamp->run);
	out->file = file_name(stamp->file);
	/* From the medium, so anything may stand there: the model's numbers end at 2^63. */
	out->offset = stamp->offset & INT64_MAX;
	out->node = stamp->writer >> 32;
	out->worker = stamp->writer & UINT32_MAX;
	out->phase = kind != NULL ? ls_strdup(kind) : NULL;
	out->arm = epoch;
	out->pass = stamp->generation & UINT32_MAX;
	out->written_at = ls_strdup(ls_wall_format((struct ls_wall){ stamp->time_ns }, time, sizeof(time)));
}

static char *
sentence(const struct mismatch *m)
{
	static const char *const what[] = {
		[MISMATCH_DAMAGED] = "the block's sum is wrong",
		[MISMATCH_MISPLACED] = "a block of another place",
		[MISMATCH_STALE] = "an older block than the last pass wrote",
		[MISMATCH_FOREIGN] = "a block of another run",
		[MISMATCH_BLANK] = "nothing that lockstep writes",
	};
	const struct block_stamp *s = m->found;
	const char *by = m->cause == MISMATCH_DAMAGED ? "its stamp says" : "it was written for";

	if (s == NULL)
		return ls_asprintf("%s at %" PRIu64 ": %s", m->path, m->offset, what[m->cause]);
	/* A stamp that is whole and of this run: {2} stands for the run's second node, whose name others know. */
	bool known = m->cause == MISMATCH_MISPLACED || m->cause == MISMATCH_STALE;
	char node[32];

	snprintf(node, sizeof(node), known ? "{%" PRIu64 "}" : "number %" PRIu64, known ? s->node + 1 : s->node);
	return ls_asprintf("%s at %" PRIu64 ": %s; %s file \"%s\" at %" PRIu64 ", by node %s worker %" PRIu64
			   " in %s (arm %" PRIu64 ", pass %" PRIu64 "), %s",
	    m->path, m->offset, what[m->cause], by, s->file, s->offset, node, s->worker,
	    s->phase != NULL ? s->phase : "an unknown phase", s->arm, s->pass, s->written_at);
}

static void
keep(const struct check *c, enum mismatch_cause cause, const struct data_stamp *stamp, uint64_t offset)
{
	struct checks *all = c->all;

	pthread_mutex_lock(&all->lock);
	if (all->kept_count < CHECK_KEPT_MAX) {
		struct mismatch *m = &all->kept[all->kept_count++];
		uint64_t least = least_at(c, offset);
		const char *kind = kind_of(all, least >> 32);

		field_struct_init(&mismatch_desc, m);
		free(m->path);
		free(m->file);
		free(m->text);
		m->worker = c->worker;
		m->path = ls_asprintf("%s/%s", all->run_dir, c->path);
		m->file = file_name(c->source->file);
		m->offset = offset;
		m->cause = (int)cause;
		m->least_arm = least >> 32;
		m->least_pass = least & UINT32_MAX;
		m->least_phase = kind != NULL ? ls_strdup(kind) : NULL;
		if (cause != MISMATCH_BLANK) {
			m->found = ls_calloc(1, sizeof(*m->found));
			describe_stamp(all, stamp, m->found);
		}
		m->text = sentence(m);
	}
	pthread_mutex_unlock(&all->lock);
}

/* --- judging --------------------------------------------------------------------------------------------------------- */

/* True: as it should be. room: bytes of the block, at least a stamp. */
static bool
judge(const struct check *c, const unsigned char *block, size_t room, uint64_t offset, struct data_stamp *stamp,
    enum mismatch_cause *cause)
{
	memcpy(stamp, block, sizeof(*stamp));
	*cause = MISMATCH_BLANK;
	if (stamp->magic != DATA_MAGIC)
		return false;
	*cause = MISMATCH_DAMAGED;
	if (stamp->length != room ||
	    stamp->crc != data_stamp_crc(stamp, crc32c(0, block + sizeof(*stamp), room - sizeof(*stamp))))
		return false;
	*cause = MISMATCH_FOREIGN;
	if (stamp->run != c->all->seed)
		return false;
	*cause = MISMATCH_MISPLACED;
	if (stamp->file != c->source->file || stamp->offset != offset)
		return false;
	*cause = MISMATCH_STALE;
	return stamp->generation >= least_at(c, offset);
}

void
check_record(const struct check *c, const unsigned char *data, const struct record *record)
{
	uint64_t blocks = 0, bad = 0;
	struct data_stamp stamp;
	enum mismatch_cause cause;

	for (size_t at = 0; at < record->length; at += DATA_BLOCK) {
		size_t room = LS_MIN((size_t)DATA_BLOCK, record->length - at);
		if (room < sizeof(stamp)) /* the end of a file, too short for one */
			break;
		blocks++;
		if (judge(c, data + at, room, record->offset + at, &stamp, &cause))
			continue;
		bad++;
		keep(c, cause, &stamp, record->offset + at);
	}
	hist_bump(&c->shm->checked_blocks, blocks);
	if (bad > 0)
		hist_bump(&c->shm->mismatches, bad);
}
