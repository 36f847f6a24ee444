/* What should be equal on all nodes. */
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "coordinator/daemon/check_int.h"

/* Put into findings beside another one, both must fit. */
#define VALUE_TEXT 450

/*
 * The node whose value most have, if more than half have one in common (Boyer and Moore's majority vote: one pass), else one of
 * those that know it. NULL: nobody does.
 */
static const struct check_node *
majority(const struct check_input *in, check_describe_fn describe)
{
	const struct check_node *leader = NULL;
	char best[VALUE_TEXT], value[VALUE_TEXT];
	size_t votes = 0;

	for (size_t i = 0; i < in->count; i++) {
		if (!describe(&in->nodes[i], value, sizeof(value)))
			continue;
		if (votes > 0 && strcmp(value, best) == 0) {
			votes++;
		} else if (votes > 0) {
			votes--;
		} else {
			leader = &in->nodes[i];
			snprintf(best, sizeof(best), "%s", value);
			votes = 1;
		}
	}
	return leader;
}

void
check_compare(struct check_report *r, check_describe_fn describe, enum check_level level)
{
	const struct check_node *leader = majority(r->in, describe);
	char usual[VALUE_TEXT], value[VALUE_TEXT];
	size_t known = 0, differ = 0;

	if (leader == NULL)
		return;
	describe(leader, usual, sizeof(usual));
	for (size_t i = 0; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];

		if (!describe(n, value, sizeof(value)))
			continue;
		known++;
		if (strcmp(value, usual) == 0)
			continue;
		check_say(r, level, check_name(n), "%s, but %s has %s", value, check_name(leader), usual);
		differ++;
	}
	if (differ == 0 && known == r->in->count)
		check_say(r, CHECK_OK, NULL, "%s on all nodes", usual);
	else if (differ == 0)
		check_say(r, CHECK_OK, NULL, "%s on the %zu nodes that tell", usual, known);
}

static bool
put(char *buf, size_t len, const char *text)
{
	if (text == NULL || *text == '\0')
		return false;
	snprintf(buf, len, "%s", text);
	return true;
}

static bool
describe_build(const struct check_node *n, char *buf, size_t len)
{
	return put(buf, len, n->build);
}

bool
check_describe_kernel(const struct check_node *n, char *buf, size_t len)
{
	return put(buf, len, n->info->facts.kernel);
}

bool
check_describe_type(const struct check_node *n, char *buf, size_t len)
{
	return check_volume(n) != NULL && put(buf, len, check_volume(n)->fs_type);
}

bool
check_describe_id(const struct check_node *n, char *buf, size_t len)
{
	return check_volume(n) != NULL && put(buf, len, check_volume(n)->fs_id);
}

bool
check_describe_options(const struct check_node *n, char *buf, size_t len)
{
	return check_volume(n) != NULL && put(buf, len, check_volume(n)->mount_options);
}

bool
check_describe_size(const struct check_node *n, char *buf, size_t len)
{
	if (check_volume(n) == NULL || check_volume(n)->total_bytes == LS_UNKNOWN_U64)
		return false;
	units_format_size(check_volume(n)->total_bytes, buf, len);
	return true;
}

bool
check_describe_governor(const struct check_node *n, char *buf, size_t len)
{
	return check_host(n) != NULL && put(buf, len, check_host(n)->governor);
}

static const char *
or_unknown(const char *s)
{
	return s != NULL && *s != '\0' ? s : "unknown";
}

/* Without names: sdb here is sdc there. */
bool
check_describe_device(const struct check_node *n, char *buf, size_t len)
{
	const struct block_facts *b = check_host(n) != NULL ? check_host(n)->block : NULL;
	char ahead[32];

	if (b == NULL)
		return false;
	snprintf(buf, len, "%s%s%s, scheduler %s, read-ahead %s, write cache %s, %zu devices below, %zu iSCSI sessions",
	    b->mapping_kind != NULL ? b->mapping_kind : "no mapping", b->model != NULL ? ", " : "",
	    b->model != NULL ? b->model : "", or_unknown(b->scheduler),
	    b->read_ahead_bytes != LS_UNKNOWN_U64 ? units_format_size(b->read_ahead_bytes, ahead, sizeof(ahead))
						  : "unknown",
	    or_unknown(b->write_cache), b->paths_count, b->iscsi_count);
	return true;
}

bool
check_describe_cluster(const struct check_node *n, char *buf, size_t len)
{
	const struct host_facts *h = check_host(n);
	size_t used = 0;

	for (size_t i = 0; h != NULL && i < h->clusters_count && used < len; i++) {
		const struct cluster_facts *c = &h->clusters[i];

		used += (size_t)snprintf(
		    buf + used, len - used, "%s%s, cluster %s", used > 0 ? "; " : "", c->stack, or_unknown(c->name));
		if (c->nodes != LS_UNKNOWN_U64 && used < len)
			used += (size_t)snprintf(buf + used, len - used, ", %llu nodes", (unsigned long long)c->nodes);
		if (c->heartbeat != NULL && used < len)
			used += (size_t)snprintf(buf + used, len - used, ", heartbeat %s", c->heartbeat);
		for (size_t k = 0; k < c->spaces_count && used < len; k++)
			used += (size_t)snprintf(buf + used, len - used, ", lock space %s", c->spaces[k]);
	}
	return used > 0;
}

void
check_row_build(struct check_report *r)
{
	check_compare(r, describe_build, r->in->job->allow_mixed_builds ? CHECK_WARNING : CHECK_FAILED);
}
