"""A run from its first check to its last step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from synth.base.errors import SpecError
from synth.base.progress import Observer
from synth.corpus.corpus import Corpus
from train.config.run import TrainConfig
from train.data.audio import FeatureCache, feature_cache
from train.data.loader import Assembler, Loader
from train.data.recordings import Recordings
from train.data.split import TRAIN, SplitData
from train.data.texts import added_words
from train.data.tokenizer import TextTokenizer
from train.engine.checkpoint import (
    State,
    load_checkpoint,
    remove_run,
    save_best,
    save_checkpoint,
    save_model,
)
from train.engine.learner import Learner, fresh_state
from train.engine.log import RunLog
from train.engine.progress import PHASE, Meter
from train.engine.ranks import Process
from train.engine.validation import Validator
from train.run_folder import Origin, save_settings


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is ready to learn.

    Args:
        config: Its settings.
        process: This one.
        origin: What it learns from.
        state: What learning changes.
        loader: Makes batches.
        validator: None where too few samples of `val` are in play.
        learner: Learns from batches.
    """

    config: TrainConfig
    process: Process
    origin: Origin
    state: State
    loader: Loader
    validator: Validator | None
    learner: Learner

    @classmethod
    def prepared(
        cls, config: TrainConfig, process: Process, observer: Observer, resume: bool
    ) -> Run:
        """A run at its first step, or at that of its checkpoint.

        Nothing is written before the corpus is known to give every stage what it asks for.

        Raises:
            SpecError: If the settings do not fit the corpus, the machine or the checkpoint.
            CorpusError: If the corpus cannot be read.
        """
        corpus = Corpus.open(config.corpus)
        data = SplitData(corpus, TRAIN, config.mode)
        tokenizer = _tokenizer(config, data)
        origin = Origin.of(corpus, tokenizer)
        state = fresh_state(config, corpus.sample_rate, len(tokenizer), process)
        assembler = Assembler.of(data, tokenizer, config, cached=False)
        for stage in config.stages:
            assembler.check(stage, data.pool(stage).tolist(), state.model.audio_tower.longest)
        validator = _validator(corpus, tokenizer, config, state)
        _open_folder(config, origin, state, process, resume)
        if process.leads:
            save_settings(config.out, config, corpus.sample_rate, tokenizer)
            Recordings.of_split(corpus, TRAIN).save(config.out)
        cache = _features(data, config, state, observer)
        assembler = replace(assembler, cached=cache is not None)
        run = cls(
            config=config,
            process=process,
            origin=origin,
            state=state,
            loader=Loader(assembler, config, process.share),
            validator=validator,
            learner=Learner(config, state, process, cache),
        )
        process.wait()
        return run

    @property
    def finished(self) -> bool:
        """Whether nothing is left to learn."""
        return self._at_end or self._stale

    def learn(
        self, log: RunLog, meter: Meter, observer: Observer, interrupted: Callable[[], bool]
    ) -> None:
        """Learn, with checkpoints and validations, until the run is finished or interrupted.

        Args:
            log: Told of the steps and the validations.
            meter: Told of the samples.
            observer: Told of every step.
            interrupted: Asked after every step.
        """
        state = self.state
        # A checkpoint holds the state before validation, so a resumed run begins with it.
        self._validate(log)
        stop = state.step if self.finished else self.config.steps
        for batch in meter.waiting(self.loader.between(state.step, stop)):
            facts = self.learner.learn(batch)
            meter.samples += len(batch.audio.positions) * self.process.ranks
            if self._due(self.config.log_every):
                log.write(facts | meter.facts())
            observer.advance(PHASE, note=f"loss {state.loss:.3f}  {meter}")
            stopped = self.process.any(interrupted())
            if stopped or self._due(self.config.checkpoint_every):
                self._save()
            self._validate(log)
            if stopped:
                break
            if self._stale:
                self._save()
                break

    def close(self) -> None:
        """Write the weights to keep, if the run is finished, and wait for all processes."""
        if self.finished and self.process.leads:
            save_model(self.state, self.config)
        self.process.wait()

    @property
    def _at_end(self) -> bool:
        return self.state.step == self.config.steps

    @property
    def _stale(self) -> bool:
        """Whether too many validations in a row of the last stage have brought nothing better."""
        config, state = self.config, self.state
        wait = config.patience * config.eval_every
        since = max(state.best_step, config.steps - config.stages[-1].steps)
        return bool(wait and state.best_step and state.step - since >= wait)

    def _due(self, every: int) -> bool:
        """Whether what is done every so many steps, and behind the last, is done now."""
        return self._at_end or (every > 0 and self.state.step % every == 0)

    def _save(self) -> None:
        save_checkpoint(self.state, self.config, self.origin, self.process)

    def _validate(self, log: RunLog) -> None:
        """Validate where the step asks for it, and keep the best weights."""
        state, process = self.state, self.process
        if self.validator is None or not state.step or not self._due(self.config.eval_every):
            return
        # What batch norms remember differs between processes: the first one's weights are kept.
        loss = process.told(self.validator.loss(state.kept) if process.leads else 0.0)
        log.write({"step": state.step, "val_loss": loss})
        if loss < state.best_loss:
            state.best_loss, state.best_step = loss, state.step
            if process.leads:
                save_best(state, self.config)


def _tokenizer(config: TrainConfig, data: SplitData) -> TextTokenizer:
    """That of the text tower, or one of the corpus's words."""
    name = config.model.text.name
    if name:
        return TextTokenizer.of_model(name)
    return TextTokenizer.of_texts(data.vocabulary() | added_words(config.text, data.tags))


def _open_folder(
    config: TrainConfig, origin: Origin, state: State, process: Process, resume: bool
) -> None:
    """Take up the run's checkpoint, or clear its folder."""
    config.out.mkdir(parents=True, exist_ok=True)
    resumed = resume and load_checkpoint(state, config, origin, process)
    if not resumed and process.leads:
        remove_run(config.out)


def _features(
    data: SplitData, config: TrainConfig, state: State, observer: Observer
) -> FeatureCache | None:
    """The features to keep, where any step is left and they fit."""
    if state.step >= config.steps:
        return None
    return feature_cache(data, config, state.model.audio_tower, state.device, observer)


def _validator(
    corpus: Corpus, tokenizer: TextTokenizer, config: TrainConfig, state: State
) -> Validator | None:
    validator = Validator.of(corpus, tokenizer, config, state.model)
    if config.patience and validator is None:
        raise SpecError(
            "`patience` needs validation, and too few samples of split val are in play",
            mend="leave it out, or build the corpus with a split `val`",
        )
    return validator
