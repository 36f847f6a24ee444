#include "coordinator/cli/cluster_conf.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/cli/files.h"

#define NAME_BYTES 64
#define DEPTH_MAX  16

struct parser {
	const char *what;
	size_t line;
	char **names;
	size_t count;
	char *name, *address; /* of the node whose part is read */
	bool in_node;
	size_t depth;      /* corosync: open braces */
	size_t list_depth; /* ... of them when nodelist was opened, 0: not in it */
};

static enum ls_rc
bad(const struct parser *p, struct ls_err *err, const char *why, const char *word)
{
	return ls_err_set(err, LS_E_INVALID, "%s: line %zu: %s%.80s", p->what, p->line, why, word);
}

static bool
is_name(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > NAME_BYTES)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && strchr("._-:", s[i]) == NULL)
			return false;
	return true;
}

static bool
is_known(const struct parser *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->names[i], name) == 0)
			return true;
	return false;
}

/* A node's part is over. */
static enum ls_rc
end_node(struct parser *p, struct ls_err *err)
{
	const char *name = p->name != NULL ? p->name : p->address;
	enum ls_rc rc = LS_OK;

	if (p->in_node && name == NULL)
		rc = bad(p, err, "the node that ends here has no name", "");
	else if (p->in_node && p->count == CLUSTER_CONF_NODES_MAX)
		rc = bad(p, err, "more nodes than lockstep takes", "");
	else if (p->in_node && !is_known(p, name)) {
		p->names = ls_grow(p->names, p->count, sizeof(*p->names));
		p->names[p->count++] = ls_strdup(name);
	}
	free(p->name);
	free(p->address);
	p->name = p->address = NULL;
	p->in_node = false;
	return rc;
}

/* "key<separator>value" of a node: keeps what can name it. */
static enum ls_rc
take_value(struct parser *p, char *text, char separator, struct ls_err *err)
{
	char *value = strchr(text, separator);
	char **slot = NULL;

	if (value == NULL)
		return bad(p, err, "neither a section nor a value: ", text);
	if (!p->in_node)
		return LS_OK;

	size_t key = strcspn(text, " \t:=");

	value++;
	value += strspn(value, " \t");
	if (key == 4 && strncmp(text, "name", key) == 0)
		slot = &p->name;
	else if (key == 10 && strncmp(text, "ring0_addr", key) == 0)
		slot = &p->address;
	if (slot == NULL)
		return LS_OK;
	if (!is_name(value))
		return bad(p, err, "not the name of a node: ", value);
	free(*slot);
	*slot = ls_strdup(value);
	return LS_OK;
}

/* OCFS2: "node:" at the beginning of a line, then "key = value" lines. */
static enum ls_rc
take_ocfs2(struct parser *p, char *text, struct ls_err *err)
{
	size_t n = strlen(text);

	if (text[n - 1] != ':')
		return take_value(p, text, '=', err);

	enum ls_rc rc = end_node(p, err);

	p->in_node = strcmp(text, "node:") == 0;
	return rc;
}

static enum ls_rc
close_section(struct parser *p, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	if (p->depth == 0)
		return bad(p, err, "a brace too many", "");
	if (p->list_depth != 0 && p->depth == p->list_depth + 1)
		rc = end_node(p, err);
	if (p->depth == p->list_depth)
		p->list_depth = 0;
	p->depth--;
	return rc;
}

/* corosync: "section {", "key: value", "}". */
static enum ls_rc
take_corosync(struct parser *p, char *text, struct ls_err *err)
{
	size_t n = strlen(text);

	if (strcmp(text, "}") == 0)
		return close_section(p, err);
	if (text[n - 1] != '{')
		return take_value(p, text, ':', err);
	if (++p->depth > DEPTH_MAX)
		return bad(p, err, "sections too deep", "");

	size_t word = strcspn(text, " \t{");

	if (p->depth == 1 && word == 8 && strncmp(text, "nodelist", word) == 0)
		p->list_depth = p->depth;
	else if (p->list_depth != 0 && p->depth == p->list_depth + 1)
		p->in_node = word == 4 && strncmp(text, "node", word) == 0;
	return LS_OK;
}

/* Cuts blanks at both ends; what begins with # is a comment. */
static char *
trim(char *line)
{
	size_t n;

	line += strspn(line, " \t\r");
	n = strlen(line);
	while (n > 0 && strchr(" \t\r", line[n - 1]) != NULL)
		line[--n] = '\0';
	return line[0] == '#' ? line + n : line;
}

static enum ls_rc
parse_lines(struct parser *p, char *text, struct ls_err *err)
{
	bool braces = strchr(text, '{') != NULL;
	enum ls_rc rc = LS_OK;

	for (char *rest = text, *line; rc == LS_OK && (line = strsep(&rest, "\n")) != NULL;) {
		char *clean = trim(line);

		p->line++;
		if (*clean != '\0')
			rc = braces ? take_corosync(p, clean, err) : take_ocfs2(p, clean, err);
	}
	if (rc == LS_OK && p->depth != 0)
		rc = bad(p, err, "a section is not closed", "");
	if (rc == LS_OK)
		rc = end_node(p, err);
	if (rc == LS_OK && p->count == 0)
		rc = ls_err_set(err, LS_E_INVALID,
		    "%s names no nodes: neither node: parts as in OCFS2's cluster.conf, nor a nodelist as in "
		    "corosync.conf",
		    p->what);
	return rc;
}

enum ls_rc
cluster_conf_parse(const char *text, const char *what, char ***names, size_t *count, struct ls_err *err)
{
	struct parser p = { .what = what };
	char *copy = ls_strdup(text);
	enum ls_rc rc = parse_lines(&p, copy, err);

	free(copy);
	free(p.name);
	free(p.address);
	if (rc != LS_OK) {
		cluster_conf_free(p.names, p.count);
		return rc;
	}
	*names = p.names;
	*count = p.count;
	return LS_OK;
}

enum ls_rc
cluster_conf_read(const char *path, char ***names, size_t *count, struct ls_err *err)
{
	char *text;
	size_t len;
	enum ls_rc rc = file_read(path, &text, &len, err);

	if (rc != LS_OK)
		return rc;
	if (strlen(text) != len)
		rc = ls_err_set(err, LS_E_INVALID, "%s is no text", path);
	else
		rc = cluster_conf_parse(text, path, names, count, err);
	free(text);
	return rc;
}

void
cluster_conf_free(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}
