"""Two processes that validate: `two_validators.py FOLDER` (see test_validation.py).

Within validation each waits until the other is there, too, outside any collective call: a process
that validates alone waits in vain, and the other one's collective call runs into its timeout.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed

from synth.corpus.corpus import Corpus
from tests.kit.forked import fork_ranks
from tests.kit.waiting import PATIENCE_S, wait_for
from train.config.run import Stage, TrainConfig
from train.data.batch import Batch
from train.data.loader import Assembler
from train.data.split import VAL, SplitData
from train.data.tokenizer import TextTokenizer
from train.engine import loop
from train.engine.checkpoint import create_state
from train.engine.log import Facts
from train.engine.ranks import RankProcess
from train.engine.validation import Validator

TIMEOUT = timedelta(seconds=PATIENCE_S)


def main(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = TrainConfig.model_validate_json((folder / "config.json").read_text())
    config = config.model_copy(update={"out": folder})
    corpus = Corpus.open(config.corpus)
    tokenizer = TextTokenizer.of_texts(SplitData(corpus, VAL, config.mode).vocabulary())
    process = RankProcess(rank, 2, torch.device("cpu"))
    # DDP makes weights equal, and not the statistics of batch norms.
    state = create_state(
        config, corpus.sample_rate, len(tokenizer), RankProcess(0, 1, process.device)
    )
    for name, value in state.model.named_buffers():
        if name.endswith("running_mean"):
            value += rank
    validator = Validator.of(corpus, tokenizer, config, state.model)
    alone = validator.loss(state.kept, RankProcess(0, 1, process.device))

    make, seen = Assembler.batch, list[int]()

    def meets(self: Assembler, positions: Sequence[int], stage: Stage, step: int) -> Batch:
        (folder / f"met.{rank}").touch()
        seen.extend(positions)
        other = folder / f"met.{1 - rank}"
        assert wait_for(other.exists), "the other process does not take part in validation"
        return make(self, positions, stage, step)

    Assembler.batch = meets  # type: ignore[method-assign]
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=2, timeout=TIMEOUT
    )
    state.step = config.steps
    log: list[Facts] = []
    loop._validate(validator, state, config, process, log.append)
    facts = {
        "alone": alone,
        "loss": log[0]["val_loss"],
        "positions": [int(one) for one in seen],
        "pool": sorted(int(one) for one in validator.pool),
        "wrote": state.best_step == config.steps and rank == 0 and (folder / "best.pt").exists(),
    }
    (folder / f"{rank}.json").write_text(json.dumps(facts))
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    fork_ranks(lambda rank: main(rank, Path(sys.argv[1])))
