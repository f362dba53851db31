"""Drawing one token from logits: greedy, or with temperature and top-p. Plain numpy, deterministic for a seed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grammar_decode.errors import ModelError


class Sampler:
    """Draws token ids; -inf means "not allowed" and is never drawn. Holds a random state: one sampler for one run."""

    def __init__(self, *, temperature: float = 0.0, top_p: float = 1.0, seed: int | None = None) -> None:
        """`temperature` 0 is greedy; the lowest id wins a tie. Without a seed, a fresh one is kept in `seed`."""
        if not 0 <= temperature < float("inf"):
            raise ValueError(f"temperature must be a number from 0 up, not {temperature!r}")
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {top_p!r}")
        self.temperature = temperature
        self.top_p = top_p
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        self._random = np.random.default_rng(self.seed)

    def sample(self, logits: npt.NDArray[np.float32]) -> int:
        """Return the id of the drawn token. Raises `ModelError` if no logit is a number above -inf."""
        best = int(np.argmax(logits))  # subtle: argmax returns the first NaN, if there is one
        if not np.isfinite(logits[best]):
            raise ModelError(
                "the model gives no usable logits for the tokens that are allowed here "
                f"(the largest is {float(logits[best])})"
            )
        if self.temperature == 0:
            return best
        candidates = np.flatnonzero(logits > -np.inf)
        scaled = (logits[candidates].astype(np.float64) - float(logits[best])) / self.temperature
        weights = np.exp(scaled)
        weights /= weights.sum()
        if self.top_p < 1:
            candidates, weights = _nucleus(candidates, weights, self.top_p)
        steps = np.cumsum(weights)
        drawn = np.searchsorted(steps, self._random.random() * steps[-1], side="right")
        return int(candidates[min(int(drawn), len(candidates) - 1)])


def _nucleus(
    candidates: npt.NDArray[np.intp], weights: npt.NDArray[np.float64], top_p: float
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """The fewest most likely tokens that have `top_p` of the probability together, most likely first."""
    # Tokens this unlikely have less than 1 - top_p together, so they can't be needed; it spares sorting the tail.
    kept = np.flatnonzero(weights > (1 - top_p) / len(weights))
    order = kept[np.argsort(-weights[kept], kind="stable")]
    enough = int(np.searchsorted(np.cumsum(weights[order]), top_p)) + 1
    return candidates[order[:enough]], weights[order[:enough]]
