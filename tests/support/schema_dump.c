/*
 * Writes one of the published JSON Schemas to standard output: schema_dump job|results|messages|compare|trend. See `make schemas`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/report/compare.h"
#include "coordinator/report/trend.h"
#include "proto/codec/json.h"
#include "proto/codec/msg.h"

#define SCHEMA_BASE "urn:lockstep:schema:"

static char *
make_schema(const char *name)
{
	if (strcmp(name, "job") == 0)
		return json_schema(&job_desc, JSON_SCHEMA_FILE, SCHEMA_BASE "job", "lockstep job");
	if (strcmp(name, "results") == 0)
		return json_schema(&results_desc, JSON_SCHEMA_DOCUMENT, SCHEMA_BASE "results", "lockstep-results/1");
	if (strcmp(name, "compare") == 0)
		return json_schema(&comparison_desc, JSON_SCHEMA_DOCUMENT, SCHEMA_BASE "compare", "lockstep-compare/1");
	if (strcmp(name, "trend") == 0)
		return json_schema(&trend_desc, JSON_SCHEMA_DOCUMENT, SCHEMA_BASE "trend", "lockstep-trend/1");
	if (strcmp(name, "messages") == 0)
		return msg_schema(SCHEMA_BASE "messages", "lockstep/1 messages");
	return NULL;
}

int
main(int argc, char **argv)
{
	char *text = argc == 2 ? make_schema(argv[1]) : NULL;

	if (text == NULL) {
		fprintf(stderr, "usage: schema_dump job|results|messages|compare|trend\n");
		return 2;
	}
	fputs(text, stdout);
	free(text);
	return 0;
}
