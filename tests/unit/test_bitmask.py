"""The bitmask functions against plain numpy: every float type, shape, stride and row choice."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_decode import _core
from grammar_decode.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from grammar_decode.errors import BitmaskError

FLOATS = [np.float16, np.float32, np.float64]


def expected(logits, bitmask, *, vocab_size=None, rows=None):
    """The rule, spelled out column by column."""
    result = logits.copy()
    for row in range(logits.shape[0]) if rows is None else rows:
        for column in range(logits.shape[1]):
            word = column // 32
            inside = word < bitmask.shape[1] and (vocab_size is None or column < vocab_size)
            if not (inside and (int(bitmask[row, word]) >> (column % 32)) & 1):
                result[row, column] = -np.inf
    return result


def random_case(seed, rows, columns, words):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(rows, columns))
    bitmask = rng.integers(-(2**31), 2**31, size=(rows, words)).astype(np.int32)
    bitmask[rng.random(bitmask.shape) < 0.3] = 0  # the kernel treats empty, full and nearly full words apart
    bitmask[rng.random(bitmask.shape) < 0.3] = -1
    bitmask[rng.random(bitmask.shape) < 0.2] = -2
    return logits, bitmask


def test_allocated_rows_allow_everything():
    bitmask = allocate_token_bitmask(3, 65)
    assert bitmask.dtype == np.int32
    assert bitmask.shape == (3, 3)
    assert (bitmask == -1).all()


@pytest.mark.parametrize(("batch_size", "vocab_size"), [(-1, 10), (1, 0), (1, -5)])
def test_allocating_nonsense_is_an_error(batch_size, vocab_size):
    with pytest.raises(BitmaskError, match="makes no sense"):
        allocate_token_bitmask(batch_size, vocab_size)


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(0, 3),
    columns=st.integers(1, 200),
    words=st.integers(1, 7),
    dtype=st.sampled_from(FLOATS),
)
def test_apply_follows_the_rule_for_every_width(seed, rows, columns, words, dtype):
    logits, bitmask = random_case(seed, rows, columns, words)
    logits = logits.astype(dtype)
    want = expected(logits, bitmask)
    apply_token_bitmask_inplace(logits, bitmask)
    np.testing.assert_array_equal(logits, want)


@given(seed=st.integers(0, 2**32 - 1), dtype=st.sampled_from(FLOATS), data=st.data())
def test_vocab_size_and_indices_narrow_what_is_applied(seed, dtype, data):
    logits, bitmask = random_case(seed, 4, 100, 3)
    logits = logits.astype(dtype)
    vocab_size = data.draw(st.integers(1, 96))
    rows = data.draw(st.lists(st.integers(0, 3), max_size=5))
    want = expected(logits, bitmask, vocab_size=vocab_size, rows=rows)
    apply_token_bitmask_inplace(logits, bitmask, vocab_size=vocab_size, indices=rows)
    np.testing.assert_array_equal(logits, want)


@pytest.mark.parametrize("dtype", FLOATS)
def test_strides_are_free(dtype):
    logits, bitmask = random_case(7, 2, 70, 3)
    wide = np.zeros((2, 3, 140), dtype=dtype)
    wide[:, 1, ::2] = logits
    view = wide[:, 1, ::2]
    want = expected(view, bitmask)
    apply_token_bitmask_inplace(view, bitmask)
    np.testing.assert_array_equal(view, want)
    assert (wide[:, 0] == 0).all()
    assert (wide[:, 1, 1::2] == 0).all()
    backwards = logits.astype(dtype)[::-1, ::-1]
    want = expected(backwards, bitmask)
    apply_token_bitmask_inplace(backwards, bitmask)
    np.testing.assert_array_equal(backwards, want)


def test_a_field_of_token_records_is_masked_in_place():
    # llama-cpp-python hands out logits with a stride of 12 bytes
    records = np.zeros(70, dtype=[("id", "i4"), ("logit", "f4"), ("p", "f4")])
    bitmask = np.array([5, 0, -1], dtype=np.int32)
    apply_token_bitmask_inplace(records["logit"], bitmask)
    assert np.flatnonzero(records["logit"] == 0).tolist() == [0, 2, *range(64, 70)]
    assert (records["p"] == 0).all()


def test_unaligned_logits_are_masked():
    records = np.zeros(40, dtype=np.dtype([("tag", "u1"), ("logit", "f4")]))
    apply_token_bitmask_inplace(records["logit"], np.array([1, 0], dtype=np.int32))
    assert np.flatnonzero(records["logit"] == 0).tolist() == [0]


def test_allowed_logits_keep_their_bits():
    logits = np.array([[np.nan, -0.0, np.inf, 1.5]], dtype=np.float32)
    before = logits.view(np.uint32).copy()
    apply_token_bitmask_inplace(logits, np.array([[-1]], dtype=np.int32))
    assert (logits.view(np.uint32) == before).all()


def test_columns_past_the_mask_are_forbidden():
    logits = np.zeros((1, 100), dtype=np.float32)
    apply_token_bitmask_inplace(logits, allocate_token_bitmask(1, 64))
    assert (logits[0, :64] == 0).all()
    assert np.isneginf(logits[0, 64:]).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_no_rows_are_no_error(dtype):
    apply_token_bitmask_inplace(np.zeros((0, 40), dtype), allocate_token_bitmask(0, 40))
    apply_token_bitmask_inplace(np.zeros((2, 40), dtype), allocate_token_bitmask(2, 40), indices=[])


@pytest.mark.parametrize(
    ("shape", "strides"), [((2, 64), (0, 4)), ((2, 64), (4, 0)), ((2, 64), (128, 4)), ((64,), (0,))]
)
def test_logits_that_share_memory_are_refused(shape, strides):
    """What one row forbids would be forbidden in others, or lost."""
    logits = np.lib.stride_tricks.as_strided(np.zeros(200, np.float32), shape, strides)
    with pytest.raises(BitmaskError, match="share memory"):
        apply_token_bitmask_inplace(logits, allocate_token_bitmask(shape[0] if len(shape) == 2 else 1, 64) * 0)
    assert not logits.any()


def test_every_second_column_of_an_odd_number_shares_no_memory():
    for logits in (np.zeros((3, 5), np.float32)[:, ::2], np.asfortranarray(np.zeros((5, 3), np.float32))[::2]):
        apply_token_bitmask_inplace(logits, np.full((3, 1), 5, np.int32))
        assert (logits[:, [0, 2]] == 0).all()
        assert (logits[:, 1] == -np.inf).all()


def test_one_row_may_have_one_dimension():
    logits = np.zeros(32, dtype=np.float32)
    apply_token_bitmask_inplace(logits, np.array([[3]], dtype=np.int32))
    assert np.flatnonzero(logits == 0).tolist() == [0, 1]


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("logits", "bitmask", "options", "message"),
    [
        (np.zeros((2, 32), np.float32), np.zeros((3, 1), np.int32), {}, "2 rows and the bitmask has 3"),
        (np.zeros((2, 32), np.float32), np.zeros((2, 1), np.int64), {}, "int64, but must be int32"),
        (np.zeros((2, 32), np.float32), np.zeros((2, 1, 1), np.int32), {}, "3 dimensions"),
        (np.zeros((2, 1, 32), np.float32), np.zeros((2, 1), np.int32), {}, "3 dimensions"),
        (np.zeros((2, 32), np.int32), np.zeros((2, 1), np.int32), {}, "logits are int32"),
        (np.zeros((2, 32), ">f4"), np.zeros((2, 1), np.int32), {}, "logits are >f4"),
        (read_only(np.zeros((1, 32), np.float32)), np.zeros((1, 1), np.int32), {}, "read-only"),
        (np.zeros((2, 32), np.float32), np.zeros((2, 1), np.int32), {"indices": [2]}, "row 2"),
        (np.zeros((2, 32), np.float32), np.zeros((2, 1), np.int32), {"indices": [-1]}, "row -1"),
        (np.zeros((2, 32), np.float32), np.zeros((2, 1), np.int32), {"vocab_size": 33}, "vocab_size is 33"),
        (np.zeros((2, 32), np.float32), np.zeros((2, 1), np.int32), {"vocab_size": 0}, "vocab_size is 0"),
        ([[0.0]], np.zeros((1, 1), np.int32), {}, "not builtins.list"),
        (np.zeros((1, 32), np.float32), [[0]], {}, "not builtins.list"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(logits, bitmask, options, message):
    before = np.array(logits)
    with pytest.raises(BitmaskError, match=message):
        apply_token_bitmask_inplace(logits, bitmask, **options)
    np.testing.assert_array_equal(before, logits)


def test_the_module_does_not_import_torch():
    code = "import sys, grammar_decode.bitmask; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("indices", [[True, False], [0.5], ["0"], [2**70], [None]])
def test_indices_are_numbers_of_rows(indices):
    logits = np.zeros((2, 32), np.float32)
    with pytest.raises(BitmaskError, match="indices"):
        apply_token_bitmask_inplace(logits, np.zeros((2, 1), np.int32), indices=indices)
    assert not logits.any()


@pytest.mark.parametrize("vocab_size", [1.5, "a"])
def test_the_vocabulary_size_is_an_integer(vocab_size):
    with pytest.raises(BitmaskError, match="vocab_size"):
        apply_token_bitmask_inplace(np.zeros((1, 32), np.float32), np.zeros((1, 1), np.int32), vocab_size=vocab_size)


@pytest.mark.parametrize("loops", [1, 2, 3], ids=["by bits", "AVX2", "AVX-512"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_loops_of_every_processor_agree(loops, dtype):
    if not _core.has_mask_loops(loops):
        pytest.skip("this processor has no such instructions")
    logits, bitmask = random_case(7, 4, 32 * 40 + 13, 41)
    bitmask[:, :3], bitmask[:, 5:7] = 0, -1
    logits = logits.astype(dtype)
    want = expected(logits, bitmask)
    if dtype == "float32":
        _core.apply_token_bitmask_inplace_f32(logits, bitmask, None, bitmask.shape[1] * 32, loops)
    else:
        _core.apply_token_bitmask_inplace_16(logits, bitmask, None, bitmask.shape[1] * 32, False, loops)
    np.testing.assert_array_equal(logits, want)


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        self.torch = pytest.importorskip("torch", reason="torch is not installed (`make demo` installs it)")

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
    @pytest.mark.parametrize("rows", [None, [2, 0]])
    def test_every_float_type(self, dtype, rows):
        torch = self.torch
        logits, bitmask = random_case(3, 3, 100, 3)
        tensor = torch.from_numpy(logits).to(getattr(torch, dtype))
        want = expected(tensor.to(torch.float64).numpy(), bitmask, rows=rows)
        apply_token_bitmask_inplace(tensor, torch.from_numpy(bitmask), indices=rows)
        np.testing.assert_array_equal(tensor.to(torch.float64).numpy(), want)

    @pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
    def test_transposed_and_one_dimensional_tensors(self, dtype):
        torch = self.torch
        logits, bitmask = random_case(4, 3, 100, 3)
        tensor = torch.from_numpy(logits.T.copy()).to(getattr(torch, dtype)).T
        want = expected(tensor.to(torch.float64).numpy(), bitmask)
        apply_token_bitmask_inplace(tensor, bitmask)
        np.testing.assert_array_equal(tensor.to(torch.float64).numpy(), want)
        row = torch.zeros(40, dtype=getattr(torch, dtype))
        apply_token_bitmask_inplace(row, np.array([1, 0], dtype=np.int32))
        assert torch.nonzero(row == 0).flatten().tolist() == [0]

    def test_a_view_that_negates_is_refused_as_it_has_no_memory_of_its_own(self):
        torch = self.torch
        negated = torch.ones(1, 40, dtype=torch.complex64).conj().imag
        assert negated.is_neg()
        with pytest.raises(BitmaskError, match="resolve_neg"):
            apply_token_bitmask_inplace(negated, np.zeros((1, 2), np.int32))
        assert (negated == -0.0).all()

    def test_tensors_without_memory_of_their_own_are_refused(self):
        torch = self.torch
        from torch._subclasses.fake_tensor import FakeTensorMode

        gone = torch.zeros(1, 64)
        gone.untyped_storage().resize_(0)
        with FakeTensorMode():
            fake = torch.zeros(1, 64)
        for tensor in (gone, fake, torch._efficientzerotensor(1, 64)):
            with pytest.raises(BitmaskError, match="memory"):
                apply_token_bitmask_inplace(tensor, np.zeros((1, 2), np.int32))

    @pytest.mark.parametrize("rows", [None, [2, 0]])
    def test_the_device_path_follows_the_same_rule(self, rows):
        from grammar_decode.bitmask import _apply_on_device

        torch = self.torch
        logits, bitmask = random_case(5, 3, 100, 2)
        tensor = torch.from_numpy(logits)
        want = expected(logits, bitmask, vocab_size=50, rows=rows)
        _apply_on_device(torch, tensor, bitmask, 50, rows)
        np.testing.assert_array_equal(tensor.numpy(), want)

    def test_an_expanded_view_is_refused(self):
        torch = self.torch
        for logits in (torch.zeros(1, 64).expand(2, 64), torch.zeros(2, 1, dtype=torch.float64).expand(2, 64)):
            with pytest.raises(BitmaskError, match="share memory"):
                apply_token_bitmask_inplace(logits, np.array([[5, -1], [0, 7]], np.int32))
            assert not logits.any()

    def test_a_sparse_bitmask_is_refused(self):
        torch = self.torch
        with pytest.raises(BitmaskError, match="plain dense tensor"):
            apply_token_bitmask_inplace(torch.zeros(1, 64), torch.ones(1, 2, dtype=torch.int32).to_sparse())

    def test_what_does_not_fit_is_refused(self):
        torch = self.torch
        with pytest.raises(BitmaskError, match="int32"):
            apply_token_bitmask_inplace(torch.zeros(1, 32), torch.zeros(1, 1, dtype=torch.int64))
        with pytest.raises(BitmaskError, match=r"logits are torch\.int64"):
            apply_token_bitmask_inplace(torch.zeros(1, 32, dtype=torch.int64), np.zeros((1, 1), np.int32))
        with pytest.raises(BitmaskError, match="on meta"):
            apply_token_bitmask_inplace(torch.zeros(1, 32), torch.zeros(1, 1, dtype=torch.int32, device="meta"))
