"""Tables of AIConfigurator's repository whose rows need more than a place in a CSV file: which kernel a row timed, how often, on how many channels,
by its collectors (folder collector of the repository). Each function takes a table and counts rows into `left_out` by why."""
from math import comb

from pyarrow import array, compute, concat_tables, parquet, scalar

MODEL = ("hidden_size", "inter_size", "topk", "num_experts")
NODE_GPUS = 8
# DeepEP's default of multiprocessors (deep_ep/buffer.py, Buffer.num_sms), which servers leave as it is.
DEEPEP_SMS = 20


def column(table, name):
    return table[name].combine_chunks()


def put(table, **columns):
    """With these columns, each a value of all rows or an array, in place of those of their names."""
    for name, values in columns.items():
        if isinstance(values, (str, int, float)):
            values = array([values] * table.num_rows)
        index = table.schema.get_field_index(name)
        table = table.append_column(name, values) if index < 0 else table.set_column(index, name, values)
    return table


def without(table, *names):
    return table.drop_columns([name for name in names if name in table.column_names])


def keep(table, mask, left_out, why):
    """The rows of the mask; the others are counted."""
    kept = table.filter(mask)
    left_out[f"rows of {why}"] += table.num_rows - kept.num_rows
    return kept


def starts(table, *prefixes):
    """Mask: rows of kernels of these names."""
    source, mask = column(table, "kernel_source"), array([False] * table.num_rows)
    for prefix in prefixes:
        mask = compute.or_(mask, compute.starts_with(source, pattern=prefix))
    return mask


def is_of(table, name, value):
    return compute.equal(compute.utf8_lower(column(table, name)), value.lower())


# ---- recurrences ----

def convolutions(table, channels):
    """Rows of causal convolutions, of so many channels."""
    return put(without(table, "num_k_heads", "head_k_dim", "num_v_heads", "head_v_dim", "d_state", "nheads", "head_dim", "n_groups",
                       "chunk_size"), op_name="causal_conv1d", channels=channels)


def delta_rules(table, gates):
    """Rows of recurrences, of so many gates a head: chunked over a prefill; else a step, of several tokens where drafts are verified."""
    context = is_of(table, "phase", "context")
    names = compute.if_else(context, "delta_rule_context", "delta_rule_generation")
    return put(without(table, "d_conv"), op_name=names, gates=gates)


def product(table, first, second):
    return compute.multiply(column(table, first), column(table, second))


def several_tokens(table, left_out, name):
    """A prefill of one token runs another kernel than the step of decoding that has its dims, and no server runs it."""
    alone = compute.and_(starts(table, "causal_conv1d_fn"), compute.equal(column(table, "seq_len"), 1))
    return keep(table, compute.invert(alone), left_out, f"{name} that prefill one token")


def finish(tables):
    """Servers compute in 16 bits; num_tokens is batch_size times seq_len, d_model of the layer's products."""
    return concat_tables([put(without(table, "num_tokens", "d_model"), dtype="bfloat16") for table in tables], promote_options="default")


def gated_delta_net(table, left_out):
    """Queries, keys and values go through one convolution; TensorRT-LLM's collector, and SGLang's of 0.5.10, timed that of the keys alone."""
    table = several_tokens(table, left_out, "gdn_perf")
    is_convolution = starts(table, "causal_conv1d")
    conv, rule = table.filter(is_convolution), table.filter(compute.invert(is_convolution))
    keys = product(conv, "num_k_heads", "head_k_dim")
    packed = compute.add(compute.multiply(keys, 2), product(conv, "num_v_heads", "head_v_dim"))
    keys_alone = compute.or_(is_of(conv, "framework", "TRTLLM"), is_of(conv, "version", "0.5.10"))
    return finish([convolutions(conv, compute.if_else(keys_alone, keys, packed)), delta_rules(rule, 1)])


def kimi_delta_attention(table, left_out):
    """Three convolutions of a prefill, one of a step; gates for every column of the key."""
    table = several_tokens(table, left_out, "kda_perf")
    table = keep(table, compute.invert(starts(table, "fused_kda_decode", "kda_fused_decode")), left_out,
                 "kda_perf whose kernel convolves and normalises, too")
    three = starts(table, "causal_conv1d_fn_qkv3")
    host = compute.and_(three, is_of(table, "framework", "VLLM"))
    table = keep(table, compute.invert(host), left_out, "kda_perf that Python launched: convolutions by vLLM take the host's time")
    three, one = starts(table, "causal_conv1d_fn_qkv3"), starts(table, "causal_conv1d_update")
    thirds, steps = table.filter(three), table.filter(one)
    rule = table.filter(compute.invert(compute.or_(three, one)))
    thirds = put(thirds, latency=compute.divide(column(thirds, "latency"), 3.0))
    # SGLang convolves the tokens of a draft as sequences of one token.
    alone = is_of(steps, "framework", "SGLang")
    steps = put(steps, batch_size=compute.if_else(alone, column(steps, "num_tokens"), column(steps, "batch_size")),
                seq_len=compute.if_else(alone, 1, column(steps, "seq_len")))
    return finish([convolutions(thirds, product(thirds, "num_v_heads", "head_v_dim")),
                   convolutions(steps, compute.multiply(product(steps, "num_v_heads", "head_v_dim"), 3)),
                   delta_rules(rule, column(rule, "head_k_dim"))])


def mamba2(table, left_out):
    """Convolutions of x, B and C."""
    table = several_tokens(table, left_out, "mamba2_perf")
    channels = compute.add(product(table, "nheads", "head_dim"), compute.multiply(product(table, "n_groups", "d_state"), 2))
    return finish([convolutions(table, channels)])


# ---- hyper-connections, quantising ----

def hyper_connections(table, _left_out):
    """A row times the kernels of all sites of a layer, one after the other."""
    return put(without(table, "num_sites"), op_name=compute.binary_join_element_wise("hyper_connection", column(table, "op_name"), "_"),
               dtype="bfloat16", latency=compute.divide(column(table, "latency"), column(table, "num_sites").cast("double")))


def quantise(table, left_out):
    """SGLang's collector divides, clamps and copies by PyTorch, a kernel each."""
    table = keep(table, compute.invert(is_of(table, "framework", "SGLang")), left_out, "scale_matrix_perf that are several kernels")
    return put(table, op_name="quantise", dtype="bfloat16", bits=8)


# ---- experts ----

def models_without_gate(paths):
    """Sizes of the experts that a kernel without a gate ran, by the name that TensorRT-LLM's tables have for it."""
    tables = (parquet.read_table(path, columns=["kernel_source", *MODEL]) for path in paths)
    found = [table.filter(compute.ends_with(table["kernel_source"], pattern="nongated")).select(MODEL) for table in tables]
    return concat_tables(found, promote_options="permissive").group_by(MODEL).aggregate([]).to_pylist() if found else []


def mark_gates(table, without_gate):
    ungated = scalar(False)
    for sizes in without_gate:
        same = scalar(True)
        for name, size in sizes.items():
            same = compute.and_(same, compute.equal(table[name], size))
        ungated = compute.or_(ungated, same)
    return put(table, ungated=ungated.cast("int64") if without_gate else 0)


def wide_experts(table, _left_out):
    """TensorRT-LLM's layer of one GPU of many, its slots as experts, of which a load balancer has more than the model."""
    return put(without(table, "dp_num_tokens", "rank0_num_tokens", "simulation_mode"), op_name="moe", num_experts=column(table, "num_slots"))


# ---- DeepEP: tokens to the GPUs of their experts, and what these made of them back ----

def distinct_gpus(experts, topk, gpus):
    """Expected GPUs of a token that goes to `topk` of the experts, all choices as likely."""
    return gpus * (1 - comb(experts - experts // gpus, topk) / comb(experts, topk))


def exchanges(table, times, copies, library):
    """Both ways: 8 bits there, 16 back; `copies`: of a token that are sent, for each row."""
    elements = [round(tokens * hidden * sent) for tokens, hidden, sent
                in zip(table["num_token"].to_pylist(), table["hidden_size"].to_pylist(), copies)]
    common = put(table.select(["framework", "version", "device"]), op_name="alltoall", kernel_source=library, message_size=array(elements),
                 num_gpus=compute.multiply(column(table, "node_num"), NODE_GPUS))
    ways = [put(common, exchange=way, nccl_dtype=dtype, latency=compute.divide(column(table, times[way]), 1000.0))
            for way, dtype in (("dispatch", "fp8"), ("combine", "bfloat16"))]
    return concat_tables(ways)


def deepep(table, left_out):
    """A token goes once to each GPU that has one of its experts."""
    default = compute.and_(compute.equal(column(table, "dispatch_sms"), DEEPEP_SMS), compute.equal(column(table, "combine_sms"), DEEPEP_SMS))
    table = keep(table, default, left_out, f"wideep_deepep_normal_perf with other multiprocessors than DeepEP's default of {DEEPEP_SMS}")
    copies = [distinct_gpus(experts, topk, nodes * NODE_GPUS) for experts, topk, nodes
              in zip(table["num_experts"].to_pylist(), table["num_topk"].to_pylist(), table["node_num"].to_pylist())]
    return put(exchanges(table, {"dispatch": "dispatch_transmit_us", "combine": "combine_transmit_us"}, copies, "deepep"), sms=DEEPEP_SMS)


def deepep_low_latency(table, _left_out):
    """A token goes to each of its experts."""
    return exchanges(table, {"dispatch": "dispatch_avg_t_us", "combine": "combine_avg_t_us"}, table["num_topk"].to_pylist(), "deepep_ll")


CONVERTERS = {
    "gdn_perf": gated_delta_net, "kda_perf": kimi_delta_attention, "mamba2_perf": mamba2, "mhc_module_perf": hyper_connections,
    "scale_matrix_perf": quantise, "wideep_deepep_normal_perf": deepep, "wideep_deepep_ll_perf": deepep_low_latency,
    "wideep_moe_perf": wide_experts,
}
# Tables that no kernel took the times of, and why.
NO_KERNEL = {
    "computescale_perf": "a difference of two kernels",
    "wideep_context_moe_perf": "experts that Python launched, the host's time in them",
    "wideep_generation_moe_perf": "experts on rows that dispatch has laid out, a part of `moe`",
}
