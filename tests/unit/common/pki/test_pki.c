#include "common/pki/pki.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY 86400

static const struct identity agent_1 = { ROLE_AGENT, "node1" };
static const struct identity agent_2 = { ROLE_AGENT, "node2" };
static const struct identity coordinator = { ROLE_COORDINATOR, "main" };
static const struct identity operator_1 = { ROLE_OPERATOR, "alice" };

struct fixture {
	char dir[64];
};

static const char *
in_dir(const struct fixture *f, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return path;
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/ls-pki-XXXXXX");
	*state = f;
	return mkdtemp(f->dir) == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	struct dirent *e;
	DIR *d = opendir(f->dir);

	while (d != NULL && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void
expect(enum ls_rc wanted, enum ls_rc got, const struct ls_err *err)
{
	if (got != wanted)
		fail_msg("wanted %s, got %s: %s", ls_rc_name(wanted), ls_rc_name(got), err->text);
}

static void
make_root(const struct fixture *f, unsigned days)
{
	struct ls_err err = { 0 };

	expect(LS_OK, pki_init(f->dir, "test root", days, &err), &err);
}

static void
issue(const struct fixture *f, const struct identity *id)
{
	struct ls_err err = { 0 };

	expect(LS_OK, pki_issue(f->dir, id, 30, false, &err), &err);
}

static X509 *
read_cert(const char *path)
{
	FILE *in = fopen(path, "re");

	assert_non_null(in);
	X509 *cert = PEM_read_X509(in, NULL, NULL, NULL);
	fclose(in);
	assert_non_null(cert);
	return cert;
}

static bool
verifies(X509 *root, X509 *cert, int purpose)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();

	X509_STORE_add_cert(store, root);
	X509_STORE_CTX_init(ctx, store, cert, NULL);
	X509_STORE_CTX_set_flags(ctx, X509_V_FLAG_X509_STRICT);
	X509_STORE_CTX_set_purpose(ctx, purpose);
	bool ok = X509_verify_cert(ctx) == 1;
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return ok;
}

static void
test_a_leaf_verifies_for_both_sides_and_signs_nothing(void **state)
{
	const struct fixture *f = *state;

	make_root(f, 365);
	issue(f, &agent_1);
	X509 *root = read_cert(in_dir(f, "ca.crt"));
	X509 *leaf = read_cert(in_dir(f, "agent-node1.crt"));

	assert_true(verifies(root, leaf, X509_PURPOSE_SSL_SERVER));
	assert_true(verifies(root, leaf, X509_PURPOSE_SSL_CLIENT));
	assert_int_equal(X509_check_ca(root), 1);
	assert_int_equal(X509_get_pathlen(root), 0);
	assert_int_equal(X509_check_ca(leaf), 0);
	assert_int_equal(X509_get_key_usage(leaf), KU_DIGITAL_SIGNATURE);
	assert_int_equal(X509_get_key_usage(root), KU_KEY_CERT_SIGN | KU_CRL_SIGN);
	assert_int_equal(X509_get_extended_key_usage(leaf), XKU_SSL_SERVER | XKU_SSL_CLIENT);
	assert_int_equal(X509_get_version(leaf), X509_VERSION_3);
	assert_int_equal(ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(leaf), X509_get0_subject_key_id(root)), 0);
	assert_int_equal(EVP_PKEY_get_bits(X509_get0_pubkey(leaf)), 256);
	X509_free(leaf);
	X509_free(root);
}

static void
test_a_leaf_of_another_root_does_not_verify(void **state)
{
	const struct fixture *f = *state;
	struct fixture *other = NULL;

	assert_int_equal(setup((void **)&other), 0);
	make_root(f, 365);
	make_root(other, 365);
	issue(f, &agent_1);
	X509 *root = read_cert(in_dir(other, "ca.crt"));
	X509 *leaf = read_cert(in_dir(f, "agent-node1.crt"));
	assert_false(verifies(root, leaf, X509_PURPOSE_SSL_CLIENT));
	X509_free(leaf);
	X509_free(root);
	teardown((void **)&other);
}

static void
test_the_identity_is_read_back_from_the_file(void **state)
{
	const struct fixture *f = *state;
	const struct identity *all[] = { &agent_1, &coordinator, &operator_1 };
	const char *files[] = { "agent-node1.crt", "coordinator-main.crt", "operator-alice.crt" };
	int64_t now = (int64_t)time(NULL);

	make_root(f, 365);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct ls_err err = { 0 };
		struct identity id;
		int64_t from, until;

		issue(f, all[i]);
		expect(LS_OK, identity_from_cert_file(in_dir(f, files[i]), &id, &from, &until, &err), &err);
		assert_int_equal(id.role, all[i]->role);
		assert_string_equal(id.name, all[i]->name);
		assert_in_range(now - from, 240, 360);
		assert_in_range(until - now, 30 * DAY - 60, 30 * DAY + 60);
	}
}

static void
test_what_is_no_identity_is_refused(void **state)
{
	const struct fixture *f = *state;
	struct ls_err err = { 0 };
	struct identity id;

	make_root(f, 365);
	expect(LS_E_TLS, identity_from_cert_file(in_dir(f, "ca.crt"), &id, NULL, NULL, &err), &err);
	assert_non_null(strstr(err.text, "ca.crt"));
	expect(LS_E_TLS, identity_from_cert_file(in_dir(f, "ca.key"), &id, NULL, NULL, &err), &err);
	assert_non_null(strstr(err.text, "ca.key"));
	expect(LS_E_TLS, identity_from_cert_file(in_dir(f, "none.crt"), &id, NULL, NULL, &err), &err);
	assert_int_equal(err.rc, LS_E_TLS);
	assert_non_null(strstr(err.text, "none.crt"));
}

static unsigned
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void
test_modes_do_not_depend_on_the_umask(void **state)
{
	const struct fixture *f = *state;
	struct ls_err err = { 0 };
	char sub[256];

	snprintf(sub, sizeof(sub), "%s", in_dir(f, "new"));
	mode_t old = umask(0);
	expect(LS_OK, pki_init(sub, "r", 10, &err), &err);
	umask(0277);
	expect(LS_OK, pki_issue(sub, &agent_1, 10, false, &err), &err);
	umask(old);
	assert_int_equal(mode_of(sub), 0700);
	assert_int_equal(mode_of(in_dir(f, "new/ca.key")), 0600);
	assert_int_equal(mode_of(in_dir(f, "new/ca.crt")), 0644);
	assert_int_equal(mode_of(in_dir(f, "new/agent-node1.key")), 0600);
	assert_int_equal(mode_of(in_dir(f, "new/agent-node1.crt")), 0644);
	assert_int_equal(mode_of(in_dir(f, "new/issued")), 0600);

	static const char *const made[] = { "ca.key", "ca.crt", "agent-node1.key", "agent-node1.crt", "issued" };
	int dir = open(sub, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		assert_int_equal(unlinkat(dir, made[i], 0), 0);
	close(dir);
	assert_int_equal(rmdir(sub), 0); /* nothing else was left in it */
}

static void
test_nothing_is_replaced_unasked(void **state)
{
	const struct fixture *f = *state;
	struct ls_err err = { 0 };
	struct pki_entry *before, *after;
	size_t count;

	make_root(f, 365);
	issue(f, &agent_1);
	expect(LS_OK, pki_list(f->dir, &before, &count, &err), &err);
	expect(LS_E_EXISTS, pki_init(f->dir, "again", 10, &err), &err);
	expect(LS_E_EXISTS, pki_issue(f->dir, &agent_1, 10, false, &err), &err);
	expect(LS_OK, pki_list(f->dir, &after, &count, &err), &err);
	assert_int_equal(count, 2);
	assert_string_equal(before[0].serial, after[0].serial);
	assert_string_equal(before[1].serial, after[1].serial);
	free(after);

	expect(LS_OK, pki_issue(f->dir, &agent_1, 10, true, &err), &err);
	expect(LS_OK, pki_list(f->dir, &after, &count, &err), &err);
	assert_int_equal(count, 2);
	assert_string_not_equal(before[1].serial, after[1].serial);
	free(before);
	free(after);
}

static void
test_the_list_is_sorted_and_ignores_other_files(void **state)
{
	const struct fixture *f = *state;
	struct ls_err err = { 0 };
	struct pki_entry *list;
	size_t count;

	make_root(f, 365);
	issue(f, &operator_1);
	issue(f, &agent_2);
	issue(f, &agent_1);
	issue(f, &coordinator);
	FILE *other = fopen(in_dir(f, "notes.crt"), "we");
	assert_non_null(other);
	fclose(other);
	expect(LS_OK, pki_list(f->dir, &list, &count, &err), &err);
	assert_int_equal(count, 5);
	assert_int_equal(list[0].id.role, ROLE_NONE);
	assert_int_equal(list[1].id.role, ROLE_COORDINATOR);
	assert_string_equal(list[2].id.name, "node1");
	assert_string_equal(list[3].id.name, "node2");
	assert_string_equal(list[4].id.name, "alice");
	assert_string_equal(list[4].path, in_dir(f, "operator-alice.crt"));
	assert_int_equal(strlen(list[4].serial), 32);
	free(list);
}

static void
test_a_certificate_under_a_foreign_name_is_an_error(void **state)
{
	const struct fixture *f = *state;
	struct ls_err err = { 0 };
	struct pki_entry *list;
	size_t count;
	char from[256];

	make_root(f, 365);
	issue(f, &agent_1);
	snprintf(from, sizeof(from), "%s", in_dir(f, "agent-node1.crt"));
	assert_int_equal(rename(from, in_dir(f, "operator-root.crt")), 0);
	expect(LS_E_TLS, pki_list(f->dir, &list, &count, &err), &err);
	assert_non_null(strstr(err.text, "operator-root.crt"));
}

static void
test_a_leaf_ends_with_its_root_at_the_latest(void **state)
{
	const struct fixture *f = *state;
	struct ls_err err = { 0 };
	struct pki_entry *list;
	size_t count;

	make_root(f, 10);
	issue(f, &agent_1); /* 30 days */
	expect(LS_OK, pki_list(f->dir, &list, &count, &err), &err);
	assert_int_equal(list[0].not_after, list[1].not_after);
	free(list);
}

static void
test_dates_beyond_2050_work(void **state)
{
	const struct fixture *f = *state;
	struct ls_err err = { 0 };
	struct pki_entry *list;
	size_t count;

	make_root(f, PKI_DAYS_MAX);
	expect(LS_OK, pki_list(f->dir, &list, &count, &err), &err);
	assert_in_range(list[0].not_after - (int64_t)time(NULL), (int64_t)PKI_DAYS_MAX * DAY - 60,
	    (int64_t)PKI_DAYS_MAX * DAY + 60);
	free(list);
}

static void
test_wrong_arguments_are_refused(void **state)
{
	const struct fixture *f = *state;
	const struct identity no_role = { ROLE_NONE, "x" };
	const struct identity bad_name = { ROLE_AGENT, "a,DNS:evil" };
	struct ls_err err = { 0 };
	struct pki_entry *list;
	size_t count;

	expect(LS_E_NOTFOUND, pki_issue(f->dir, &agent_1, 10, false, &err), &err);
	expect(LS_E_INVALID, pki_init(f->dir, "", 10, &err), &err);
	expect(LS_E_RANGE, pki_init(f->dir, "r", 0, &err), &err);
	expect(LS_E_RANGE, pki_init(f->dir, "r", PKI_DAYS_MAX + 1, &err), &err);
	expect(LS_E_SYS, pki_init(in_dir(f, "no/such"), "r", 10, &err), &err);
	expect(LS_E_NOTFOUND, pki_list(in_dir(f, "no"), &list, &count, &err), &err);
	make_root(f, 10);
	expect(LS_E_INVALID, pki_issue(f->dir, &no_role, 10, false, &err), &err);
	expect(LS_E_INVALID, pki_issue(f->dir, &bad_name, 10, false, &err), &err);
	expect(LS_E_RANGE, pki_issue(f->dir, &agent_1, 0, false, &err), &err);
}

static void
test_a_root_with_a_foreign_key_is_refused(void **state)
{
	const struct fixture *f = *state;
	struct ls_err err = { 0 };
	char from[256];

	make_root(f, 10);
	issue(f, &agent_1);
	snprintf(from, sizeof(from), "%s", in_dir(f, "agent-node1.key"));
	assert_int_equal(rename(from, in_dir(f, "ca.key")), 0);
	expect(LS_E_TLS, pki_issue(f->dir, &agent_2, 10, false, &err), &err);
	assert_non_null(strstr(err.text, "do not belong together"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_leaf_verifies_for_both_sides_and_signs_nothing),
		TEST(test_a_leaf_of_another_root_does_not_verify),
		TEST(test_the_identity_is_read_back_from_the_file),
		TEST(test_what_is_no_identity_is_refused),
		TEST(test_modes_do_not_depend_on_the_umask),
		TEST(test_nothing_is_replaced_unasked),
		TEST(test_the_list_is_sorted_and_ignores_other_files),
		TEST(test_a_certificate_under_a_foreign_name_is_an_error),
		TEST(test_a_leaf_ends_with_its_root_at_the_latest),
		TEST(test_dates_beyond_2050_work),
		TEST(test_wrong_arguments_are_refused),
		TEST(test_a_root_with_a_foreign_key_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
