"""From a corpus to batches, each a pure function of the run and the step."""
