#include "agent/daemon/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "agent/daemon/config.h"
#include "common/base/mem.h"

enum {
	OPT_CONFIG = 256,
	OPT_SET,
	OPT_CHECK,
	OPT_PRINT,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "set", required_argument, NULL, OPT_SET },
	{ "check-config", no_argument, NULL, OPT_CHECK },
	{ "print-config", no_argument, NULL, OPT_PRINT },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static enum ls_rc
take_option(int c, char **argv, struct options *o, struct ls_err *err)
{
	switch (c) {
	case OPT_CONFIG:
		o->config = optarg;
		return LS_OK;
	case OPT_SET:
		o->set = ls_grow(o->set, o->set_count, sizeof(*o->set));
		o->set[o->set_count++] = optarg;
		return LS_OK;
	case OPT_CHECK:
		o->command = OPTIONS_CHECK_CONFIG;
		return LS_OK;
	case OPT_PRINT:
		o->command = OPTIONS_PRINT_CONFIG;
		return LS_OK;
	case OPT_VERSION:
		o->command = OPTIONS_VERSION;
		return LS_OK;
	case 'h':
		o->command = OPTIONS_HELP;
		return LS_OK;
	case ':':
		return ls_err_set(err, LS_E_INVALID, "%s: an argument is missing", argv[optind - 1]);
	default:
		return ls_err_set(err, LS_E_INVALID, "%s: unknown option", argv[optind - 1]);
	}
}

enum ls_rc
options_parse(int argc, char **argv, struct options *out, struct ls_err *err)
{
	struct options o = { 0 };
	enum ls_rc rc = LS_OK;

	optind = 0; /* glibc: begin anew */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread yet */
	for (int c; !rc && (c = getopt_long(argc, argv, ":h", long_options, NULL)) != -1;)
		rc = take_option(c, argv, &o, err);

	if (!rc && optind < argc) {
		if (strcmp(argv[optind], "stop") == 0 && optind + 1 == argc && o.command == OPTIONS_RUN)
			o.command = OPTIONS_STOP;
		else
			rc = ls_err_set(err, LS_E_INVALID, "%s: unexpected argument", argv[optind]);
	}
	if (rc) {
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
	*o = (struct options){ 0 };
}

void
options_help(FILE *out)
{
	(void)fputs(
	    "lockstep-agent: takes part in lockstep's runs on this node\n"
	    "\n"
	    "  lockstep-agent [--config FILE] [--set KEY=VALUE ...]   run in the foreground (as systemd wants it)\n"
	    "  lockstep-agent stop [--config FILE]                    end the load on this node within 5 s, without\n"
	    "                                                         any coordinator; results are kept\n"
	    "\n"
	    "  --config FILE     configuration instead of the installed agent.conf\n"
	    "  --set KEY=VALUE   one key on top of the file; can be repeated\n"
	    "  --check-config    read configuration and certificates, say what is wrong, and exit\n"
	    "  --print-config    print the configuration in force as a file, with an explanation of each key\n"
	    "  --version         version, build and protocol\n"
	    "\n"
	    "Signals: TERM ends the load, removes the run's files and exits; USR1 ends the load (as stop does);\n"
	    "HUP reads the certificates again.\n"
	    "\n"
	    "Examples:\n"
	    "  lockstep-agent --set coordinator=bench0:7437 --set allow=/mnt/ocfs2/bench\n"
	    "  lockstep-agent --print-config > /etc/lockstep/agent.conf\n"
	    "\n"
	    "Keys of the configuration (section [" AGENT_CONFIG_SECTION "]):\n",
	    out);
	for (size_t i = 0; i < agent_config_desc.field_count; i++)
		(void)fprintf(out, "  %-16s %s\n", agent_config_desc.fields[i].name, agent_config_desc.fields[i].help);
}
