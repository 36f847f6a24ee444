#include "tests/support/fuse/rules.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RULES_MAX 64
#define HELD_MAX  512

const char *const volume_call_names[VOLUME_CALL_COUNT] = {
#define CALL(ID, name) [VOLUME_##ID] = name,
	VOLUME_CALLS(CALL)
#undef CALL
};

const char *const rule_action_names[RULE_ACTION_COUNT] = {
	[RULE_NONE] = "none",
	[RULE_HOLD] = "hold",
	[RULE_FAIL] = "fail",
	[RULE_DELAY] = "delay",
	[RULE_SHORT] = "short",
	[RULE_TEAR] = "tear",
	[RULE_FLIP] = "flip",
	[RULE_LOSE] = "lose",
	[RULE_DOUBLE] = "double",
};

struct held {
	bool used;
	enum volume_call call;
	struct timespec since;
	const char *path; /* borrowed from the thread that waits */
};

/* One volume a process: all of it is guarded by the lock. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct rule rules[RULES_MAX];
	size_t count;
	uint64_t releases; /* counts up with each release: held calls wait for the next */
	struct held held[HELD_MAX];
	uint64_t calls[VOLUME_CALL_COUNT];
	unsigned seed;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER, .seed = 1 };

bool
rules_add(const struct rule *rule)
{
	pthread_mutex_lock(&state.lock);
	bool fits = state.count < RULES_MAX;
	if (fits)
		state.rules[state.count++] = *rule;
	pthread_mutex_unlock(&state.lock);
	return fits;
}

static bool
applies(struct rule *r, enum volume_call call, const char *path, uint64_t bytes)
{
	if (r->call != call || r->left == 0)
		return false;
	if (r->name[0] != '\0' && fnmatch(r->name, path, 0) != 0)
		return false;
	if (r->skip > 0) {
		r->skip--;
		return false;
	}
	if (r->after_bytes > 0) {
		bool reached = bytes > r->after_bytes;
		r->after_bytes = reached ? 0 : r->after_bytes - bytes;
		if (!reached)
			return false;
	}
	if (r->random_permille > 0 && (uint64_t)rand_r(&state.seed) % 1000 >= r->random_permille)
		return false;
	if (r->left != UINT64_MAX)
		r->left--;
	return true;
}

/* With the lock held: waits until somebody releases. */
static void
hold(enum volume_call call, const char *path)
{
	struct held *slot = NULL;
	for (size_t i = 0; i < HELD_MAX && slot == NULL; i++)
		slot = state.held[i].used ? NULL : &state.held[i];
	if (slot != NULL) {
		*slot = (struct held){ .used = true, .call = call, .path = path };
		clock_gettime(CLOCK_MONOTONIC, &slot->since);
	}
	uint64_t seen = state.releases;
	while (state.releases == seen)
		pthread_cond_wait(&state.moved, &state.lock);
	if (slot != NULL)
		slot->used = false;
}

struct verdict
rules_enter(enum volume_call call, const char *path, uint64_t bytes)
{
	struct verdict v = { RULE_NONE, 0 };
	pthread_mutex_lock(&state.lock);
	state.calls[call]++;
	for (size_t i = 0; i < state.count; i++) {
		if (applies(&state.rules[i], call, path, bytes)) {
			v = (struct verdict){ state.rules[i].action, state.rules[i].value };
			break;
		}
	}
	if (v.action == RULE_HOLD) {
		hold(call, path);
		v = (struct verdict){ RULE_NONE, 0 };
	}
	pthread_mutex_unlock(&state.lock);
	if (v.action == RULE_DELAY) {
		usleep((useconds_t)(v.value * 1000));
		v = (struct verdict){ RULE_NONE, 0 };
	}
	return v;
}

/* With the lock held. */
static void
remove_rules(bool holding_only)
{
	size_t kept = 0;
	for (size_t i = 0; i < state.count; i++) {
		if (holding_only && state.rules[i].action != RULE_HOLD)
			state.rules[kept++] = state.rules[i];
	}
	state.count = kept;
	state.releases++;
	pthread_cond_broadcast(&state.moved);
}

void
rules_release(void)
{
	pthread_mutex_lock(&state.lock);
	remove_rules(true);
	pthread_mutex_unlock(&state.lock);
}

void
rules_clear(void)
{
	pthread_mutex_lock(&state.lock);
	remove_rules(false);
	pthread_mutex_unlock(&state.lock);
}

void
rules_print_held(FILE *out)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&state.lock);
	size_t n = 0;
	for (size_t i = 0; i < HELD_MAX; i++)
		n += state.held[i].used;
	fprintf(out, "ok %zu\n", n);
	for (size_t i = 0; i < HELD_MAX; i++) {
		const struct held *h = &state.held[i];
		if (!h->used)
			continue;
		long long ms = (now.tv_sec - h->since.tv_sec) * 1000LL + (now.tv_nsec - h->since.tv_nsec) / 1000000;
		fprintf(out, "%s %lld %s\n", volume_call_names[h->call], ms, h->path);
	}
	pthread_mutex_unlock(&state.lock);
}

void
rules_print_calls(FILE *out)
{
	pthread_mutex_lock(&state.lock);
	size_t n = 0;
	for (int i = 0; i < VOLUME_CALL_COUNT; i++)
		n += state.calls[i] > 0;
	fprintf(out, "ok %zu\n", n);
	for (int i = 0; i < VOLUME_CALL_COUNT; i++) {
		if (state.calls[i] > 0)
			fprintf(out, "%s %llu\n", volume_call_names[i], (unsigned long long)state.calls[i]);
	}
	pthread_mutex_unlock(&state.lock);
}
