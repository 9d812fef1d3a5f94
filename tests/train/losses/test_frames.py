"""The frame-wise loss, beside sums in plain Python."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from synth.truth.frames import Audibility
from train.losses.batch import World
from train.losses.frames import Localised, frame_loss

ABSENT, FAINT, CLEAR = (int(state) for state in Audibility)


def make(seed: int, rows: int = 3, sounds: int = 4, tokens: int = 5) -> Localised:
    generator = torch.Generator().manual_seed(seed)

    def unit(*shape: int) -> Tensor:
        return normalize(torch.randn(*shape, 6, generator=generator, dtype=torch.float64), dim=-1)

    frames = unit(rows, tokens)
    frames[0, -1] = 0  # behind the end of a sound
    states = torch.randint(3, (rows, sounds, tokens), generator=generator).to(torch.int8)
    return Localised(frames, unit(sounds), states, torch.tensor(3.0, dtype=torch.float64))


def oracle(batch: Localised) -> float:
    """The mean, token by token and sound by sound."""
    frames, sounds, states = (
        batch.frames.tolist(),
        batch.sounds.tolist(),
        batch.states.tolist(),
    )
    total, count = 0.0, 0
    for number, sound in enumerate(sounds):
        judged = [
            (tokens[place], row[number][place])
            for row, tokens in zip(states, frames, strict=True)
            for place in range(min(len(tokens), len(row[number])))
            if row[number][place] != FAINT and any(tokens[place])
        ]
        clear = sum(state == CLEAR for _, state in judged)
        bias = math.log((clear + 1) / (len(judged) - clear + 1))
        for token, state in judged:
            cosine = sum(a * b for a, b in zip(token, sound, strict=True))
            logit = batch.scale.item() * cosine + bias
            right = 1 / (1 + math.exp(-logit if state == CLEAR else logit))
            total -= math.log(right)
        count += len(judged)
    return total / max(count, 1)


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_is_the_mean_over_judged_tokens_and_sounds(seed: int) -> None:
    batch = make(seed)
    assert frame_loss(batch, World()).item() == pytest.approx(oracle(batch), abs=1e-12)


def test_more_tokens_than_states_or_fewer_are_no_fault() -> None:
    batch = make(1)
    wider = dataclasses.replace(batch, frames=torch.cat([batch.frames, batch.frames], dim=1))
    assert frame_loss(wider, World()).item() == pytest.approx(oracle(batch), abs=1e-12)
    narrow = dataclasses.replace(batch, frames=batch.frames[:, :3])
    assert frame_loss(narrow, World()).item() == pytest.approx(oracle(narrow), abs=1e-12)


def test_nothing_to_judge_costs_nothing() -> None:
    batch = make(3)
    silent = dataclasses.replace(batch, states=torch.full_like(batch.states, FAINT))
    assert frame_loss(silent, World()).item() == 0
    none = dataclasses.replace(batch, sounds=batch.sounds[:0], states=batch.states[:, :0])
    assert frame_loss(none, World()).item() == 0


def test_gradients_are_those_of_finite_differences() -> None:
    batch = make(4)
    frames = batch.frames[1:]  # at zero a token is not judged, so the loss is not smooth there
    leaves = [leaf.clone().requires_grad_() for leaf in (frames, batch.sounds, batch.scale)]

    def of(frames: Tensor, sounds: Tensor, scale: Tensor) -> Tensor:
        return frame_loss(Localised(frames, sounds, batch.states[1:], scale), World())

    assert torch.autograd.gradcheck(of, leaves)
