#include "agent/engine/offsets.h"

#include "common/base/defs.h"

uint64_t
offsets_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

void
permutation_init(struct permutation *p, uint64_t count, uint64_t seed)
{
	unsigned bits = count <= 1 ? 0 : 64U - (unsigned)__builtin_clzll(count - 1);

	p->count = count;
	p->low_bits = bits / 2;
	p->high_bits = bits - bits / 2;
	for (unsigned i = 0; i < ARRAY_LEN(p->keys); i++) {
		seed = offsets_mix(seed);
		p->keys[i] = seed;
	}
}

static uint64_t
scramble(uint64_t x, uint64_t key)
{
	x = (x ^ key) * 0xbf58476d1ce4e5b9ULL;
	return x ^ (x >> 32);
}

/* One pass over all 2^bits values: each half is changed by a function of the other, which can be undone: a bijection. */
static uint64_t
feistel(const struct permutation *p, uint64_t x)
{
	uint64_t low_mask = (1ULL << p->low_bits) - 1;
	uint64_t high_mask = (1ULL << p->high_bits) - 1;
	uint64_t low = x & low_mask;
	uint64_t high = x >> p->low_bits;

	low = (low ^ scramble(high, p->keys[0])) & low_mask;
	high = (high ^ scramble(low, p->keys[1])) & high_mask;
	low = (low ^ scramble(high, p->keys[2])) & low_mask;
	high = (high ^ scramble(low, p->keys[3])) & high_mask;
	return high << p->low_bits | low;
}

uint64_t
permutation_at(const struct permutation *p, uint64_t i)
{
	/* Walking on from a value outside leads back inside on the same cycle; less than half lie outside: 2 steps at the mean. */
	do
		i = feistel(p, i);
	while (i >= p->count);
	return i;
}

static void
begin_round(struct offsets *o)
{
	o->index = 0;
	o->at = o->restarts = 0;
	if (o->config.order == OFFSETS_RANDOM)
		permutation_init(&o->order, o->records, offsets_mix(o->config.seed ^ o->round));
}

void
offsets_init(struct offsets *o, const struct offsets_config *config)
{
	o->config = *config;
	o->records = config->length / config->record + (config->length % config->record > 0);
	o->left = config->bound;
	if (o->config.step == 0)
		o->config.step = config->record;
	o->round = config->first_round;
	o->random = offsets_mix(config->seed ^ 0x7a697066);      /* "zipf" */
	o->size_random = offsets_mix(config->seed ^ 0x73697a65); /* "size" */
	o->weights = 0;
	for (size_t i = 0; i < config->size_count; i++)
		o->weights += config->sizes[i].weight;
	if (config->order == OFFSETS_ZIPF) {
		zipf_init(&o->zipf, o->records, config->theta);
		permutation_init(&o->order, o->records, config->seed);
	}
	begin_round(o);
}

/* By weight; the remainder of 64 random bits favours none that could be measured. */
static uint64_t
draw_size(struct offsets *o)
{
	uint64_t at = offsets_mix(o->size_random++) % o->weights;
	size_t i = 0;

	while (at >= o->config.sizes[i].weight)
		at -= o->config.sizes[i++].weight;
	return o->config.sizes[i].bytes;
}

/* Part of a record of that length: where in it, and how long. The last record of a file may be shorter than the size. */
static uint64_t
take_part(struct offsets *o, uint64_t *length)
{
	uint64_t drawn = draw_size(o);
	uint64_t size = LS_MIN(drawn, *length);
	uint64_t places = *length / size;

	*length = size;
	return offsets_mix(o->size_random++) % places * size;
}

/* The record after this one of a stride read; the rule is iozone's, its odd end included. */
static uint64_t
stride_next(struct offsets *o)
{
	uint64_t at = o->at, stride = o->config.stride;

	if (at + 1 + stride >= o->records - 1) {
		o->restarts++;
		o->at = o->records <= stride ? 0 : o->restarts % o->records;
	} else {
		o->at = at + stride;
	}
	return at;
}

/* 31 bits, as bonnie++ has them. */
static bool
take_ticket(struct offsets *o, struct record *out)
{
	uint64_t number = atomic_fetch_add_explicit(o->config.tickets, 1, memory_order_relaxed);

	if (number >= o->config.ticket_count)
		return false;
	out->ticket = offsets_mix(o->config.seed ^ offsets_mix(number)) >> 33;
	return true;
}

static uint64_t
next_index(struct offsets *o, const struct record *out)
{
	switch (o->config.order) {
	case OFFSETS_FORWARD:
		break;
	case OFFSETS_RANDOM:
		return permutation_at(&o->order, o->index);
	case OFFSETS_REPEATS:
		/* Records are far fewer than 2^64: the remainder favours none that could be measured. */
		return offsets_mix(offsets_mix(o->config.seed ^ o->round) ^ o->index) % o->records;
	case OFFSETS_ZIPF:
		/* Those that are wanted most lie scattered. */
		return permutation_at(&o->order, zipf_draw(&o->zipf, &o->random) - 1);
	case OFFSETS_BACKWARD:
		return o->records - 1 - o->index;
	case OFFSETS_STRIDE:
		return stride_next(o);
	case OFFSETS_FIXED:
		return 0;
	case OFFSETS_TICKETS:
		return out->ticket % o->records;
	}
	return o->index;
}

bool
offsets_next(struct offsets *o, struct record *out)
{
	if (o->left == 0)
		return false;
	if (o->config.order == OFFSETS_TICKETS && !take_ticket(o, out))
		return false;
	if (o->index == o->records) {
		o->round++;
		begin_round(o);
	}

	uint64_t index = next_index(o, out);
	uint64_t at = index * o->config.record;
	uint64_t length = LS_MIN(o->config.record, o->config.length - at);
	uint64_t within = o->weights > 0 ? take_part(o, &length) : 0;

	if (o->left != OFFSETS_NO_BOUND) {
		length = LS_MIN(length, o->left);
		o->left -= length;
	}
	out->offset = o->config.base + index * o->config.step + within;
	out->length = (uint32_t)length;
	out->round = o->round;
	o->index++;
	return true;
}
