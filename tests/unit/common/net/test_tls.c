/*
 * Connections over TLS on loopback: who gets in, who does not, and what each side is told.
 */
#include "tests/unit/common/net/fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "common/net/tls.h"
#include "common/pki/pki.h"

#define ALPN "lockstep/1"

static char root[] = "/tmp/lockstep-test-tls-XXXXXX";
static struct loop *loop;
static struct listener *listener;
static struct tls_ctx *server_ctx;
static struct peer a, b; /* a dials, b accepts */

/* --- certificates --- */

static const char *
path_of(const char *rel)
{
	static char bufs[8][256];
	static unsigned next;
	char *buf = bufs[next++ % ARRAY_LEN(bufs)];

	snprintf(buf, sizeof(bufs[0]), "%s/%s", root, rel);
	return buf;
}

static void
issue(const char *ca, enum identity_role role, const char *name)
{
	struct ls_err err = { .rc = LS_OK };
	struct identity id = { .role = role };

	snprintf(id.name, sizeof(id.name), "%s", name);
	if (pki_issue(path_of(ca), &id, 30, false, &err) != LS_OK)
		fail_msg("pki_issue: %s", err.text);
}

static void
write_pem(const char *rel, X509 *cert, EVP_PKEY *key, X509_CRL *crl)
{
	FILE *file = fopen(path_of(rel), "w");

	assert_non_null(file);
	if (cert != NULL)
		assert_int_equal(PEM_write_X509(file, cert), 1);
	if (key != NULL)
		assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
	if (crl != NULL)
		assert_int_equal(PEM_write_X509_CRL(file, crl), 1);
	fclose(file);
	assert_int_equal(chmod(path_of(rel), 0600), 0);
}

static X509 *
read_cert(const char *rel)
{
	FILE *file = fopen(path_of(rel), "r");
	X509 *cert = PEM_read_X509(file, NULL, NULL, NULL);

	fclose(file);
	assert_non_null(cert);
	return cert;
}

static EVP_PKEY *
read_key(const char *rel)
{
	FILE *file = fopen(path_of(rel), "r");
	EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);

	fclose(file);
	assert_non_null(key);
	return key;
}

/* What pki_issue never makes: <name>.crt and .key of ca with this subjectAltName, valid from and to now plus seconds. */
static void
issue_odd(const char *name, const char *san, long from, long to)
{
	char rel[64];
	X509 *ca = read_cert("ca/ca.crt");
	EVP_PKEY *ca_key = read_key("ca/ca.key");
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();

	ASN1_INTEGER_set(X509_get_serialNumber(cert), 4711);
	X509_set_version(cert, 2);
	X509_gmtime_adj(X509_getm_notBefore(cert), from);
	X509_gmtime_adj(X509_getm_notAfter(cert), to);
	X509_set_pubkey(cert, key);
	X509_NAME_add_entry_by_txt(
	    X509_get_subject_name(cert), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(cert, X509_get_subject_name(ca));
	if (san != NULL) {
		X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, san);
		assert_non_null(ext);
		X509_add_ext(cert, ext, -1);
		X509_EXTENSION_free(ext);
	}
	assert_true(X509_sign(cert, ca_key, EVP_sha256()) > 0);
	snprintf(rel, sizeof(rel), "%s.crt", name);
	write_pem(rel, cert, NULL, NULL);
	snprintf(rel, sizeof(rel), "%s.key", name);
	write_pem(rel, NULL, key, NULL);
	X509_free(cert);
	X509_free(ca);
	EVP_PKEY_free(key);
	EVP_PKEY_free(ca_key);
}

/* crl.pem: ca revokes the certificate in rel. */
static void
revoke_cert(const char *rel)
{
	X509 *ca = read_cert("ca/ca.crt"), *cert = read_cert(rel);
	EVP_PKEY *ca_key = read_key("ca/ca.key");
	X509_CRL *crl = X509_CRL_new();
	X509_REVOKED *revoked = X509_REVOKED_new();
	ASN1_TIME *now = X509_gmtime_adj(NULL, -60), *then = X509_gmtime_adj(NULL, 3600);

	X509_CRL_set_version(crl, 1);
	X509_CRL_set_issuer_name(crl, X509_get_subject_name(ca));
	X509_CRL_set1_lastUpdate(crl, now);
	X509_CRL_set1_nextUpdate(crl, then);
	X509_REVOKED_set_serialNumber(revoked, X509_get_serialNumber(cert));
	X509_REVOKED_set_revocationDate(revoked, now);
	X509_CRL_add0_revoked(crl, revoked);
	assert_true(X509_CRL_sign(crl, ca_key, EVP_sha256()) > 0);
	write_pem("crl.pem", NULL, NULL, crl);
	X509_CRL_free(crl);
	ASN1_TIME_free(now);
	ASN1_TIME_free(then);
	X509_free(ca);
	X509_free(cert);
	EVP_PKEY_free(ca_key);
}

static int
make_certificates(void **state)
{
	struct ls_err err = { .rc = LS_OK };

	(void)state;
	assert_non_null(mkdtemp(root));
	if (pki_init(path_of("ca"), "test", 30, &err) != LS_OK ||
	    pki_init(path_of("foreign"), "test", 30, &err) != LS_OK)
		fail_msg("pki_init: %s", err.text);
	issue("ca", ROLE_COORDINATOR, "c1");
	issue("ca", ROLE_AGENT, "n1");
	issue("ca", ROLE_AGENT, "n2");
	issue("foreign", ROLE_AGENT, "n1");
	issue("foreign", ROLE_COORDINATOR, "c1");
	issue_odd("expired", "URI:lockstep://agent/n1", -7200, -3600);
	issue_odd("future", "URI:lockstep://agent/n1", 3600, 7200);
	issue_odd("nameless", NULL, -60, 3600);
	issue_odd("twofold", "URI:lockstep://agent/n1,URI:lockstep://operator/n1", -60, 3600);
	issue_odd("king", "URI:lockstep://king/n1", -60, 3600);
	issue_odd("others", "DNS:n1.example,URI:https://example/,URI:lockstep://agent/n1", -60, 3600);
	revoke_cert("ca/agent-n2.crt");
	return 0;
}

static int
remove_certificates(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command); /* NOLINT(cert-env33-c): our own temporary directory */
}

/* --- set-up --- */

static struct tls_ctx *
context(enum tls_side side, const char *ca, const char *base, const char *crl, const char *alpn)
{
	struct ls_err err = { .rc = LS_OK };
	struct tls_ctx *ctx = NULL;
	char cert[128], key[128];

	snprintf(cert, sizeof(cert), "%s.crt", base);
	snprintf(key, sizeof(key), "%s.key", base);
	const struct tls_files files = {
		.ca = path_of(ca),
		.cert = path_of(cert),
		.key = path_of(key),
		.crl = crl != NULL ? path_of(crl) : NULL,
	};
	if (tls_ctx_new(side, &files, alpn, &ctx, &err) != LS_OK)
		fail_msg("tls_ctx_new: %s", err.text);
	return ctx;
}

static void
on_connection(int fd, void *arg)
{
	struct ls_err err;

	(void)arg;
	assert_null(b.conn);
	assert_int_equal(conn_accept(loop, fd, server_ctx, &peer_config, &peer_events, &b, &b.conn, &err), LS_OK);
}

static void
listen_with(struct tls_ctx *ctx)
{
	server_ctx = ctx;
	assert_int_equal(listener_new(loop, "127.0.0.1:0", 0, on_connection, NULL, &listener, NULL), LS_OK);
}

static void
dial_with(struct tls_ctx *ctx)
{
	struct ls_err err;

	assert_int_equal(
	    conn_dial(loop, listener_address(listener), ctx, &peer_config, &peer_events, &a, &a.conn, &err), LS_OK);
}

static int
set_up(void **state)
{
	(void)state;
	loop = loop_or_fail();
	peer_init(&a, loop);
	peer_init(&b, loop);
	listener = NULL;
	server_ctx = NULL;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	conn_drop(a.conn);
	conn_drop(b.conn);
	listener_free(listener);
	loop_free(loop);
	tls_ctx_free(server_ctx);
	return 0;
}

/* --- those who get in --- */

static void
test_both_sides_know_each_other_and_frames_pass(void **state)
{
	struct tls_ctx *client = context(TLS_CLIENT, "ca/ca.crt", "ca/agent-n1", NULL, ALPN);

	(void)state;
	a.on_open = PEER_SEND;
	a.text = "hello";
	b.on_frame = PEER_ECHO;
	listen_with(context(TLS_SERVER, "ca/ca.crt", "ca/coordinator-c1", NULL, ALPN));
	dial_with(client);
	tls_ctx_free(client); /* the connection keeps what it needs */
	run_until(loop, until_frame, &a);
	assert_string_equal(a.last, "hello");
	assert_int_equal(a.identity.role, ROLE_COORDINATOR);
	assert_string_equal(a.identity.name, "c1");
	assert_int_equal(b.identity.role, ROLE_AGENT);
	assert_string_equal(b.identity.name, "n1");
	assert_string_equal(a.address, listener_address(listener));
	assert_memory_equal(b.address, "127.0.0.1:", 10);
	assert_int_equal(conn_bytes(a.conn), conn_bytes(b.conn));
	assert_true(conn_bytes(a.conn) > 1000);
}

static bool
has_all_frames(void *arg)
{
	const struct peer *p = arg;

	return p->frames == 2000 || p->closed > 0;
}

static void
test_many_frames_keep_their_order(void **state)
{
	struct tls_ctx *client = context(TLS_CLIENT, "ca/ca.crt", "ca/agent-n1", NULL, ALPN);
	uint8_t frame[5000];

	(void)state;
	b.on_frame = PEER_ECHO;
	listen_with(context(TLS_SERVER, "ca/ca.crt", "ca/coordinator-c1", NULL, ALPN));
	dial_with(client);
	memset(frame, 'x', sizeof(frame));
	for (uint32_t i = 0; i < 2000; i++) {
		memcpy(frame, &i, sizeof(i));
		conn_send(a.conn, frame, 4 + (i * 37) % (sizeof(frame) - 4)); /* before the connection is there */
	}
	run_until(loop, has_all_frames, &a);
	assert_int_equal(a.frames, 2000);
	assert_int_equal(a.bytes, b.bytes);
	assert_true(a.in_order && b.in_order);
	tls_ctx_free(client);
}

static void
test_frames_of_a_mebibyte_cross_each_other(void **state)
{
	struct tls_ctx *client = context(TLS_CLIENT, "ca/ca.crt", "ca/agent-n1", NULL, ALPN);
	size_t len = peer_config.frame_max;
	uint8_t *big = ls_calloc(1, len);

	(void)state;
	listen_with(context(TLS_SERVER, "ca/ca.crt", "ca/coordinator-c1", NULL, ALPN));
	dial_with(client);
	run_until(loop, until_opened, &b);
	conn_send(a.conn, big, len);
	conn_send(b.conn, big, len);
	run_until(loop, until_frame, &a);
	run_until(loop, until_frame, &b);
	assert_int_equal(a.bytes, len);
	assert_int_equal(b.bytes, len);
	free(big);
	tls_ctx_free(client);
}

static void
test_close_is_an_orderly_end_after_what_was_queued(void **state)
{
	struct tls_ctx *client = context(TLS_CLIENT, "ca/ca.crt", "ca/agent-n1", NULL, ALPN);
	size_t len = peer_config.frame_max;
	uint8_t *big = ls_calloc(1, len);

	(void)state;
	listen_with(context(TLS_SERVER, "ca/ca.crt", "ca/coordinator-c1", NULL, ALPN));
	dial_with(client);
	run_until(loop, until_opened, &b);
	for (int i = 0; i < 5; i++)
		conn_send(b.conn, big, len);
	conn_send(a.conn, "unread", 6); /* unread input must not turn the end into a reset */
	conn_close(b.conn);
	b.conn = NULL;
	run_until(loop, until_closed, &a);
	assert_int_equal(a.frames, 5);
	assert_int_equal(a.why.rc, LS_E_CLOSED);
	assert_string_equal(a.why.text, "the peer closed the connection");
	free(big);
	tls_ctx_free(client);
}

static void
test_a_dropped_connection_is_closed_for_the_other(void **state)
{
	struct tls_ctx *client = context(TLS_CLIENT, "ca/ca.crt", "ca/agent-n1", NULL, ALPN);

	(void)state;
	listen_with(context(TLS_SERVER, "ca/ca.crt", "ca/coordinator-c1", NULL, ALPN));
	dial_with(client);
	run_until(loop, until_opened, &b);
	conn_drop(b.conn);
	b.conn = NULL;
	run_until(loop, until_closed, &a);
	assert_int_equal(a.why.rc, LS_E_CLOSED);
	assert_non_null(strstr(a.why.text, "goodbye"));
	tls_ctx_free(client);
}

static void
test_an_oversized_frame_ends_it(void **state)
{
	struct tls_ctx *client = context(TLS_CLIENT, "ca/ca.crt", "ca/agent-n1", NULL, ALPN);
	size_t len = peer_config.frame_max + 1;
	uint8_t *big = ls_calloc(1, len);

	(void)state;
	listen_with(context(TLS_SERVER, "ca/ca.crt", "ca/coordinator-c1", NULL, ALPN));
	dial_with(client);
	conn_send(a.conn, big, len);
	run_until(loop, until_closed, &b);
	assert_int_equal(b.why.rc, LS_E_LIMIT);
	assert_int_equal(b.frames, 0);
	run_until(loop, until_closed, &a);
	free(big);
	tls_ctx_free(client);
}

/* --- those who do not --- */

struct refusal_case {
	const char *name;
	const char *server, *server_crl;
	const char *client_ca, *client, *client_alpn;
	const char *server_says, *client_says; /* part of the reason; NULL: on_close is not called there */
};

#define C1 "ca/coordinator-c1"
#define N1 "ca/agent-n1"

static const struct refusal_case refusal_cases[] = {
	{ "good", C1, NULL, "ca/ca.crt", N1, ALPN, NULL, NULL },
	{ "good, among other names", C1, NULL, "ca/ca.crt", "others", ALPN, NULL, NULL },
	{ "good, not the one revoked", C1, "crl.pem", "ca/ca.crt", N1, ALPN, NULL, NULL },
	{ "client of a foreign CA", C1, NULL, "ca/ca.crt", "foreign/agent-n1", ALPN, "not accepted: ", "refused our" },
	{ "server of a foreign CA", "foreign/coordinator-c1", NULL, "ca/ca.crt", N1, ALPN, "refused our certificate",
	    "not accepted: " },
	{ "expired", C1, NULL, "ca/ca.crt", "expired", ALPN, "certificate has expired", "it has expired" },
	{ "not yet valid", C1, NULL, "ca/ca.crt", "future", ALPN, "not yet valid", "refused our certificate" },
	{ "revoked", C1, "crl.pem", "ca/ca.crt", "ca/agent-n2", ALPN, "certificate revoked", "it has been revoked" },
	{ "no role", C1, NULL, "ca/ca.crt", "nameless", ALPN, "no lockstep:// name", "closed" },
	{ "two roles", C1, NULL, "ca/ca.crt", "twofold", ALPN, "2 lockstep:// names", "closed" },
	{ "unknown role", C1, NULL, "ca/ca.crt", "king", ALPN, "unknown role", "closed" },
	{ "another protocol", C1, NULL, "ca/ca.crt", N1, "lockstep/2", "no common protocol", "no common protocol" },
};

static bool
until_settled(void *arg)
{
	(void)arg;
	return (a.opened > 0 && b.opened > 0) || (a.closed > 0 && b.closed > 0);
}

static bool
says(const struct peer *p, const char *wanted)
{
	if (wanted == NULL)
		return p->closed == 0 && p->opened == 1;
	return p->closed == 1 && strstr(p->why.text, wanted) != NULL;
}

static void
check_refusal(const struct refusal_case *c)
{
	struct tls_ctx *client = context(TLS_CLIENT, c->client_ca, c->client, NULL, c->client_alpn);

	set_up(NULL);
	/* Both talk at once: the refusal must not get lost behind it, and nothing may be shown to a stranger. */
	a.on_open = b.on_open = PEER_SEND;
	a.text = b.text = "as soon as possible";
	listen_with(context(TLS_SERVER, "ca/ca.crt", c->server, c->server_crl, ALPN));
	dial_with(client);
	conn_send(a.conn, "even sooner", 11);
	run_until(loop, until_settled, NULL);
	if (!says(&b, c->server_says) || !says(&a, c->client_says))
		fail_msg("%s: server: %s; client: %s", c->name, b.why.text, a.why.text);
	if (c->server_says != NULL) {
		assert_int_equal(b.opened, 0);
		assert_int_equal(a.frames + b.frames, 0);
	}
	tear_down(NULL);
	tls_ctx_free(client);
}

static void
test_the_wrong_peers_are_refused_and_told_why(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refusal_cases); i++)
		check_refusal(&refusal_cases[i]);
}

/* --- clients that are not ours --- */

struct stranger {
	const char *name;
	const char *text;      /* sent instead of a TLS handshake */
	size_t len;            /* of text, when it contains NUL */
	const char *base;      /* certificate, or NULL */
	int version;           /* the only one it speaks */
	const char *alpn_wire; /* or NULL */
	enum ls_rc rc;         /* what the server says */
	const char *reason;
	/* filled in */
	uint16_t port;
	bool ended; /* it saw the end of the connection */
};

static struct stranger strangers[] = {
	{ "garbage", .text = "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17", .rc = LS_E_TLS, .reason = "not TLS" },
	{ "a frame without TLS", .text = "\0\0\0\20{\"type\":\"hello\"}", .len = 20, .rc = LS_E_TLS,
	    .reason = "not TLS" },
	{ "HTTP", .text = "GET / HTTP/1.1\r\n\r\n", .rc = LS_E_TLS, .reason = "not TLS" },
	{ "end of file", .text = "", .rc = LS_E_CLOSED, .reason = "TLS handshake: " },
	{ "no certificate", .version = TLS1_3_VERSION, .alpn_wire = "\012" ALPN, .rc = LS_E_TLS,
	    .reason = "the peer has no certificate" },
	{ "no ALPN", .base = N1, .version = TLS1_3_VERSION, .rc = LS_E_TLS, .reason = "no common protocol" },
	{ "TLS 1.2", .base = N1, .version = TLS1_2_VERSION, .alpn_wire = "\012" ALPN, .rc = LS_E_TLS,
	    .reason = "does not speak TLS 1.3" },
};

static SSL_CTX *
stranger_context(const struct stranger *s)
{
	char rel[64];
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	SSL_CTX_set_min_proto_version(ctx, s->version);
	SSL_CTX_set_max_proto_version(ctx, s->version);
	if (s->alpn_wire != NULL)
		SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)s->alpn_wire, (unsigned)strlen(s->alpn_wire));
	if (s->base != NULL) {
		snprintf(rel, sizeof(rel), "%s.crt", s->base);
		SSL_CTX_use_certificate_chain_file(ctx, path_of(rel));
		snprintf(rel, sizeof(rel), "%s.key", s->base);
		SSL_CTX_use_PrivateKey_file(ctx, path_of(rel), SSL_FILETYPE_PEM);
	}
	return ctx;
}

static void
stranger_talk(struct stranger *s, int fd)
{
	char buf[256];

	if (s->text != NULL) {
		s->ended = write(fd, s->text, s->len > 0 ? s->len : strlen(s->text)) >= 0 && shutdown(fd, SHUT_WR) == 0;
		while (read(fd, buf, sizeof(buf)) > 0)
			;
		return;
	}
	SSL_CTX *ctx = stranger_context(s);
	SSL *ssl = SSL_new(ctx);
	SSL_set_fd(ssl, fd);
	s->ended = SSL_connect(ssl) != 1 || SSL_read(ssl, buf, sizeof(buf)) <= 0;
	SSL_free(ssl);
	SSL_CTX_free(ctx);
}

static void *
stranger_thread(void *arg)
{
	struct stranger *s = arg;
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(s->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (const struct sockaddr *)(const void *)&in, sizeof(in)) == 0)
		stranger_talk(s, fd);
	close(fd);
	return NULL;
}

static void
check_stranger(struct stranger *s)
{
	pthread_t thread;

	set_up(NULL);
	listen_with(context(TLS_SERVER, "ca/ca.crt", C1, NULL, ALPN));
	s->port = (uint16_t)strtoul(strrchr(listener_address(listener), ':') + 1, NULL, 10);
	assert_int_equal(pthread_create(&thread, NULL, stranger_thread, s), 0);
	run_until(loop, until_closed, &b);
	run_for(loop, 20 * NS_PER_MS); /* the linger */
	tear_down(NULL);
	pthread_join(thread, NULL);
	if (b.opened != 0 || b.why.rc != s->rc || strstr(b.why.text, s->reason) == NULL || !s->ended)
		fail_msg("%s: %s: %s", s->name, ls_rc_name(b.why.rc), b.why.text);
}

static void
test_strangers_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(strangers); i++)
		check_stranger(&strangers[i]);
}

/* --- time, files --- */

static void
test_a_silent_peer_is_not_waited_for(void **state)
{
	struct tls_ctx *client = context(TLS_CLIENT, "ca/ca.crt", N1, NULL, ALPN);
	const struct conn_config config = { .frame_max = 4096, .handshake_timeout_ns = 50 * NS_PER_MS };
	struct ls_err err;
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(conn_accept(loop, fds[0], client, &config, &peer_events, &a, &a.conn, &err), LS_OK);
	struct ls_mono begin = ls_mono_now();
	run_until(loop, until_closed, &a);
	assert_true(ls_mono_now().ns - begin.ns >= 50 * NS_PER_MS);
	assert_int_equal(a.why.rc, LS_E_TIMEOUT);
	assert_non_null(strstr(a.why.text, "TLS handshake"));
	close(fds[1]);
	tls_ctx_free(client);
}

static void
test_a_closed_port_is_refused_and_named(void **state)
{
	struct tls_ctx *client = context(TLS_CLIENT, "ca/ca.crt", N1, NULL, ALPN);
	char address[64];

	(void)state;
	listen_with(context(TLS_SERVER, "ca/ca.crt", C1, NULL, ALPN));
	snprintf(address, sizeof(address), "localhost%s", strrchr(listener_address(listener), ':'));
	listener_free(listener);
	listener = NULL;
	assert_int_equal(conn_dial(loop, address, client, &peer_config, &peer_events, &a, &a.conn, NULL), LS_OK);
	run_until(loop, until_closed, &a);
	assert_int_equal(a.why.rc, LS_E_SYS);
	assert_int_equal(a.why.sys, ECONNREFUSED);
	tls_ctx_free(client);
}

static void
test_names_are_resolved(void **state)
{
	struct tls_ctx *client = context(TLS_CLIENT, "ca/ca.crt", N1, NULL, ALPN);
	char address[64];

	(void)state;
	listen_with(context(TLS_SERVER, "ca/ca.crt", C1, NULL, ALPN));
	snprintf(address, sizeof(address), "localhost%s", strrchr(listener_address(listener), ':'));
	assert_int_equal(conn_dial(loop, address, client, &peer_config, &peer_events, &a, &a.conn, NULL), LS_OK);
	run_until(loop, until_settled, NULL);
	assert_int_equal(a.opened, 1);
	tls_ctx_free(client);
}

static void
test_closing_while_a_name_is_looked_up_is_quiet(void **state)
{
	struct tls_ctx *client = context(TLS_CLIENT, "ca/ca.crt", N1, NULL, ALPN);

	(void)state;
	assert_int_equal(conn_dial(loop, "localhost:9", client, &peer_config, &peer_events, &a, &a.conn, NULL), LS_OK);
	struct ls_mono soon = { .ns = ls_mono_now().ns };
	run_until(loop, until_past, &soon); /* the look-up has begun */
	conn_close(a.conn);
	a.conn = NULL;
	run_for(loop, 5 * NS_PER_MS);
	assert_int_equal(a.closed, 0);
	tls_ctx_free(client);
}

static void
copy_file(const char *from, const char *to)
{
	char command[640];

	snprintf(command, sizeof(command), "cp -p '%s' '%s'", path_of(from), path_of(to));
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): our own files */
}

static void
test_reload_takes_new_files_and_keeps_the_old_when_they_are_bad(void **state)
{
	struct tls_ctx *client = context(TLS_CLIENT, "ca/ca.crt", N1, NULL, ALPN);
	struct ls_err err = { .rc = LS_OK };

	(void)state;
	issue("ca", ROLE_COORDINATOR, "c2");
	copy_file("ca/coordinator-c1.crt", "live.crt");
	copy_file("ca/coordinator-c1.key", "live.key");
	listen_with(context(TLS_SERVER, "ca/ca.crt", "live", NULL, ALPN));

	copy_file("ca/coordinator-c2.crt", "live.crt"); /* the key is still the old one */
	assert_int_equal(tls_ctx_reload(server_ctx, &err), LS_E_TLS);
	assert_non_null(strstr(err.text, "does not belong to certificate"));
	dial_with(client);
	run_until(loop, until_settled, NULL);
	assert_string_equal(a.identity.name, "c1");
	conn_drop(a.conn);
	conn_drop(b.conn);
	peer_init(&a, loop);
	peer_init(&b, loop);

	copy_file("ca/coordinator-c2.key", "live.key");
	assert_int_equal(tls_ctx_reload(server_ctx, &err), LS_OK);
	dial_with(client);
	run_until(loop, until_settled, NULL);
	assert_string_equal(a.identity.name, "c2");
	tls_ctx_free(client);
}

struct file_case {
	const char *name;
	const char *ca, *cert, *key, *crl;
	const char *reason, *file; /* both must be named */
};

static const struct file_case file_cases[] = {
	{ "no CA file", "none.crt", N1 ".crt", N1 ".key", NULL, "No such file", "none.crt" },
	{ "no certificate", "ca/ca.crt", "none.crt", N1 ".key", NULL, "No such file", "none.crt" },
	{ "no key", "ca/ca.crt", N1 ".crt", "none.key", NULL, "No such file", "none.key" },
	{ "no revocation list", "ca/ca.crt", N1 ".crt", N1 ".key", "none.pem", "No such file", "none.pem" },
	{ "key of another", "ca/ca.crt", N1 ".crt", "ca/agent-n2.key", NULL, "does not belong", "agent-n2.key" },
	{ "certificate instead of a key", "ca/ca.crt", N1 ".crt", N1 ".crt", NULL, "private key", "agent-n1.crt" },
	{ "key open to everybody", "ca/ca.crt", N1 ".crt", "open.key", NULL, "0644", "open.key" },
	{ "encrypted key", "ca/ca.crt", N1 ".crt", "locked.key", NULL, "private key", "locked.key" },
	{ "garbage as CA", "garbage", N1 ".crt", N1 ".key", NULL, "CA certificate", "garbage" },
};

static void
make_bad_files(void)
{
	EVP_PKEY *key = read_key("ca/agent-n1.key");
	FILE *file = fopen(path_of("locked.key"), "w");
	static unsigned char secret[] = "secret";

	assert_int_equal(PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), secret, 6, NULL, NULL), 1);
	fclose(file);
	chmod(path_of("locked.key"), 0600);
	EVP_PKEY_free(key);
	copy_file("ca/agent-n1.key", "open.key");
	chmod(path_of("open.key"), 0644);
	file = fopen(path_of("garbage"), "w");
	fputs("garbage\n", file);
	fclose(file);
}

static void
test_bad_files_are_named(void **state)
{
	(void)state;
	make_bad_files();
	for (size_t i = 0; i < ARRAY_LEN(file_cases); i++) {
		const struct file_case *c = &file_cases[i];
		struct ls_err err = { .rc = LS_OK };
		struct tls_ctx *ctx = NULL;
		const struct tls_files files = {
			.ca = path_of(c->ca),
			.cert = path_of(strstr(c->cert, ".crt") != NULL ? c->cert : "none"),
			.key = path_of(c->key),
			.crl = c->crl != NULL ? path_of(c->crl) : NULL,
		};
		enum ls_rc rc = tls_ctx_new(TLS_CLIENT, &files, ALPN, &ctx, &err);
		if (rc != LS_E_TLS || err.rc != LS_E_TLS || ctx != NULL || strstr(err.text, c->reason) == NULL ||
		    strstr(err.text, c->file) == NULL)
			fail_msg("%s: %s: %s", c->name, ls_rc_name(rc), err.text);
	}
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_both_sides_know_each_other_and_frames_pass),
		T(test_many_frames_keep_their_order),
		T(test_frames_of_a_mebibyte_cross_each_other),
		T(test_close_is_an_orderly_end_after_what_was_queued),
		T(test_a_dropped_connection_is_closed_for_the_other),
		T(test_an_oversized_frame_ends_it),
		cmocka_unit_test(test_the_wrong_peers_are_refused_and_told_why),
		cmocka_unit_test(test_strangers_are_refused),
		T(test_a_silent_peer_is_not_waited_for),
		T(test_a_closed_port_is_refused_and_named),
		T(test_names_are_resolved),
		T(test_closing_while_a_name_is_looked_up_is_quiet),
		T(test_reload_takes_new_files_and_keeps_the_old_when_they_are_bad),
		T(test_bad_files_are_named),
	};
#undef T
	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
