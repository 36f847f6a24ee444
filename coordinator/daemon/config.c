#include "coordinator/daemon/config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/conf/conf.h"

#ifndef LS_SYSCONFDIR
#define LS_SYSCONFDIR "/etc"
#endif

#define CONFIG_FILE LS_SYSCONFDIR "/lockstep/lockstepd.conf"

#include "common/base/field_table.h"
#include "coordinator/daemon/config.def"
#include "common/base/field_undef.h"

static bool
is_option(const char *arg, const char *name, int argc, int *i, char **argv, const char **value)
{
	size_t n = strlen(name);

	if (strncmp(arg, name, n) != 0)
		return false;
	if (arg[n] == '=') {
		*value = arg + n + 1;
		return true;
	}
	if (arg[n] != '\0')
		return false;
	*value = *i + 1 < argc ? argv[++*i] : NULL;
	return true;
}

static enum ls_rc
parse_fd(const char *text, int *out, struct ls_err *err)
{
	char *end = NULL;
	long fd;

	errno = 0;
	fd = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || fd < 0 || fd > 1 << 20)
		return ls_err_set(err, LS_E_INVALID, "--ready-fd %s: not the number of a file descriptor", text);
	*out = (int)fd;
	return LS_OK;
}

static enum ls_rc
parse_valued(int argc, char **argv, int *i, struct options *o, struct ls_err *err)
{
	const char *arg = argv[*i];
	const char *value = NULL;

	if (is_option(arg, "--config", argc, i, argv, &value)) {
		o->config = value;
	} else if (is_option(arg, "--set", argc, i, argv, &value)) {
		o->set = ls_grow(o->set, o->set_count, sizeof(*o->set));
		o->set[o->set_count++] = value;
	} else if (is_option(arg, "--ready-fd", argc, i, argv, &value)) {
		if (value != NULL)
			return parse_fd(value, &o->ready_fd, err);
	} else {
		return ls_err_set(err, LS_E_INVALID, "unknown argument %s; see lockstepd --help", arg);
	}
	if (value == NULL)
		return ls_err_set(err, LS_E_INVALID, "%s needs a value", arg);
	return LS_OK;
}

enum ls_rc
options_parse(int argc, char **argv, struct options *out, struct ls_err *err)
{
	struct options o = { .ready_fd = -1 };
	enum ls_rc rc = LS_OK;

	for (int i = 1; rc == LS_OK && i < argc; i++) {
		if (strcmp(argv[i], "--check-config") == 0)
			o.check_config = true;
		else if (strcmp(argv[i], "--print-config") == 0)
			o.print_config = true;
		else if (strcmp(argv[i], "--version") == 0)
			o.version = true;
		else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			o.help = true;
		else
			rc = parse_valued(argc, argv, &i, &o, err);
	}
	if (rc != LS_OK) {
		options_fini(&o);
		return rc;
	}
	*out = o;
	return LS_OK;
}

void
options_fini(struct options *o)
{
	free(o->set);
	o->set = NULL;
	o->set_count = 0;
}

void
options_help(void)
{
	struct lockstepd_config defaults;

	puts("lockstepd: the coordinator of lockstep. Agents and operators connect to it.\n"
	     "\n"
	     "Usage: lockstepd [--config FILE] [--set KEY=VALUE ...] [--ready-fd N]\n"
	     "       lockstepd --check-config | --print-config | --version | --help\n"
	     "\n"
	     "  --config FILE     configuration; default " CONFIG_FILE " if it is there\n"
	     "  --set KEY=VALUE   sets one key on top of the file; may be repeated\n"
	     "  --check-config    reads the configuration and exits\n"
	     "  --print-config    prints the configuration in force and exits\n"
	     "  --ready-fd N      writes one line with the addresses to descriptor N once it listens\n"
	     "\n"
	     "SIGTERM ends it; runs in progress are taken up at the next start. SIGHUP reads certificates again.\n"
	     "\n"
	     "Keys and their defaults:\n");
	field_struct_init(&lockstepd_config_desc, &defaults);
	conf_print(CONFIG_SECTION, &lockstepd_config_desc, &defaults, true, stdout);
	field_struct_fini(&lockstepd_config_desc, &defaults);
}

static enum ls_rc
apply_set(const char *text, struct lockstepd_config *c, struct ls_err *err)
{
	const char *eq = strchr(text, '=');
	char key[64];

	if (eq == NULL || eq == text || (size_t)(eq - text) >= sizeof(key))
		return ls_err_set(err, LS_E_INVALID, "--set %s: expected KEY=VALUE", text);
	snprintf(key, sizeof(key), "%.*s", (int)(eq - text), text);
	return conf_set(&lockstepd_config_desc, c, key, eq + 1, "--set", err);
}

static bool
set_text(const char *s)
{
	return s != NULL && s[0] != '\0';
}

static enum ls_rc
check_whole(const struct lockstepd_config *c, struct ls_err *err)
{
	if (!set_text(c->listen) && !set_text(c->socket))
		return ls_err_set(err, LS_E_INVALID, "listen and socket are both empty: nobody could connect");
	if (set_text(c->listen) && (!set_text(c->ca) || !set_text(c->cert) || !set_text(c->key)))
		return ls_err_set(err, LS_E_INVALID, "listen needs ca, cert and key");
	if (!set_text(c->store))
		return ls_err_set(err, LS_E_INVALID, "store is empty");
	return LS_OK;
}

enum ls_rc
config_load(const struct options *o, struct lockstepd_config *out, struct ls_err *err)
{
	const char *path = o->config;
	struct lockstepd_config c;
	enum ls_rc rc;

	if (path == NULL && access(CONFIG_FILE, F_OK) == 0)
		path = CONFIG_FILE;
	rc = conf_load(path, CONFIG_SECTION, &lockstepd_config_desc, &c, err);
	if (rc != LS_OK)
		return rc;
	for (size_t i = 0; rc == LS_OK && i < o->set_count; i++)
		rc = apply_set(o->set[i], &c, err);
	if (rc == LS_OK)
		rc = check_whole(&c, err);
	if (rc != LS_OK) {
		field_struct_fini(&lockstepd_config_desc, &c);
		return rc;
	}
	*out = c;
	return LS_OK;
}
