#include "common/pki/pki.h"

#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/pki/identity_x509.h"
#include "common/pki/pki_int.h"

#define KEY_MODE        0600
#define CERT_MODE       0644
#define COMMON_NAME_MAX 64 /* RFC 5280, ub-common-name */

static const char root_stem[] = "ca";
static const char cert_suffix[] = ".crt";

struct pair_paths {
	char cert[PKI_PATH_MAX];
	char key[PKI_PATH_MAX];
};

static enum ls_rc
pair_paths(const char *dir, const char *stem, struct pair_paths *out, struct ls_err *err)
{
	char name[128];

	snprintf(name, sizeof(name), "%s.key", stem);
	enum ls_rc rc = pki_path(out->key, dir, name, err);
	if (rc != LS_OK)
		return rc;
	snprintf(name, sizeof(name), "%s%s", stem, cert_suffix);
	return pki_path(out->cert, dir, name, err);
}

static enum ls_rc
refuse_existing(const struct pair_paths *paths, struct ls_err *err)
{
	if (access(paths->cert, F_OK) == 0)
		return ls_err_set(err, LS_E_EXISTS, "%s exists already", paths->cert);
	if (access(paths->key, F_OK) == 0)
		return ls_err_set(err, LS_E_EXISTS, "%s exists already", paths->key);
	return LS_OK;
}

static enum ls_rc
check_days(unsigned days, struct ls_err *err)
{
	if (days < 1 || days > PKI_DAYS_MAX)
		return ls_err_set(err, LS_E_RANGE, "%u days of validity: must be 1 to %d", days, PKI_DAYS_MAX);
	return LS_OK;
}

/* Both are complete beside their places before the first of them appears. */
static enum ls_rc
publish_pair(struct pki_staged *key, struct pki_staged *cert, bool replace, struct ls_err *err)
{
	enum ls_rc rc = pki_publish(key, replace, err);

	if (rc != LS_OK)
		return rc;
	rc = pki_publish(cert, replace, err);
	if (rc != LS_OK && !replace)
		unlink(key->path); /* ours, just made: a key without its certificate would only block the next try */
	return rc;
}

static enum ls_rc
write_pair(const char *dir, const struct pair_paths *paths, const EVP_PKEY *key, const X509 *cert, bool replace,
    struct ls_err *err)
{
	struct pki_staged key_file = { 0 };
	struct pki_staged cert_file = { 0 };
	char *key_text = NULL;
	char *cert_text = NULL;
	size_t key_len = 0;
	size_t cert_len = 0;
	enum ls_rc rc;

	rc = pki_key_pem(key, &key_text, &key_len, err);
	if (rc != LS_OK)
		goto out;
	rc = pki_cert_pem(cert, &cert_text, &cert_len, err);
	if (rc != LS_OK)
		goto out;
	rc = pki_stage(&key_file, paths->key, KEY_MODE, key_text, key_len, err);
	if (rc != LS_OK)
		goto out;
	rc = pki_stage(&cert_file, paths->cert, CERT_MODE, cert_text, cert_len, err);
	if (rc != LS_OK)
		goto out;
	rc = publish_pair(&key_file, &cert_file, replace, err);
	if (rc != LS_OK)
		goto out;
	rc = pki_sync_dir(dir, err);
out:
	pki_discard(&key_file);
	pki_discard(&cert_file);
	pki_wipe(key_text, key_len);
	free(cert_text);
	return rc;
}

enum ls_rc
pki_init(const char *dir, const char *common_name, unsigned days, struct ls_err *err)
{
	struct pair_paths paths;
	EVP_PKEY *key = NULL;
	X509 *cert = NULL;
	size_t name_len = strlen(common_name);
	enum ls_rc rc;

	if (name_len < 1 || name_len > COMMON_NAME_MAX)
		return ls_err_set(err, LS_E_INVALID, "name of the root: must have 1 to %d bytes", COMMON_NAME_MAX);
	rc = check_days(days, err);
	if (rc != LS_OK)
		return rc;
	rc = pair_paths(dir, root_stem, &paths, err);
	if (rc != LS_OK)
		return rc;
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return ls_err_sys(err, errno, "%s: mkdir", dir);
	rc = refuse_existing(&paths, err);
	if (rc != LS_OK)
		return rc;

	rc = pki_make_key(&key, err);
	if (rc != LS_OK)
		goto out;
	rc = pki_make_root(key, common_name, days, &cert, err);
	if (rc != LS_OK)
		goto out;
	rc = write_pair(dir, &paths, key, cert, false, err);
out:
	X509_free(cert);
	EVP_PKEY_free(key);
	return rc;
}

enum ls_rc
pki_load_root(const char *dir, X509 **out_cert, EVP_PKEY **out_key, struct ls_err *err)
{
	struct pair_paths paths;
	X509 *cert = NULL;
	EVP_PKEY *key = NULL;
	int64_t from, until;
	enum ls_rc rc;

	rc = pair_paths(dir, root_stem, &paths, err);
	if (rc != LS_OK)
		return rc;
	rc = pki_read_cert(paths.cert, &cert, err);
	if (rc != LS_OK)
		goto fail;
	rc = pki_read_key(paths.key, &key, err);
	if (rc != LS_OK)
		goto fail;
	if (X509_check_private_key(cert, key) != 1) {
		rc = pki_err(err, "%s and %s do not belong together", paths.cert, paths.key);
		goto fail;
	}
	rc = pki_cert_validity(cert, &from, &until, err);
	if (rc != LS_OK)
		goto fail;
	if (until <= (int64_t)time(NULL)) {
		rc = ls_err_set(err, LS_E_STATE, "%s has ended: a new root is needed", paths.cert);
		goto fail;
	}
	*out_cert = cert;
	*out_key = key;
	return LS_OK;
fail:
	X509_free(cert);
	EVP_PKEY_free(key);
	return rc;
}

enum ls_rc
pki_issue(const char *dir, const struct identity *id, unsigned days, bool renew, struct ls_err *err)
{
	struct pair_paths paths;
	char stem[IDENTITY_NAME_MAX + 32];
	X509 *root = NULL;
	X509 *cert = NULL;
	EVP_PKEY *root_key = NULL;
	EVP_PKEY *key = NULL;
	enum ls_rc rc;

	if (id->role <= ROLE_NONE || id->role > ROLE_OPERATOR || !identity_name_valid(id->name))
		return ls_err_set(err, LS_E_INVALID,
		    "a certificate needs a role (coordinator, agent, operator) and a name of 1 to %d of A-Z a-z 0-9 . "
		    "_ -",
		    IDENTITY_NAME_MAX);
	rc = check_days(days, err);
	if (rc != LS_OK)
		return rc;
	snprintf(stem, sizeof(stem), "%s-%s", identity_role_names[id->role], id->name);
	rc = pair_paths(dir, stem, &paths, err);
	if (rc != LS_OK)
		return rc;
	rc = pki_load_root(dir, &root, &root_key, err);
	if (rc != LS_OK)
		return rc;

	if (!renew)
		rc = refuse_existing(&paths, err);
	if (rc != LS_OK)
		goto out;
	rc = pki_make_key(&key, err);
	if (rc != LS_OK)
		goto out;
	rc = pki_make_leaf(key, id, days, root, root_key, &cert, err);
	if (rc != LS_OK)
		goto out;
	rc = write_pair(dir, &paths, key, cert, renew, err);
	if (rc == LS_OK)
		rc = pki_issued_add(dir, id, cert, err);
out:
	X509_free(cert);
	X509_free(root);
	EVP_PKEY_free(key);
	EVP_PKEY_free(root_key);
	return rc;
}

/* --- listing --------------------------------------------------------------------------------------------------------- */

/* Whose certificate a file of that name would hold: the root's (role NONE) or somebody's; false for other files. */
static bool
owner_of_file(const char *file, struct identity *out)
{
	char stem[IDENTITY_NAME_MAX + 32];
	size_t len = strlen(file);
	size_t suffix = sizeof(cert_suffix) - 1;

	if (len <= suffix || len - suffix >= sizeof(stem) || strcmp(file + len - suffix, cert_suffix) != 0)
		return false;
	memcpy(stem, file, len - suffix);
	stem[len - suffix] = '\0';
	*out = (struct identity){ .role = ROLE_NONE };
	if (strcmp(stem, root_stem) == 0)
		return true;

	for (int role = ROLE_NONE + 1; identity_role_names[role] != NULL; role++) {
		size_t n = strlen(identity_role_names[role]);

		if (strncmp(stem, identity_role_names[role], n) != 0 || stem[n] != '-' ||
		    !identity_name_valid(stem + n + 1))
			continue;
		out->role = (enum identity_role)role;
		snprintf(out->name, sizeof(out->name), "%s", stem + n + 1);
		return true;
	}
	return false;
}

static enum ls_rc
read_entry(
    const char *dir, const char *file, const struct identity *expected, struct pki_entry *out, struct ls_err *err)
{
	struct identity id = { .role = ROLE_NONE };
	X509 *cert = NULL;

	*out = (struct pki_entry){ .id = *expected };
	enum ls_rc rc = pki_path(out->path, dir, file, err);
	if (rc != LS_OK)
		return rc;
	rc = pki_read_cert(out->path, &cert, err);
	if (rc != LS_OK)
		return rc;
	if (expected->role != ROLE_NONE)
		rc = identity_from_x509(cert, &id, err);
	if (rc == LS_OK && (id.role != expected->role || strcmp(id.name, expected->name) != 0))
		rc = ls_err_set(err, LS_E_TLS, "certificate is that of %s %s", identity_role_names[id.role], id.name);
	if (rc == LS_OK)
		rc = pki_cert_validity(cert, &out->not_before, &out->not_after, err);
	if (rc != LS_OK)
		ls_err_wrap(err, "%s", out->path);
	pki_cert_serial(cert, out->serial, sizeof(out->serial));
	X509_free(cert);
	return rc;
}

static int
compare_entries(const void *a, const void *b)
{
	const struct pki_entry *x = a;
	const struct pki_entry *y = b;

	if (x->id.role != y->id.role)
		return x->id.role < y->id.role ? -1 : 1;
	return strcmp(x->id.name, y->id.name);
}

enum ls_rc
pki_list(const char *dir, struct pki_entry **out, size_t *out_count, struct ls_err *err)
{
	struct pki_entry *entries = NULL;
	struct identity owner;
	struct dirent *file;
	size_t count = 0;
	X509_CRL *crl = NULL;

	DIR *d = opendir(dir);
	if (d == NULL && errno == ENOENT)
		return ls_err_set(err, LS_E_NOTFOUND, "%s does not exist", dir);
	if (d == NULL)
		return ls_err_sys(err, errno, "%s: open", dir);
	enum ls_rc rc = pki_read_crl(dir, &crl, err);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): d is known to this thread alone */
	while (rc == LS_OK && (file = readdir(d)) != NULL) {
		if (!owner_of_file(file->d_name, &owner))
			continue;
		entries = ls_grow(entries, count, sizeof(*entries));
		rc = read_entry(dir, file->d_name, &owner, &entries[count++], err);
	}
	closedir(d);
	for (size_t i = 0; i < count; i++)
		entries[i].revoked = pki_crl_has(crl, entries[i].serial);
	X509_CRL_free(crl);
	if (rc != LS_OK) {
		free(entries);
		return rc;
	}
	if (count > 1)
		qsort(entries, count, sizeof(*entries), compare_entries);
	*out = entries;
	*out_count = count;
	return LS_OK;
}
