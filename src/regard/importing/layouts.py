"""What the weights of each family are called, in a Hugging Face folder and in GGUF, and where they go in Regard."""

from collections.abc import Collection, Mapping

from regard.errors import InputError
from regard.importing.design import Design
from regard.importing.plan import Plan, cut, pairs, same, transposed

LLAMA = {
    "embedding": "model.embed_tokens",
    "close": "model.norm",
    "head": "lm_head",
    "layer": "model.layers.{}.",
    "attention norm": "input_layernorm",
    "query": "self_attn.q_proj",
    "key": "self_attn.k_proj",
    "value": "self_attn.v_proj",
    "output": "self_attn.o_proj",
    "mlp norm": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
    "route": "block_sparse_moe.gate",
    "expert gate": "block_sparse_moe.experts.{}.w1",
    "expert up": "block_sparse_moe.experts.{}.w3",
    "expert down": "block_sparse_moe.experts.{}.w2",
}
GGUF = {
    "embedding": "token_embd",
    "positions": "position_embd",
    "close": "output_norm",
    "head": "output",
    "layer": "blk.{}.",
    "attention norm": "attn_norm",
    "all": "attn_qkv",
    "query": "attn_q",
    "key": "attn_k",
    "value": "attn_v",
    "output": "attn_output",
    "mlp norm": "ffn_norm",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
    "route": "ffn_gate_inp",
    "experts gate": "ffn_gate_exps",
    "experts up": "ffn_up_exps",
    "experts down": "ffn_down_exps",
    "expert gate": "ffn_gate.{}",
    "expert up": "ffn_up.{}",
    "expert down": "ffn_down.{}",
}
GPT2 = {
    "embedding": "wte",
    "positions": "wpe",
    "close": "ln_f",
    "head": "lm_head",
    "layer": "h.{}.",
    "attention norm": "ln_1",
    "all": "attn.c_attn",
    "output": "attn.c_proj",
    "mlp norm": "ln_2",
    "up": "mlp.c_fc",
    "down": "mlp.c_proj",
}
OUTSIDE = ("embedding", "positions", "close", "layer")
Words = Mapping[str, str]


def folder_plan(design: Design, found: Collection[str], named: str) -> Plan:
    """Where the weights of a Hugging Face folder go. GPT-2's are there with and without a word before them."""
    refuse_fewer(found, design.layers * max(1, design.experts), named)
    if design.family != "gpt2":
        return llama_plan(design, LLAMA, halves=True)
    before = "transformer." if "transformer.wte.weight" in found else ""
    words = {role: before + word if role in OUTSIDE else word for role, word in GPT2.items()}
    return gpt2_plan(design, words, turned=True)


def refuse_fewer(found: Collection[str], least: int, named: str) -> None:
    """Refuse more layers than there are weights, before any of them is looked for."""
    if len(found) < least:
        raise InputError(f"{named}: its config asks for {least:,} weights or more, and there are {len(found):,}")


def llama_plan(design: Design, words: Words, *, halves: bool, stacked: bool = False) -> Plan:
    """Llama and those after it. `halves`: a head's pairs lie half a head apart. `stacked`: experts are one tensor."""
    plan = _frame(design, words)
    width, head, hidden = design.width, design.head_width, design.hidden
    keys = design.kv_heads * head
    turn = pairs(head) if halves else same
    for number in range(design.layers):
        here, there = words["layer"].format(number), f"decoder.layers.{number}."
        inner = f"{there}attention."
        for end, more in (("weight", (width,)), *([("bias", ())] if design.bias else [])):
            plan.put(f"{here}{words['query']}.{end}", (design.heads * head, *more), f"{inner}query.{end}", turn=turn)
            both = f"{inner}key_value.{end}"
            plan.put(f"{here}{words['key']}.{end}", (keys, *more), both, slice(0, keys), turn=turn)
            plan.put(f"{here}{words['value']}.{end}", (keys, *more), both, slice(keys, 2 * keys))
        plan.put(f"{here}{words['output']}.weight", (width, design.heads * head), f"{inner}output.weight")
        if design.bias is True:
            plan.put(f"{here}{words['output']}.bias", (width,), f"{inner}output.bias")
        if design.experts:
            _experts(plan, design, words, number, stacked)
            continue
        for end, wide, narrow in (
            ("weight", (hidden, width), (width, hidden)),
            *([("bias", (hidden,), (width,))] if design.mlp_bias else []),
        ):
            both = f"{there}mlp.gate_up.{end}"
            plan.put(f"{here}{words['gate']}.{end}", wide, both, slice(0, hidden))
            plan.put(f"{here}{words['up']}.{end}", wide, both, slice(hidden, 2 * hidden))
            plan.put(f"{here}{words['down']}.{end}", narrow, f"{there}mlp.down.{end}")
    return plan


def gpt2_plan(design: Design, words: Words, *, turned: bool) -> Plan:
    """GPT-2: one matrix of queries, keys and values. `turned`: matrices stand the other way round."""
    plan = _frame(design, words)
    width, hidden = design.width, design.hidden
    turn = transposed if turned else same

    def matrix(wide: int, narrow: int) -> tuple[int, int]:
        return (narrow, wide) if turned else (wide, narrow)

    plan.put(f"{words['positions']}.weight", (design.context, width), "decoder.positions.table.weight")
    for number in range(design.layers):
        here, there = words["layer"].format(number), f"decoder.layers.{number}."
        every = f"{here}{words['all']}"
        for target, rows in (("query", slice(0, width)), ("key_value", slice(width, 3 * width))):
            place = f"{there}attention.{target}"
            plan.put(f"{every}.weight", matrix(3 * width, width), f"{place}.weight", turn=cut(rows, turn))
            plan.put(f"{every}.bias", (3 * width,), f"{place}.bias", turn=cut(rows))
        for word, target, wide, narrow in (
            ("output", "attention.output", width, width),
            ("up", "mlp.up", hidden, width),
            ("down", "mlp.down", width, hidden),
        ):
            plan.put(f"{here}{words[word]}.weight", matrix(wide, narrow), f"{there}{target}.weight", turn=turn)
            plan.put(f"{here}{words[word]}.bias", (wide,), f"{there}{target}.bias")
    return plan


def _frame(design: Design, words: Words) -> Plan:
    """What all have: embeddings, norms and a head."""
    plan = Plan()
    table = (design.vocab_size, design.width)
    plan.put(f"{words['embedding']}.weight", table, "target.table.weight")
    ends = ("weight", "bias") if design.norm == "layer" else ("weight",)
    for end in ends:
        for number in range(design.layers):
            here, there = words["layer"].format(number), f"decoder.layers.{number}."
            for sublayer in ("attention", "mlp"):
                target = f"{there}around_{sublayer}.norm.{end}"
                plan.put(f"{here}{words[f'{sublayer} norm']}.{end}", (design.width,), target)
        plan.put(f"{words['close']}.{end}", (design.width,), f"decoder.close.{end}")
    if not design.tied:
        plan.put(f"{words['head']}.weight", table, "head.weight")
    return plan


def _experts(plan: Plan, design: Design, words: Words, number: int, stacked: bool) -> None:
    """All MLPs of a layer, and the router that picks among them."""
    width, hidden, experts = design.width, design.hidden, design.experts
    here, there = words["layer"].format(number), f"decoder.layers.{number}.mlp."
    plan.put(f"{here}{words['route']}.weight", (experts, width), f"{there}route.weight")
    parts = {
        "gate": ((hidden, width), "up", slice(0, hidden)),
        "up": ((hidden, width), "up", slice(hidden, 2 * hidden)),
        "down": ((width, hidden), "down", slice(None)),
    }
    for part, (shape, target, rows) in parts.items():
        if stacked:
            source = f"{here}{words[f'experts {part}']}.weight"
            plan.put(source, (experts, *shape), f"{there}{target}", slice(None), rows)
            continue
        for expert in range(experts):
            source = f"{here}{words[f'expert {part}'].format(expert)}.weight"
            plan.put(source, shape, f"{there}{target}", expert, rows)
