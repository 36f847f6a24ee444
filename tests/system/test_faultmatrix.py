"""
A part of the fault matrix (tests/support/faultmatrix.py): each pair of who is hit, by what, and in which state of a run. The whole is
`make test-faults`, without end and at random `make test-faults-random`.
"""
import concurrent.futures
import os

import pytest

import faultmatrix

PAIRS = faultmatrix.pairwise()


@pytest.fixture(scope="module")
def played():
    """All cells, some at a time: they mostly wait."""
    if faultmatrix.missing():
        pytest.skip(faultmatrix.missing())
    pool = concurrent.futures.ThreadPoolExecutor(int(os.environ.get("FAULT_JOBS", "8")))
    try:
        yield {cell: pool.submit(faultmatrix.play, cell) for cell in PAIRS}
    finally:
        pool.shutdown(cancel_futures=True)


def test_the_table_covers_each_cell():
    cells = faultmatrix.cells()
    assert len(cells) > 200
    for cell in cells:
        state, _, statuses = faultmatrix.expected(cell)
        assert state and statuses
    for row in faultmatrix.EXPECTED:
        assert any(faultmatrix.matches(row, *cell) for cell in cells), f"no cell for {row}"
    for row in faultmatrix.EXPECTED:
        assert any(faultmatrix.expected(cell) == row[3:] for cell in cells), f"hidden by rows before it: {row}"


@pytest.mark.parametrize("cell", PAIRS, ids=[" / ".join(c) for c in PAIRS])
def test_cell(played, cell):
    _, _, wrong = played[cell].result()
    assert wrong is None, wrong
