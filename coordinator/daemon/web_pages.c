/* Lists and reports: made in the web thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/base64.h"
#include "common/base/mem.h"
#include "coordinator/daemon/assemble.h"
#include "coordinator/daemon/operator.h"
#include "coordinator/daemon/run.h"
#include "coordinator/daemon/web_int.h"
#include "coordinator/import/tool_output.h"
#include "coordinator/report/format.h"
#include "proto/codec/json.h"

#define RUNS_SHOWN  200
#define PENDING_MAX 16 /* answers that the thread still has to make */

struct page_job {
	struct web *web;
	uint64_t number;
	char *run; /* NULL: the list */
	bool as_page;
	struct store_run *rows; /* of the list: the loop knows their present states */
	size_t count;
	struct sink body, policy;
	enum ls_rc rc;
	struct ls_err err;
};

/* The text of a script element may hold anything but its end: report pages put their own and dygraphs into them. */
void
web_page_policy(const char *page, size_t len, struct sink *out)
{
	static const char open[] = "<script>", close_tag[] = "</script>";
	const char *end = page + len;
	bool any = false;

	sink_printf(out, "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src");
	for (const char *p = page; (p = memmem(p, (size_t)(end - p), open, strlen(open))) != NULL;) {
		const char *text = p + strlen(open);
		const char *stop = memmem(text, (size_t)(end - text), close_tag, strlen(close_tag));
		struct digest digest;

		if (stop == NULL)
			break;
		digest = digest_of(text, (size_t)(stop - text));
		sink_printf(out, " 'sha256-");
		base64_encode(digest.bytes, sizeof(digest.bytes), out);
		sink_printf(out, "'");
		any = true;
		p = stop;
	}
	sink_printf(out, "%s; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", any ? "" : " 'none'");
}

static void
make_report(struct page_job *job)
{
	struct results results;
	char *id = NULL;

	job->rc = store_find_run(job->web->store, job->run, &id, &job->err);
	if (job->rc == LS_OK)
		job->rc = assemble_run(job->web->store, id, &results, &job->err);
	free(id);
	if (job->rc != LS_OK)
		return;
	tool_output_cut(&results);
	job->rc = report_format_find(job->as_page ? "html" : "json")->render(&results, &job->body, &job->err);
	field_struct_fini(&results_desc, &results);
	if (job->rc == LS_OK && job->as_page)
		web_page_policy(job->body.text, job->body.len, &job->policy);
}

static void
page_work(void *arg)
{
	struct page_job *job = arg;
	const struct store_wanted wanted = { .limit = RUNS_SHOWN };

	if (job->run == NULL)
		job->rc = store_list_runs(job->web->store, &wanted, &job->rows, &job->count, &job->err);
	else
		make_report(job);
}

static void
encode_list(struct page_job *job)
{
	struct web_runs all = { .runs_count = job->count };
	char(*stamps)[40] = ls_calloc(job->count + 1, sizeof(*stamps));
	size_t len;
	char *text;

	all.runs = ls_calloc(job->count + 1, sizeof(*all.runs));
	for (size_t i = 0; i < job->count; i++)
		all.runs[i] = operator_row(
		    &job->rows[i], run_find(job->web->daemon, job->rows[i].id), stamps[i], sizeof(stamps[i]));
	text = json_encode_struct(&web_runs_desc, &all, false, &len);
	sink_add(&job->body, text, len);
	free(text);
	for (size_t i = 0; i < job->count; i++)
		operator_row_fini(&all.runs[i]);
	free(all.runs);
	free(stamps);
}

static void
answer_failed(struct page_job *job)
{
	struct http_answer a = {
		.status = job->rc == LS_E_NOTFOUND ? 404
		    : job->rc == LS_E_INVALID      ? 400
						   : 500,
		.type = "text/plain; charset=utf-8",
	};

	a.body = ls_asprintf("%s\n", job->err.text);
	a.len = strlen(a.body);
	http_answer(job->web->server, job->number, &a);
}

static void
page_done(void *arg)
{
	struct page_job *job = arg;

	if (!job->web->closing) {
		if (job->rc == LS_OK && job->run == NULL)
			encode_list(job);
		if (job->rc == LS_OK) {
			struct http_answer a = {
				.status = 200,
				.type = job->as_page ? "text/html; charset=utf-8" : "application/json",
				.policy = job->policy.text,
				.body = job->body.text,
				.len = job->body.len,
			};

			job->body = (struct sink){ 0 };
			http_answer(job->web->server, job->number, &a);
		} else {
			answer_failed(job);
		}
	}
	for (size_t i = 0; i < job->count; i++)
		store_run_fini(&job->rows[i]);
	free(job->rows);
	sink_free(&job->body);
	sink_free(&job->policy);
	free(job->run);
	free(job);
}

void
web_answer_later(struct web *web, uint64_t number, const char *what, bool as_page)
{
	static const struct http_field soon[] = { { "Retry-After", "5" }, { NULL, NULL } };
	struct http_answer busy = { .status = 503, .more = soon };
	struct page_job *job;

	if (offload_pending(web->thread) >= PENDING_MAX) {
		http_answer(web->server, number, &busy);
		return;
	}
	job = ls_calloc(1, sizeof(*job));
	job->web = web;
	job->number = number;
	job->run = ls_strdup(what);
	job->as_page = as_page;
	offload_submit(web->thread, page_work, page_done, job);
}
