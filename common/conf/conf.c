#include "common/conf/conf.h"

#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

/* One file while inih reads it. inih calls back without a line number, but directly after it asked for that line. */
struct reading {
	FILE *in;
	const char *where;
	const char *section;
	const struct struct_desc *desc;
	void *obj;
	bool *given;      /* by field, over all files */
	bool *seen;       /* by field, in this file */
	int line;         /* number of the last line handed out */
	int failed_line;  /* where the error below was found; 0: none */
	int failed_errno; /* reading itself failed */
	enum ls_rc rc;
	struct ls_err *err;
};

/* --- lines ----------------------------------------------------------------------------------------------------------- */

static enum ls_rc
fail_line(struct reading *r, enum ls_rc rc)
{
	if (r->failed_line == 0) {
		r->failed_line = r->line;
		r->rc = rc;
	}
	return rc;
}

/* inih says nothing of a section without keys. */
static void
check_section(struct reading *r, const char *line)
{
	size_t want = strlen(r->section);

	if (r->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3; /* byte order mark */
	if (line[0] != '[' || r->failed_line != 0)
		return;

	size_t len = strcspn(line + 1, "]\n");
	const char *rest = line + 1 + len + (line[1 + len] == ']');
	rest += strspn(rest, " \t\r\n");
	if (rest[0] != '\0' && rest[0] != ';' && rest[0] != '#') {
		fail_line(
		    r, ls_err_set(r->err, LS_E_INVALID, "%s:%d: text after the section's name", r->where, r->line));
		return;
	}
	if (line[1 + len] != ']' || (len == want && memcmp(line + 1, r->section, len) == 0))
		return;
	fail_line(r,
	    ls_err_set(r->err, LS_E_INVALID, "%s:%d: unknown section [%.*s]; only [%s] is known", r->where, r->line,
		(int)LS_MIN(len, 64U), line + 1, r->section));
}

/* inih's reader, as fgets; but a line that does not fit is an error instead of two lines, and so is a NUL. */
static char *
read_line(char *buf, int size, void *arg)
{
	struct reading *r = arg;
	int n = 0;
	int c;

	if (r->failed_line != 0)
		return NULL;
	r->line++;
	while ((c = getc(r->in)) != EOF && c != '\n') {
		if (n == 0 && strchr(" \t\r\v\f", c) != NULL && c != '\0')
			continue; /* inih would take an indented line for more of the value before it */
		if (c == '\0') {
			fail_line(r, ls_err_set(r->err, LS_E_INVALID, "%s:%d: has a NUL byte", r->where, r->line));
			return NULL;
		}
		if (n >= size - 2) {
			fail_line(r,
			    ls_err_set(r->err, LS_E_INVALID, "%s:%d: line is longer than %d bytes", r->where, r->line,
				size - 2));
			return NULL;
		}
		buf[n++] = (char)c;
	}
	if (ferror(r->in)) {
		r->failed_errno = errno;
		return NULL;
	}
	if (c == EOF && n == 0)
		return NULL;
	buf[n++] = '\n';
	buf[n] = '\0';
	check_section(r, buf);
	return buf;
}

/* --- keys ------------------------------------------------------------------------------------------------------------ */

static bool
is_list(const struct field_desc *f)
{
	return f->kind == FIELD_STR_LIST || f->kind == FIELD_I64_LIST;
}

static enum ls_rc
take_key(struct reading *r, const char *section, const char *key, const char *value)
{
	const struct field_desc *f = field_find(r->desc, key);
	char where[512];

	if (strcmp(section, r->section) != 0)
		return ls_err_set(r->err, LS_E_INVALID, "%s:%d: '%.64s' stands outside of section [%s]", r->where,
		    r->line, key, r->section);
	if (value[0] == ';') /* "key =;x": a comment to people, a value to inih */
		return ls_err_set(
		    r->err, LS_E_INVALID, "%s:%d: value of '%.64s' begins with a semicolon", r->where, r->line, key);
	if (f != NULL && !is_list(f) && r->seen[f - r->desc->fields])
		return ls_err_set(r->err, LS_E_INVALID, "%s:%d: '%s' is given a second time", r->where, r->line, key);

	snprintf(where, sizeof(where), "%s:%d", r->where, r->line);
	enum ls_rc rc = conf_set(r->desc, r->obj, key, value, where, r->err);
	if (rc != LS_OK)
		return rc;
	f = field_find(r->desc, key);
	r->seen[f - r->desc->fields] = true;
	if (r->given != NULL)
		r->given[f - r->desc->fields] = true;
	return LS_OK;
}

#if INI_HANDLER_LINENO
static int
on_key(void *arg, const char *section, const char *key, const char *value, int lineno)
#else
static int
on_key(void *arg, const char *section, const char *key, const char *value)
#endif
{
	struct reading *r = arg;
	enum ls_rc rc;

#if INI_HANDLER_LINENO
	(void)lineno;
#endif
	if (r->failed_line != 0)
		return 0; /* the first error is the one to show */
	rc = take_key(r, section, key, value);
	if (rc == LS_OK)
		return 1;
	fail_line(r, rc);
	return 0;
}

/* --- files ----------------------------------------------------------------------------------------------------------- */

enum ls_rc
conf_read(FILE *in, const char *where, const char *section, const struct struct_desc *desc, void *obj, bool *given,
    struct ls_err *err)
{
	struct reading r = {
		.in = in, .where = where, .section = section, .desc = desc, .obj = obj, .given = given, .err = err
	};

	r.seen = ls_calloc(desc->field_count, sizeof(*r.seen));
	int wrong_line = ini_parse_stream(read_line, &r, on_key, &r);
	free(r.seen);

	if (r.failed_errno != 0)
		return ls_err_sys(err, r.failed_errno, "%s: read", where);
	if (wrong_line > 0 && (r.failed_line == 0 || wrong_line < r.failed_line))
		return ls_err_set(
		    err, LS_E_INVALID, "%s:%d: neither 'key = value' nor '[section]' nor a comment", where, wrong_line);
	if (wrong_line < 0)
		return ls_err_set(err, LS_E_NOMEM, "%s: out of memory", where);
	return r.failed_line != 0 ? r.rc : LS_OK;
}

static enum ls_rc
read_path(
    const char *path, const char *section, const struct struct_desc *desc, void *obj, bool *given, struct ls_err *err)
{
	FILE *in = fopen(path, "re");

	if (in == NULL)
		return ls_err_sys(err, errno, "%s: open", path);

	enum ls_rc rc = conf_read(in, path, section, desc, obj, given, err);
	fclose(in);
	return rc;
}

static int
is_drop_in(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return e->d_name[0] != '.' && n > 5 && strcmp(e->d_name + n - 5, ".conf") == 0;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* alphasort asks the locale */
}

static enum ls_rc
read_drop_ins(
    const char *path, const char *section, const struct struct_desc *desc, void *obj, bool *given, struct ls_err *err)
{
	struct dirent **files = NULL;
	char *dir = ls_asprintf("%s.d", path);
	enum ls_rc rc = LS_OK;
	int count = scandir(dir, &files, is_drop_in, by_name);

	if (count < 0 && errno != ENOENT)
		rc = ls_err_sys(err, errno, "%s: open", dir);
	for (int i = 0; i < count; i++) {
		char *file = ls_asprintf("%s/%s", dir, files[i]->d_name);

		if (rc == LS_OK)
			rc = read_path(file, section, desc, obj, given, err);
		free(file);
		free(files[i]);
	}
	free(files);
	free(dir);
	return rc;
}

static enum ls_rc
check_required(const char *path, const struct struct_desc *desc, const bool *given, struct ls_err *err)
{
	for (size_t i = 0; i < desc->field_count; i++)
		if ((desc->fields[i].flags & FIELD_REQUIRED) != 0 && !given[i])
			return ls_err_set(err, LS_E_INVALID, "%s: '%s' is missing", path, desc->fields[i].name);
	return LS_OK;
}

enum ls_rc
conf_load(const char *path, const char *section, const struct struct_desc *desc, void *obj, struct ls_err *err)
{
	field_struct_init(desc, obj);
	if (path == NULL)
		return LS_OK;

	bool *given = ls_calloc(desc->field_count, sizeof(*given));
	enum ls_rc rc = read_path(path, section, desc, obj, given, err);
	if (rc == LS_OK)
		rc = read_drop_ins(path, section, desc, obj, given, err);
	if (rc == LS_OK)
		rc = check_required(path, desc, given, err);
	if (rc != LS_OK)
		field_struct_fini(desc, obj);
	free(given);
	return rc;
}
