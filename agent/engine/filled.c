#include "agent/engine/filled.h"

#include <stdlib.h>

#include "common/base/mem.h"

void
filled_init(struct filled *f)
{
	pthread_mutex_init(&f->lock, NULL);
	f->ranges = NULL;
	f->count = f->size = 0;
}

void
filled_fini(struct filled *f)
{
	pthread_mutex_destroy(&f->lock);
	free(f->ranges);
	f->ranges = NULL;
	f->count = f->size = 0;
}

static void
append(struct filled *f, uint64_t file, uint64_t begin, uint64_t end)
{
	if (begin >= end)
		return;
	if (f->count == f->size) {
		f->size = f->size == 0 ? 16 : f->size * 2;
		f->ranges = ls_realloc(f->ranges, f->size, sizeof(*f->ranges));
	}
	f->ranges[f->count++] = (struct filled_range){ file, begin, end };
}

/* Takes range i out; the last one comes to its place. */
static struct filled_range
take(struct filled *f, size_t i)
{
	struct filled_range r = f->ranges[i];

	f->ranges[i] = f->ranges[--f->count];
	return r;
}

void
filled_add(struct filled *f, uint64_t file, uint64_t begin, uint64_t end)
{
	if (begin >= end)
		return;
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->count;) {
		const struct filled_range *r = &f->ranges[i];
		if (r->file != file || r->begin > end || r->end < begin) {
			i++;
			continue;
		}
		struct filled_range joined = take(f, i);
		begin = LS_MIN(begin, joined.begin);
		end = LS_MAX(end, joined.end);
	}
	append(f, file, begin, end);
	pthread_mutex_unlock(&f->lock);
}

void
filled_drop(struct filled *f, uint64_t file, uint64_t begin, uint64_t end)
{
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->count;) {
		const struct filled_range *r = &f->ranges[i];
		if (r->file != file || r->begin >= end || r->end <= begin) {
			i++;
			continue;
		}
		/* What is left of it lies outside, so that the loop passes it by. */
		struct filled_range cut = take(f, i);
		append(f, file, cut.begin, LS_MIN(cut.end, begin));
		append(f, file, LS_MAX(cut.begin, end), cut.end);
	}
	pthread_mutex_unlock(&f->lock);
}

bool
filled_covers(struct filled *f, uint64_t file, uint64_t begin, uint64_t end)
{
	bool covers = begin >= end;

	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->count && !covers; i++) {
		const struct filled_range *r = &f->ranges[i];
		covers = r->file == file && r->begin <= begin && r->end >= end;
	}
	pthread_mutex_unlock(&f->lock);
	return covers;
}
