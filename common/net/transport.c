#include "common/net/transport_int.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "common/net/tls_int.h"

#define CHUNK_BYTES 16384 /* a TLS record's payload at most: a read never leaves half a record behind */

static bool
is_again(int errnum)
{
	return errnum == EAGAIN || errnum == EINTR;
}

static enum ls_rc
prepare_socket(int fd, struct ls_err *err)
{
	int domain = AF_UNSPEC, on = 1;
	socklen_t len = sizeof(domain);
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return ls_err_sys(err, errno, "making a socket non-blocking");
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0)
		return ls_err_sys(err, errno, "a connection's descriptor is not a socket");
	if ((domain == AF_INET || domain == AF_INET6) && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
		return ls_err_sys(err, errno, "setting TCP_NODELAY");
	return LS_OK;
}

enum ls_rc
transport_init(struct transport *t, int fd, struct tls_ctx *tls, struct ls_err *err)
{
	*t = (struct transport){ .fd = fd };
	if (prepare_socket(fd, err) != LS_OK) {
		transport_fini(t);
		return LS_E_SYS;
	}
	if (tls == NULL)
		return LS_OK;
	t->tls = tls_ctx_ref(tls);
	t->ssl = tls_ctx_new_ssl(tls);
	if (t->ssl == NULL || SSL_set_fd(t->ssl, fd) != 1) {
		ERR_clear_error();
		transport_fini(t);
		return ls_err_set(err, LS_E_NOMEM, "out of memory for a TLS connection");
	}
	return LS_OK;
}

/* What an SSL_* call that returned ret <= 0 means. */
static enum io_rc
ssl_result(struct transport *t, int ret, struct ls_err *err)
{
	int saved = errno;
	int kind = SSL_get_error(t->ssl, ret);

	if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
		return IO_AGAIN;
	if (kind == SSL_ERROR_ZERO_RETURN)
		return IO_EOF;
	t->broken = true;
	tls_error(t->ssl, ret, saved, err);
	return IO_ERROR;
}

static void
ssl_begin(void)
{
	ERR_clear_error();
	errno = 0;
}

enum io_rc
transport_handshake(struct transport *t, struct ls_err *err)
{
	if (t->ssl == NULL)
		return IO_OK;
	ssl_begin();
	int ret = SSL_do_handshake(t->ssl);
	return ret == 1 ? IO_OK : ssl_result(t, ret, err);
}

enum ls_rc
transport_peer(const struct transport *t, struct identity *out, struct ls_err *err)
{
	return t->ssl != NULL ? tls_ctx_check_peer(t->tls, t->ssl, out, err) : LS_OK;
}

enum ls_rc
transport_recheck(const struct transport *t, struct ls_err *err)
{
	return t->ssl != NULL ? tls_ctx_recheck(t->tls, t->ssl, err) : LS_OK;
}

static enum io_rc
plain_result(ssize_t n, const char *what, struct ls_err *err)
{
	if (n == 0)
		return IO_EOF;
	if (is_again(errno))
		return IO_AGAIN;
	ls_err_sys(err, errno, "%s", what);
	return IO_ERROR;
}

enum io_rc
transport_read(struct transport *t, struct evbuffer *in, struct ls_err *err)
{
	struct evbuffer_iovec space;
	ssize_t n;

	if (evbuffer_reserve_space(in, CHUNK_BYTES, &space, 1) != 1) {
		ls_err_set(err, LS_E_NOMEM, "out of memory for received data");
		return IO_ERROR;
	}
	if (t->ssl != NULL) {
		ssl_begin();
		n = SSL_read(t->ssl, space.iov_base, CHUNK_BYTES);
		if (n <= 0)
			return ssl_result(t, (int)n, err);
	} else {
		n = read(t->fd, space.iov_base, CHUNK_BYTES);
		if (n <= 0)
			return plain_result(n, "reading", err);
		t->plain_bytes += (uint64_t)n;
	}
	space.iov_len = (size_t)n;
	evbuffer_commit_space(in, &space, 1);
	return IO_OK;
}

bool
transport_has_pending(const struct transport *t)
{
	return t->ssl != NULL && SSL_pending(t->ssl) > 0;
}

static enum io_rc
tls_write(struct transport *t, struct evbuffer *out, struct ls_err *err)
{
	size_t len;

	while ((len = evbuffer_get_length(out)) > 0) {
		/* One record and one packet for a small frame, although its header was added apart. */
		int chunk = (int)LS_MIN(len, (size_t)CHUNK_BYTES);
		const unsigned char *data = evbuffer_pullup(out, chunk);

		if (data == NULL) {
			ls_err_set(err, LS_E_NOMEM, "out of memory for sending");
			return IO_ERROR;
		}
		ssl_begin();
		int n = SSL_write(t->ssl, data, chunk);
		if (n <= 0)
			return ssl_result(t, n, err);
		evbuffer_drain(out, (size_t)n);
	}
	return IO_OK;
}

static enum io_rc
plain_write(struct transport *t, struct evbuffer *out, struct ls_err *err)
{
	while (evbuffer_get_length(out) > 0) {
		ssize_t n = evbuffer_write(out, t->fd);

		if (n < 0)
			return plain_result(n, "sending", err);
		t->plain_bytes += (uint64_t)n;
	}
	return IO_OK;
}

enum io_rc
transport_write(struct transport *t, struct evbuffer *out, struct ls_err *err)
{
	return t->ssl != NULL ? tls_write(t, out, err) : plain_write(t, out, err);
}

bool
transport_wants_write(const struct transport *t)
{
	return t->ssl != NULL && SSL_want_write(t->ssl);
}

enum io_rc
transport_shutdown(struct transport *t)
{
	if (t->ssl != NULL && !t->broken && SSL_is_init_finished(t->ssl)) {
		ssl_begin();
		int ret = SSL_shutdown(t->ssl);
		if (ret < 0 && ssl_result(t, ret, NULL) == IO_AGAIN)
			return IO_AGAIN;
	}
	return shutdown(t->fd, SHUT_WR) == 0 ? IO_OK : IO_ERROR;
}

enum io_rc
transport_discard(struct transport *t)
{
	char scratch[CHUNK_BYTES];
	ssize_t n = recv(t->fd, scratch, sizeof(scratch), MSG_DONTWAIT);

	return n > 0 ? IO_OK : plain_result(n, "reading", NULL);
}

uint64_t
transport_bytes(const struct transport *t)
{
	if (t->ssl == NULL)
		return t->plain_bytes;
	return BIO_number_read(SSL_get_rbio(t->ssl)) + BIO_number_written(SSL_get_wbio(t->ssl));
}

void
transport_close(struct transport *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

void
transport_fini(struct transport *t)
{
	transport_close(t);
	SSL_free(t->ssl);
	t->ssl = NULL;
	tls_ctx_free(t->tls);
	t->tls = NULL;
}
