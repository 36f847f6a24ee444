#include "coordinator/daemon/insist.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#define AGAIN_NS (500 * NS_PER_MS)

/* The lock guards all of it. */
struct insist {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool give_up, waits;
	char why[1024];
};

struct insist *
insist_new(void)
{
	struct insist *insist = ls_calloc(1, sizeof(*insist));

	pthread_mutex_init(&insist->lock, NULL);
	pthread_cond_init(&insist->ended, NULL);
	return insist;
}

void
insist_free(struct insist *insist)
{
	if (insist == NULL)
		return;
	pthread_cond_destroy(&insist->ended);
	pthread_mutex_destroy(&insist->lock);
	free(insist);
}

/* Waits for the next attempt; false: there is to be none. */
static bool
wait_again(struct insist *insist, const struct ls_err *why)
{
	int64_t until_ns = ls_mono_now().ns + AGAIN_NS;
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };
	bool first, go_on;

	pthread_mutex_lock(&insist->lock);
	first = !insist->waits;
	insist->waits = true;
	snprintf(insist->why, sizeof(insist->why), "%s", why->text);
	while (!insist->give_up && pthread_cond_clockwait(&insist->ended, &insist->lock, CLOCK_MONOTONIC, &until) == 0)
		continue;
	go_on = !insist->give_up;
	pthread_mutex_unlock(&insist->lock);
	if (first)
		ls_log(LS_LOG_ERROR, "the store cannot be written; tried again until it can", "why=\"%s\"", why->text);
	return go_on;
}

/* Nothing waits any more, be it written or given up for good. */
static void
over(struct insist *insist, bool written)
{
	bool waited;

	pthread_mutex_lock(&insist->lock);
	waited = insist->waits;
	insist->waits = false;
	pthread_mutex_unlock(&insist->lock);
	if (waited && written)
		ls_log(LS_LOG_INFO, "the store can be written again", NULL);
}

enum ls_rc
insist_do(struct insist *insist, struct store *store, insist_fn fn, void *arg, struct ls_err *err)
{
	struct ls_err why = { 0 };
	enum ls_rc rc;

	do {
		rc = fn(store, arg, &why);
	} while (rc == LS_E_STORE && store_may_recover(store) && wait_again(insist, &why));
	over(insist, rc == LS_OK);
	if (rc != LS_OK && err != NULL)
		*err = why;
	return rc;
}

bool
insist_waits(struct insist *insist, char *text, size_t len)
{
	bool waits;

	pthread_mutex_lock(&insist->lock);
	waits = insist->waits;
	if (waits)
		snprintf(text, len, "%s", insist->why);
	pthread_mutex_unlock(&insist->lock);
	return waits;
}

void
insist_give_up(struct insist *insist)
{
	pthread_mutex_lock(&insist->lock);
	insist->give_up = true;
	pthread_cond_broadcast(&insist->ended);
	pthread_mutex_unlock(&insist->lock);
}
