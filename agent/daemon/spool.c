#include "agent/daemon/spool.h"

#include <stdlib.h>
#include <string.h>

#include "agent/daemon/spool_file.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "proto/codec/json.h"

#include "common/base/field_decl.h"
#include "agent/daemon/spool.def"
#include "common/base/field_undef.h"

#include "common/base/field_table.h"
#include "agent/daemon/spool.def"
#include "common/base/field_undef.h"

struct entry {
	struct entry *next;
	struct epoch epoch;
	char *document; /* owned */
	size_t len;
	size_t parts, acked; /* acked: how many */
	bool *part_acked;    /* [parts] */
	bool written;        /* the disk has it, or has failed: it may be sent */
};

struct spool {
	struct spool_file file; /* the offload's thread writes it; only spool_new reads it elsewhere, before */
	struct offload *disk;
	spool_send_fn send;
	void *arg;
	struct entry *entries; /* in order of arrival */
	size_t writing;
	bool dirty; /* the file may hold records */
};

/* Something for the offload's thread. */
struct disk_job {
	struct spool *spool;
	struct epoch epoch;
	char *text; /* the record; NULL: empty the file */
	size_t len;
	bool is_result;
	enum ls_rc rc;
	struct ls_err err;
};

static struct entry *
entry_find(struct spool *spool, const struct epoch *epoch)
{
	for (struct entry *e = spool->entries; e; e = e->next)
		if (epoch_equal(&e->epoch, epoch))
			return e;
	return NULL;
}

static void
entry_free(struct entry *e)
{
	field_struct_fini(&epoch_desc, &e->epoch);
	free(e->document);
	free(e->part_acked);
	free(e);
}

static void
entry_remove(struct spool *spool, struct entry *gone)
{
	for (struct entry **at = &spool->entries; *at; at = &(*at)->next) {
		if (*at != gone)
			continue;
		*at = gone->next;
		entry_free(gone);
		return;
	}
}

static struct entry *
entry_add(struct spool *spool, const struct epoch *epoch, char *document, size_t len)
{
	struct entry *e = ls_calloc(1, sizeof(*e));
	epoch_copy(&e->epoch, epoch);
	e->document = document;
	e->len = len;
	e->parts = LS_MAX((len + MSG_RESULT_PART_BYTES - 1) / MSG_RESULT_PART_BYTES, (size_t)1);
	e->part_acked = ls_calloc(e->parts, sizeof(*e->part_acked));

	struct entry **at = &spool->entries;
	while (*at)
		at = &(*at)->next;
	*at = e;
	return e;
}

static bool
send_part(struct spool *spool, const struct entry *e, size_t part)
{
	size_t offset = part * MSG_RESULT_PART_BYTES;
	struct msg_result_part body = { .epoch = e->epoch, .part = part, .parts = e->parts };
	body.data = ls_strndup(e->document + offset, LS_MIN(e->len - offset, (size_t)MSG_RESULT_PART_BYTES));

	struct ls_err err;
	char *text = NULL;
	size_t len;
	bool sent = false;
	if (msg_encode(MSG_RESULT_PART, &body, &text, &len, &err))
		ls_log(LS_LOG_ERROR, "a result's part cannot be encoded", "error=\"%s\"", err.text);
	else
		sent = spool->send(text, len, spool->arg);
	free(text);
	free(body.data);
	return sent;
}

static void
entry_send(struct spool *spool, const struct entry *e)
{
	for (size_t i = 0; e->written && i < e->parts; i++)
		if (!e->part_acked[i] && !send_part(spool, e, i))
			return;
}

static void
disk_work(void *arg)
{
	struct disk_job *job = arg;

	if (job->text)
		job->rc = spool_file_append(&job->spool->file, job->text, job->len, &job->err);
	else
		job->rc = spool_file_empty(&job->spool->file, &job->err);
}

static void
disk_done(void *arg)
{
	struct disk_job *job = arg;
	struct spool *spool = job->spool;

	/* What could not be emptied is emptied when the next result is done with. */
	if (job->rc && !job->text)
		spool->dirty = true;
	if (job->rc)
		ls_log(
		    LS_LOG_ERROR, "the spool's disk failed; results are kept in memory", "error=\"%s\"", job->err.text);
	if (job->is_result) {
		spool->writing--;
		struct entry *e = entry_find(spool, &job->epoch);
		if (e) {
			e->written = true;
			entry_send(spool, e);
		}
	}
	field_struct_fini(&epoch_desc, &job->epoch);
	free(job->text);
	free(job);
}

static void
disk_submit(struct spool *spool, const struct epoch *epoch, char *text, size_t len, bool is_result)
{
	struct disk_job *job = ls_calloc(1, sizeof(*job));
	job->spool = spool;
	job->text = text;
	job->len = len;
	job->is_result = is_result;
	if (epoch)
		epoch_copy(&job->epoch, epoch);
	spool->writing += is_result;
	spool->dirty = text != NULL;
	offload_submit(spool->disk, disk_work, disk_done, job);
}

/* Nothing waits any more: the file has done its service. The offload keeps the order of what was submitted. */
static void
empty_if_done(struct spool *spool)
{
	if (!spool->entries && spool->dirty)
		disk_submit(spool, NULL, NULL, 0, false);
}

static void
replay_record(const char *text, size_t len, void *arg)
{
	struct spool *spool = arg;
	struct spool_record record;
	struct ls_err err;

	if (json_decode_struct(&spool_record_desc, text, len, JSON_UNKNOWN_IGNORED, "spool", &record, &err)) {
		ls_log(
		    LS_LOG_WARN, "a record of the spool is not understood and is left out", "error=\"%s\"", err.text);
		return;
	}
	struct entry *old = entry_find(spool, &record.epoch);
	if (old)
		entry_remove(spool, old);
	if (!record.forget) {
		size_t doc_len = strlen(record.result);
		entry_add(spool, &record.epoch, record.result, doc_len)->written = true;
		record.result = NULL;
	}
	field_struct_fini(&spool_record_desc, &record);
}

enum ls_rc
spool_new(const char *dir, struct offload *disk, spool_send_fn send, void *arg, struct spool **out, struct ls_err *err)
{
	struct spool *spool = ls_calloc(1, sizeof(*spool));
	*spool = (struct spool){ .disk = disk, .send = send, .arg = arg, .file.fd = -1 };

	char *path = ls_asprintf("%s/results.spool", dir);
	uint64_t torn = 0;
	enum ls_rc rc = spool_file_open(path, &spool->file, err);
	if (!rc)
		rc = spool_file_replay(&spool->file, replay_record, spool, &torn, err);
	if (rc) {
		free(path);
		spool_free(spool);
		return rc;
	}
	if (torn > 0)
		ls_log(LS_LOG_WARN, "the spool ended in a torn record, which is ignored", "file=%s bytes=%llu", path,
		    (unsigned long long)torn);
	if (spool->entries)
		ls_log(LS_LOG_INFO, "results of an earlier agent wait to be sent", "count=%zu", spool_pending(spool));
	free(path);
	spool->dirty = spool->file.end > 0;
	empty_if_done(spool);
	*out = spool;
	return LS_OK;
}

void
spool_free(struct spool *spool)
{
	if (!spool)
		return;
	while (spool->entries)
		entry_remove(spool, spool->entries);
	spool_file_close(&spool->file);
	free(spool);
}

/* The record's text. document may be NULL: forget. */
static char *
encode_record(const struct epoch *epoch, char *document, size_t *out_len)
{
	static char none[] = "";
	struct spool_record record = { .epoch = *epoch, .forget = !document, .result = document ? document : none };

	return json_encode_struct(&spool_record_desc, &record, false, out_len);
}

void
spool_add(struct spool *spool, const struct epoch *epoch, char *document, size_t len)
{
	if (entry_find(spool, epoch)) {
		ls_log(LS_LOG_ERROR, "a second result of one attempt is dropped", "phase=%llu",
		    (unsigned long long)epoch->phase);
		free(document);
		return;
	}
	entry_add(spool, epoch, document, len);

	size_t text_len;
	char *text = encode_record(epoch, document, &text_len);
	disk_submit(spool, epoch, text, text_len, true);
}

void
spool_discard(struct spool *spool, const struct epoch *epoch)
{
	struct entry *e = entry_find(spool, epoch);
	if (!e)
		return;

	entry_remove(spool, e);
	size_t text_len;
	char *text = encode_record(epoch, NULL, &text_len);
	disk_submit(spool, epoch, text, text_len, false);
	empty_if_done(spool);
}

void
spool_ack(struct spool *spool, const struct epoch *epoch, uint64_t part)
{
	struct entry *e = entry_find(spool, epoch);
	if (!e || part >= e->parts || e->part_acked[part])
		return;

	e->part_acked[part] = true;
	if (++e->acked < e->parts)
		return;
	entry_remove(spool, e);
	empty_if_done(spool);
}

void
spool_resend(struct spool *spool)
{
	for (struct entry *e = spool->entries; e; e = e->next)
		entry_send(spool, e);
}

size_t
spool_pending(const struct spool *spool)
{
	size_t n = 0;
	for (const struct entry *e = spool->entries; e; e = e->next)
		n++;
	return n;
}

size_t
spool_writing(const struct spool *spool)
{
	return spool->writing;
}
