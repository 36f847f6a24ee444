/*
 * What the readers of iozone's three forms share: the run that a text is in the middle of. Not for others.
 */
#ifndef LS_COORDINATOR_IMPORT_IOZONE_INT_H
#define LS_COORDINATOR_IMPORT_IOZONE_INT_H

#include "coordinator/import/import_int.h"

enum iozone_unit { IOZONE_KIB_S = 0, IOZONE_OPS_S, IOZONE_US_OP };

/* Tests in the order of the table's columns; MIXED only in throughput mode. */
enum iozone_test {
	IOZONE_WRITE = 0,
	IOZONE_REWRITE,
	IOZONE_READ,
	IOZONE_REREAD,
	IOZONE_RANDOM_READ,
	IOZONE_RANDOM_WRITE,
	IOZONE_BACKWARD_READ,
	IOZONE_RECORD_REWRITE,
	IOZONE_STRIDE_READ,
	IOZONE_FWRITE,
	IOZONE_FREWRITE,
	IOZONE_FREAD,
	IOZONE_FREREAD,
	IOZONE_PWRITE,
	IOZONE_RE_PWRITE,
	IOZONE_PREAD,
	IOZONE_RE_PREAD,
	IOZONE_MIXED,
	IOZONE_TESTS
};

struct iozone_test_info {
	const char *test;   /* as imported.test says it */
	const char *column; /* last word of its title in the table; NULL: any */
	const char *who;    /* throughput mode: "10 initial writers"; NULL: not there */
	const char *report; /* title of its -R report, without " report" */
	const char *total;  /* name in the -R throughput report; NULL: not there */
	unsigned option;    /* number of -i */
	enum phase_kind kind;
};

extern const struct iozone_test_info import_iozone_tests[IOZONE_TESTS];

/* A run while its lines go by. */
struct iozone {
	const struct import_text *text;
	struct import_set *set;
	size_t start, end;             /* first line that belongs to it; last line with a result */
	size_t after;                  /* where the run before ended */
	bool open;                     /* lines of its head have been seen */
	bool banner;                   /* it began with iozone's own head, so that its end must come */
	bool complete;                 /* and it came */
	bool table, throughput, excel; /* forms that gave results */
	bool direct, fsync;
	unsigned reports; /* tests whose -R report was seen, as a mask */
	enum iozone_unit unit;
	const char *command; /* borrowed; NULL: not known */
	char machine[64];    /* "" : not known */
	char version[64];
	struct results *doc; /* NULL until the first result */
};

/* Ends the run at hand, and forgets all that was said of it: another begins at line. */
void import_iozone_begin(struct iozone *z, size_t line);

/* The document of the run, made at its first result. form: how origin calls the format. */
struct results *import_iozone_doc(struct iozone *z, const char *form, size_t line);

/* A phase of a test with what holds for the whole run. It has no node yet. */
struct phase_result *import_iozone_phase(
    struct iozone *z, enum iozone_test test, uint64_t file_size, uint64_t record_size, size_t line);

/* A value of the run's unit on a node. */
void import_iozone_value(const struct iozone *z, struct node_result *node, double value);

/* The node's name. */
const char *import_iozone_node(const struct iozone *z);

/*
 * Each reads what begins at *line, if anything, and moves *line to the last line that it took. LS_OK with *took false: not theirs.
 */
enum ls_rc import_iozone_table(struct iozone *z, size_t *line, bool *took, struct ls_err *err);
enum ls_rc import_iozone_throughput(struct iozone *z, size_t *line, bool *took, struct ls_err *err);
enum ls_rc import_iozone_excel(struct iozone *z, size_t *line, bool *took, struct ls_err *err);

/* Is that line the title of a table of automatic mode? */
bool import_iozone_table_title(const char *line);

#endif
