"""Token bitmasks: allocate one, apply one to logits. The bit layout is stated here once.

A bitmask is int32, of shape (batch, ceil(size / 32)): token ``i`` is bit ``i % 32`` of word ``i // 32``, 1 = allowed.
This is the layout of XGrammar, llguidance, and the engines that call them.

Rules of :func:`apply_token_bitmask_inplace`, where engines differ:

- Logits wider than the mask: the columns that no bit speaks of are **forbidden**.
- Logits narrower than the mask: the surplus bits are ignored.
- A forbidden logit becomes -inf, an allowed one keeps its bits (NaN included).

torch is never imported here; it is used only where an argument is a torch tensor already.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from grammar_decode import _core
from grammar_decode.errors import BitmaskError

BitmaskArray: TypeAlias = npt.NDArray[np.int32]

WORD_BITS = 32
_PLAIN_TYPES = (np.dtype(np.float32), np.dtype(np.float16))


def bitmask_words(vocab_size: int) -> int:
    """The number of int32 words in a row: ceil(vocab_size / 32)."""
    return -(-vocab_size // WORD_BITS)


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> BitmaskArray:
    """A bitmask of ``batch_size`` rows that allow everything (-1 in every word).

    All ones is what engines take for a request without a grammar, so a row that no matcher fills constrains nothing.
    ``vocab_size`` is the width of the logits: :attr:`Vocabulary.size`, or the model's padded size if that is larger
    (give it to the vocabulary as ``size`` then, so that the widths agree).
    """
    if batch_size < 0 or vocab_size <= 0:
        raise BitmaskError(
            f"A bitmask of {batch_size} rows for {vocab_size} tokens makes no sense. "
            "Pass the number of sequences and the vocabulary's size, which is at least 1."
        )
    return np.full((batch_size, bitmask_words(vocab_size)), -1, dtype=np.int32)


def apply_token_bitmask_inplace(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: int | None = None,
    indices: Sequence[int] | None = None,
) -> None:
    """Set ``logits[r, i]`` to -inf wherever token ``i`` is not allowed by row ``r`` of ``bitmask``.

    ``logits``: numpy (float16, float32, float64, or bfloat16 of ml_dtypes) or torch (also bfloat16, on any device), of
    shape (rows, columns), or (columns,) for one row; strides are free. It is the only argument that changes.
    ``bitmask``: int32, numpy or torch, with as many rows as the logits. A CPU bitmask is moved to the logits' device.
    ``vocab_size``: columns from here on are forbidden, too; by default the mask decides as far as it reaches.
    ``indices``: only these rows, of both; each must exist in both. By default every row.

    Cost: memory-bound on the CPU, without the GIL for float32, float16 and bfloat16.
    Raises :class:`BitmaskError` on a wrong shape, type or device; nothing has been written then.
    """
    if vocab_size is None and indices is None and _is_plain(logits, bitmask):
        _apply_by_kernel(logits, bitmask, bitmask.shape[1] * WORD_BITS, None, _kind_of(logits.dtype))
    elif _is_torch(logits):
        if vocab_size is not None or indices is not None or not _applied_plain_torch(logits, bitmask):
            _apply_torch(logits, bitmask, vocab_size, indices)
    elif isinstance(logits, np.ndarray):
        _apply_numpy(logits, _bitmask_as_numpy(bitmask), vocab_size, indices)
    else:
        raise BitmaskError(f"The logits must be a numpy array or a torch tensor, not {_type_name(logits)}.")


def _is_plain(logits: Any, bitmask: Any) -> bool:
    """Whether nothing has to be asked: the everyday arrays. The general way takes as long as a row of float16."""
    return (
        type(logits) is np.ndarray
        and type(bitmask) is np.ndarray
        and logits.dtype in _PLAIN_TYPES
        and bitmask.dtype == np.int32
        and logits.ndim == bitmask.ndim == 2
        and logits.shape[0] == bitmask.shape[0]
        and logits.flags.carray  # contiguous, aligned, writeable
        and bitmask.flags.c_contiguous
    )


def _apply_numpy(
    logits: npt.NDArray[Any], bitmask: BitmaskArray, vocab_size: int | None, indices: Sequence[int] | None
) -> None:
    kind = _kind_of(logits.dtype)
    if kind not in ("float32", "float16", "bfloat16", "float64"):
        raise BitmaskError(
            f"The logits are {kind}; float32, float16, bfloat16 and float64 (native order) are supported."
        )
    if not logits.flags.writeable:
        raise BitmaskError("The logits are read-only. Pass a writable array, such as a copy().")
    num_bits, rows = _check_shapes(logits.shape, bitmask.shape, vocab_size, indices)
    _check_overlap(logits.shape, logits.strides, logits.dtype.itemsize)
    logits, bitmask = _as_rows(logits), np.ascontiguousarray(_as_rows(bitmask))
    itemsize = logits.dtype.itemsize
    if kind == "float64" or not logits.flags.aligned or any(stride % itemsize for stride in logits.strides):
        _apply_by_numpy(logits, bitmask, num_bits, rows)
    else:
        bits = logits.view(np.uint16) if kind == "bfloat16" else logits  # which numpy can't hand on by itself
        _apply_by_kernel(bits, bitmask, num_bits, rows, kind)


def _apply_by_kernel(
    memory: Any, bitmask: BitmaskArray, num_bits: int, rows: npt.NDArray[np.int64] | None, kind: str
) -> None:
    """``memory``: rows of logits of this kind, as anything that speaks DLPack."""
    if kind == "float32":
        _core.apply_token_bitmask_inplace_f32(memory, bitmask, rows, num_bits)
    else:
        _core.apply_token_bitmask_inplace_16(memory, bitmask, rows, num_bits, kind == "bfloat16")


def _as_rows(array: Any) -> Any:
    return array if array.ndim == 2 else array[None]


@functools.lru_cache(maxsize=64)  # numpy makes the name anew each time, which takes longer than a short row
def _kind_of(dtype: np.dtype[Any]) -> str:
    return dtype.name if dtype.isnative else str(dtype)


def _apply_by_numpy(
    logits: npt.NDArray[Any], bitmask: BitmaskArray, num_bits: int, rows: npt.NDArray[np.int64] | None
) -> None:
    """The same in plain numpy, for what the kernel does not take."""
    num_covered = min(num_bits, logits.shape[1])
    little = bitmask.astype("<i4", copy=False)
    for row in range(logits.shape[0]) if rows is None else rows:
        allowed = np.unpackbits(little[row].view(np.uint8), bitorder="little")[:num_covered]
        logits[row, :num_covered][allowed == 0] = -np.inf
        logits[row, num_covered:] = -np.inf


@functools.cache
def _names_of_torch() -> tuple[Any, Any, Any, Any, dict[Any, str]]:
    import torch  # a torch tensor was passed, so it is there

    kinds = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
    return torch.Tensor, torch.strided, torch.utils.dlpack.to_dlpack, torch.int32, kinds


def _applied_plain_torch(logits: Any, bitmask: Any) -> bool:
    """Apply the mask to an everyday tensor, at half the price of asking what it is; False for any other."""
    plain, strided, capsule_of, int32, kinds = _names_of_torch()
    if type(logits) is not plain or (kind := kinds.get(logits.dtype)) is None:
        return False
    if not logits.is_cpu or logits.layout != strided or logits.requires_grad or logits.is_neg():
        return False
    if type(bitmask) is plain:
        if bitmask.dtype != int32 or not bitmask.is_cpu or bitmask.layout != strided or not bitmask.is_contiguous():
            return False
    elif type(bitmask) is not np.ndarray or bitmask.dtype != np.int32 or not bitmask.flags.c_contiguous:
        return False
    if (
        not logits.ndim == bitmask.ndim == 2
        or not logits.is_contiguous()
        or logits.shape[0] != bitmask.shape[0]
        or logits.data_ptr() == 0
    ):
        return False
    words = capsule_of(bitmask) if type(bitmask) is plain else bitmask
    _apply_by_kernel(capsule_of(logits), words, bitmask.shape[1] * WORD_BITS, None, kind)
    return True


def _apply_torch(logits: Any, bitmask: Any, vocab_size: int | None, indices: Sequence[int] | None) -> None:
    import torch  # a torch tensor was passed, so this import costs nothing

    if logits.dtype not in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        raise BitmaskError(f"The logits are {logits.dtype}; float32, float16, bfloat16 and float64 are supported.")
    if logits.layout != torch.strided:
        raise BitmaskError(f"The logits have the layout {logits.layout}; only dense tensors are supported.")
    if _is_torch(bitmask) and bitmask.device.type != "cpu" and bitmask.device != logits.device:
        raise BitmaskError(
            f"The bitmask is on {bitmask.device} and the logits are on {logits.device}. "
            "Keep the bitmask on the CPU, or on the device of the logits."
        )
    if not logits.is_cpu:
        _apply_on_device(torch, logits, bitmask, vocab_size, indices)
        return
    # Raw memory is written to, so it has to be there and mean what it says; not that of fake or negated tensors.
    if type(logits) not in (torch.Tensor, torch.nn.Parameter) or (logits.data_ptr() == 0 and logits.numel() != 0):
        raise BitmaskError(f"The logits are a {_type_name(logits)} without memory of its own. Pass a plain tensor.")
    if logits.is_neg():
        raise BitmaskError("The logits are a negated view of others. Pass logits.resolve_neg().")
    values = logits.detach() if logits.requires_grad else logits
    array = _bitmask_as_numpy(bitmask)
    if values.dtype == torch.float64:
        _apply_numpy(values.numpy(), array, vocab_size, indices)
        return
    num_bits, rows = _check_shapes(values.shape, array.shape, vocab_size, indices)
    _check_overlap(values.shape, values.stride(), 1)
    # A fifth of the time of `numpy()`, which has no bfloat16 either.
    memory = torch.utils.dlpack.to_dlpack(_as_rows(values))
    kind = str(values.dtype).removeprefix("torch.")
    _apply_by_kernel(memory, np.ascontiguousarray(_as_rows(array)), num_bits, rows, kind)


def _apply_on_device(torch: Any, logits: Any, bitmask: Any, vocab_size: int | None, indices: Any) -> None:
    """With torch operations, for CUDA and other devices: the packed words travel, and are unpacked there."""
    words = bitmask if _is_torch(bitmask) else torch.from_numpy(_bitmask_as_numpy(bitmask))
    if words.dtype != torch.int32:
        raise BitmaskError(f"The bitmask is {words.dtype}, but must be int32.")
    num_bits, rows = _check_shapes(logits.shape, words.shape, vocab_size, indices)
    logits = logits.detach()
    logits, words = _as_rows(logits), _as_rows(words)
    num_covered = min(num_bits, logits.shape[1])
    if rows is not None:
        words = words[torch.from_numpy(rows).to(words.device)]
    words = words[:, : bitmask_words(num_covered)].to(logits.device, non_blocking=True)
    lanes = torch.arange(WORD_BITS, dtype=torch.int32, device=logits.device)
    forbidden = torch.ones((words.shape[0], logits.shape[1]), dtype=torch.bool, device=logits.device)
    forbidden[:, :num_covered] = (((words[:, :, None] >> lanes) & 1) == 0).flatten(1)[:, :num_covered]
    if rows is None:
        logits.masked_fill_(forbidden, float("-inf"))
    else:
        at = torch.from_numpy(rows).to(logits.device)
        logits[at] = logits[at].masked_fill_(forbidden, float("-inf"))


def _check_shapes(
    logits: tuple[int, ...], bitmask: tuple[int, ...], vocab_size: int | None, indices: Sequence[int] | None
) -> tuple[int, npt.NDArray[np.int64] | None]:
    """The number of bits that count, and the rows to apply (None = all); raises on what does not fit."""
    if len(logits) not in (1, 2):
        raise BitmaskError(f"The logits have {len(logits)} dimensions; (rows, columns) or (columns,) is expected.")
    if len(bitmask) not in (1, 2):
        raise BitmaskError(f"The bitmask has {len(bitmask)} dimensions; (rows, words) or (words,) is expected.")
    num_logit_rows = logits[0] if len(logits) == 2 else 1
    num_mask_rows = bitmask[0] if len(bitmask) == 2 else 1
    num_bits = bitmask[-1] * WORD_BITS
    if vocab_size is not None:
        if not isinstance(vocab_size, (int, np.integer)):
            raise BitmaskError(f"vocab_size must be an integer, not {_type_name(vocab_size)}.")
        if not 0 < vocab_size <= num_bits:
            raise BitmaskError(f"vocab_size is {vocab_size}, but a row of the bitmask has {num_bits} bits.")
        num_bits = vocab_size
    if indices is None:
        if num_logit_rows != num_mask_rows:
            raise BitmaskError(
                f"The logits have {num_logit_rows} rows and the bitmask has {num_mask_rows}. "
                "Make them agree, or pass indices=... to name the rows that both have."
            )
        return num_bits, None
    rows = _rows_of(indices)
    num_common = min(num_logit_rows, num_mask_rows)
    if outside := [int(row) for row in rows if not 0 <= row < num_common]:
        raise BitmaskError(f"indices names the row {outside[0]}, but logits and bitmask share {num_common} rows.")
    return num_bits, rows


def _check_overlap(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> None:
    """Raises where two logits share memory, as in an expanded view: what one row forbids would be lost in another."""
    end = itemsize
    along = ((abs(stride), length) for stride, length in zip(strides, shape, strict=True) if length > 1)
    for stride, length in sorted(along) if 0 not in shape else ():
        if stride < end:
            raise BitmaskError("Logits share memory with each other (an expanded view?). Pass a copy of them.")
        end += stride * (length - 1)


def _rows_of(indices: Sequence[int]) -> npt.NDArray[np.int64]:
    given = np.asarray(indices).reshape(-1)
    if given.size and given.dtype.kind not in "iu":
        raise BitmaskError(f"indices must be numbers of rows, not {given.dtype} ({indices!r:.80}).")
    return given.astype(np.int64)


def _bitmask_as_numpy(bitmask: Any) -> BitmaskArray:
    """The bitmask as a numpy array that shares its memory; raises unless it is int32 on the CPU."""
    array = bitmask
    if _is_torch(bitmask):
        if not bitmask.is_cpu:
            raise BitmaskError(f"The bitmask is on {bitmask.device}, but must be on the CPU here. Pass bitmask.cpu().")
        try:
            array = bitmask.detach().numpy()
        except (RuntimeError, TypeError) as error:  # sparse, fake, and other tensors without an array
            raise BitmaskError(f"The bitmask can't be read as an array ({error}). Pass a plain dense tensor.") from None
    if not isinstance(array, np.ndarray):
        raise BitmaskError(f"The bitmask must be a numpy array or a torch tensor, not {_type_name(bitmask)}.")
    if array.dtype != np.int32:
        raise BitmaskError(f"The bitmask is {array.dtype}, but must be int32; see allocate_token_bitmask.")
    if array.ndim not in (1, 2):
        raise BitmaskError(f"The bitmask has {array.ndim} dimensions; (rows, words) or (words,) is expected.")
    if array.ctypes.data == 0 and array.size:
        raise BitmaskError("The bitmask has no memory: its storage was given back. Pass a plain dense tensor.")
    return array


def _is_torch(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "torch"


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
