#include "coordinator/cli/documents.h"

#include <stdlib.h>

#include "coordinator/cli/client.h"
#include "coordinator/cli/files.h"
#include "coordinator/cli/jobs.h"
#include "coordinator/cli/output.h"

static enum ls_rc
get_text(const struct cli *cli, const char *what, char **out, size_t *out_len, struct ls_err *err)
{
	struct client *client;

	if (what != NULL && jobs_is_file(what))
		return file_read(what, out, out_len, err);
	enum ls_rc rc = client_open(cli, NULL, &client, err);
	if (rc != LS_OK)
		return rc;
	rc = client_export(client, what, out, out_len, err);
	client_close(client);
	return rc;
}

enum ls_rc
document_load(const struct cli *cli, const char *what, struct results *out, struct ls_err *err)
{
	char *text;
	size_t len;
	enum ls_rc rc = get_text(cli, what, &text, &len, err);

	if (rc != LS_OK)
		return rc;
	rc = results_parse(text, len, what == NULL ? "last" : what, out, err);
	free(text);
	return rc;
}
