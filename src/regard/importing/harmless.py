"""Keys of a config.json that change no answer, and those that are known to change one; all others are refused too."""

HARMLESS = {
    # where it comes from, and what wrote it
    *("architectures", "model_type", "_name_or_path", "name_or_path", "transformers_version", "tokenizer_class"),
    *("_model_name_or_path", "model_name", "_commit_hash", "_from_model_config", "license", "license_link"),
    *("transformers.js_config", "is_llama_config", "unsloth_version", "unsloth_fixed", "mlx_version"),
    # how numbers were drawn, stored and kept
    *("dtype", "torch_dtype", "initializer_range", "use_cache", "gradient_checkpointing", "pretraining_tp"),
    *("_attn_implementation", "attn_implementation", "torchscript", "use_bfloat16", "reorder_and_upcast_attn"),
    *("n_ctx", "embd_pdrop", "router_aux_loss_coef", "output_router_logits", "router_jitter_noise"),
    # what else it can be used for, or asked to hand out
    *("output_attentions", "output_hidden_states", "return_dict", "return_dict_in_generate", "output_scores"),
    *("problem_type", "id2label", "label2id", "num_labels", "finetuning_task", "task_specific_params"),
    *("_num_labels", "output_past", "tie_encoder_decoder", "cross_attention_hidden_size", "tf_legacy_loss", "prefix"),
    *("chunk_size_feed_forward",),
    *("summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj"),
    # how it writes: that is read from generation_config.json, or asked of the user
    *("bos_token_id", "eos_token_id", "pad_token_id", "max_length", "min_length", "do_sample", "temperature", "top_k"),
    *("top_p", "typical_p", "repetition_penalty", "length_penalty", "num_beams", "num_beam_groups", "early_stopping"),
    *("num_return_sequences", "no_repeat_ngram_size", "bad_words_ids", "diversity_penalty", "remove_invalid_values"),
    *("unk_token_id", "sep_token_id", "cls_token_id", "decoder_start_token_id", "forced_bos_token_id"),
    *("forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens", "encoder_no_repeat_ngram_size"),
    *("exponential_decay_length_penalty",),
}
WHERE = "HARMLESS in regard/importing/harmless.py"

REFUSED = (
    # scores and logits bent, scaled or cut
    *("attn_logit_softcapping", "final_logit_softcapping", "logit_scale", "logits_scaling", "attention_multiplier"),
    *("query_pre_attn_scalar", "qk_norm", "use_qk_norm", "qk_layernorm", "clip_qkv", "attention_sink", "use_sinks"),
    # the stream of a layer
    *("residual_multiplier", "embedding_multiplier", "scale_emb", "scale_depth", "scale_embedding"),
    *("parallel_attn", "use_parallel_residual", "parallel_residual", "use_post_norm", "no_rope_layers"),
    # positions and pairs
    *("rope_interleaved", "use_mrope", "use_alibi", "alibi", "position_embedding_type", "no_rope_layer_interval"),
    # which layers, experts or weights are there
    *("shared_expert_intermediate_size", "n_shared_experts", "first_k_dense_replace", "moe_layer_freq"),
    *("mlp_only_layers", "decoder_sparse_step", "num_nextn_predict_layers", "text_config", "vision_config"),
)

HARMLESS_VISION = {
    # heads and parts that a classifier does not use
    *("encoder_stride", "pooler_output_size", "pooler_act", "out_features", "out_indices", "stage_names"),
}

HARMLESS_PROCESSOR = {
    # how a processor is called and hands over what it has made; colours are what images are made into here
    *("image_processor_type", "feature_extractor_type", "processor_class", "_processor_class", "do_convert_rgb"),
    *("data_format", "input_data_format", "return_tensors", "device", "disable_grouping", "_valid_processor_keys"),
}

HARMLESS_TIMM = {
    # said beside the architecture, for people; the licence is of the card
    *("num_features", "label_descriptions", "license", "library_name", "tags"),
}

HARMLESS_PRETRAINED = {
    # where weights come from, what can be done with them, and what they were measured at
    *("url", "file", "hf_hub_id", "hf_hub_filename", "source", "architecture", "tag", "custom_load", "license"),
    *("description", "origin_url", "paper_name", "paper_ids", "notes", "label_descriptions"),
    *("fixed_input_size", "min_input_size", "test_input_size", "test_crop_pct", "pool_size", "test_pool_size"),
    *("first_conv", "classifier"),
}

HARMLESS_ARGS = {
    # how numbers were drawn, and what is left out by chance while training, which a recipe says anew
    *("weight_init", "fix_init", "zero_init_last", "drop_rate", "pos_drop_rate", "patch_drop_rate", "proj_drop_rate"),
    *("attn_drop_rate", "drop_path_rate", "drop_block_rate", "dynamic_img_size"),
}
