"""Hugging Face's GPT-2 as a peer: a training step."""

from collections.abc import Callable

import torch

from regard.measuring.sizes import GptShape


def prepare_gpt2_step(shape: GptShape) -> Callable[[], int]:
    """Forward, backward and AdamW of the model as it comes, without dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=shape.vocab_size,
        n_positions=shape.length,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=shape.heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2LMHeadModel(config).train()  # type: ignore[no-untyped-call]
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    tokens = torch.randint(shape.vocab_size, (shape.batch, shape.length))

    def turn() -> int:
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return shape.batch * shape.length

    return turn
