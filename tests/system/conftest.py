"""Fixtures for tests of the real programs. LOCKSTEP_BUILD names the build folder (default: build)."""
import os
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
sys.path.insert(0, os.path.dirname(__file__))

import cluster as cluster_module  # noqa: E402
import truth  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "needs_root: needs root (namespaces, mounts, tracefs)")


@pytest.fixture
def cluster():
    """lockstepd and three agents, ready."""
    with cluster_module.Cluster() as running:
        yield running.start()


@pytest.fixture
def folder():
    """Directories for the root helper that only root can change: those of pytest lie below one that belongs to whoever runs it, so it would do as well."""
    where = tempfile.mkdtemp(prefix="lockstep-folder-")
    os.chmod(where, 0o755)
    yield where
    shutil.rmtree(where)


@pytest.fixture
def root():
    if os.geteuid() != 0:
        pytest.skip("not root")


@pytest.fixture
def mounts(root):
    """Mount and network namespaces can be made."""
    if cluster_module.bare_chroot():
        pytest.skip("a chroot whose root is no mount point: no mount namespaces")


@pytest.fixture
def tracefs():
    reason = truth.available()
    if reason:
        pytest.skip(reason)
