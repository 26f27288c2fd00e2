"""What recipes said before, and how it is said now: an old key is answered with its new name."""

KEYS = {
    "tokens": "tokenizer",
    "tokenizer.size": "tokenizer.vocab_size",
    "training.smoothing": "task.label_smoothing",
    "training.sampling": "task.scheduled_sampling",
    "training.longest": "task.max_length",
    "training.batch_tokens": "task.batch_tokens",
    "training.average": "training.ema",
    "training.clip": "training.max_grad_norm",
    "training.validate_every": "training.checkpoints.validate_every",
    "training.save_every": "training.checkpoints.save_every",
    "training.keep": "training.checkpoints.keep",
    "training.best_by": "training.checkpoints.best_by",
    "training.patience": "training.checkpoints.patience",
    "training.tensorboard": "training.checkpoints.tensorboard",
    "training.device": "training.machine.device",
    "training.precision": "training.machine.precision",
    "training.compile": "training.machine.compile",
    "training.parallel": "training.machine.parallel",
    "training.optimizer.rate": "training.optimizer.learning_rate",
    "training.optimizer.decay": "training.optimizer.weight_decay",
    "training.optimizer.adamw_rate": "training.optimizer.adamw_learning_rate",
    "training.schedule.warmup": "training.schedule.warmup_steps",
    "training.schedule.share": "training.schedule.decay_share",
    "training.schedule.floor": "training.schedule.min_factor",
    "model.source_vocabulary": "model.source_vocab_size",
    "model.target_vocabulary": "model.target_vocab_size",
    "model.vocabulary": "model.vocab_size",
    "model.tie": "model.tie_embeddings",
    "model.scale": "model.embedding_scale",
    "model.encoder.reach": "model.encoder.kernel_size",
    "model.decoder.reach": "model.decoder.kernel_size",
    "decoding.size": "decoding.beam_size",
    "decoding.length": "decoding.length_penalty",
    "decoding.best": "decoding.n_best",
    "decoding.shortest": "decoding.min_length",
    "decoding.no_repeat": "decoding.no_repeat_ngram_size",
    "data.task": "data.operation",
    "data.longest": "data.max_length",
    "data.shortest": "data.min_length",
    "data.test_longest": "data.test_max_length",
    **{
        f"training.{key}": f"training.checkpoints.{key}"
        for key in ("validate_every", "save_every", "keep", "best_by", "patience", "tensorboard")
    },
    **{f"training.{key}": f"training.machine.{key}" for key in ("device", "precision", "compile", "parallel")},
}
KINDS = {
    ("schedule", "inverse_root"): "inverse_sqrt",
    ("schedule", "decay"): "warmup_stable_decay",
}


def renamed_key(place: str) -> str:
    """`; it is called x now` for a key of former times, else nothing."""
    return f"; it is called {KEYS[place]} now" if place in KEYS else ""


def renamed_kind(slot: str, kind: object) -> str:
    """The same for a choice."""
    new = KINDS.get((slot, str(kind)))
    return f"; it is called {new!r} now" if new else ""
