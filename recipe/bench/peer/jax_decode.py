"""Times a decoding loop in JAX: Qwen2.5-1.5B's shape, random bf16 weights, LoRA on all seven linear maps.

A peer for `recipe bench -only decode,decode-m4`: the same XLA, the same shapes, the loop on the device, the adapters' A appended
to the frozen weights as extra columns, one product with all B's after it, sampling at temperature 0.9 included.

    python jax_decode.py                          # 48 rows, one run
    python jax_decode.py --rows 192 --runs 4      # four runs in lockstep
    python jax_decode.py --rank 0                 # without adapters
    python jax_decode.py --tiny                   # a small shape, on a CPU

Prints one line of JSON. Needs jax (0.4 or newer), on a GPU jax[cuda13].
"""
import argparse
import functools
import json
import statistics
import time

import jax
import jax.numpy as jnp


def arguments():
    p = argparse.ArgumentParser(description="decoding peer in JAX")
    p.add_argument("--rows", type=int, default=48)
    p.add_argument("--runs", type=int, default=1, help="LoRA runs in lockstep; rows are sorted by run")
    p.add_argument("--rank", type=int, default=32, help="LoRA rank; 0: no adapters")
    p.add_argument("--cache", type=int, default=768)
    p.add_argument("--prompt", type=int, default=256, help="where the first new token is written")
    p.add_argument("--steps", type=int, default=96)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--tiny", action="store_true")
    return p.parse_args()


class Shape:
    layers, hidden, heads, kv, head, inner, vocab, theta = 28, 1536, 12, 2, 128, 8960, 151936, 1e6


class Tiny(Shape):
    layers, hidden, heads, kv, head, inner, vocab, theta = 2, 64, 4, 2, 16, 128, 512, 1e4


# The products of a layer: name, inputs, outputs, and how many LoRA targets it joins.
def products(s):
    q, kv = s.heads * s.head, s.kv * s.head
    return [("qkv", s.hidden, q + 2 * kv, 3), ("o", q, s.hidden, 1), ("gate_up", s.hidden, 2 * s.inner, 2), ("down", s.inner, s.hidden, 1)]


def random_weights(s, a, key):
    def draw(*dims):
        nonlocal key
        key, sub = jax.random.split(key)
        return (0.02 * jax.random.normal(sub, dims, jnp.float32)).astype(jnp.bfloat16)

    layers = []
    for _ in range(s.layers):
        layer = {"norm1": draw(s.hidden), "norm2": draw(s.hidden), "bias": draw((s.heads + 2 * s.kv) * s.head)}
        for name, inputs, outputs, targets in products(s):
            extra = a.runs * targets * a.rank
            layer[name] = draw(inputs, outputs + extra)  # [W | A1 .. AM]
            if extra:
                layer[name + "_b"] = draw(extra, outputs)
        layers.append(layer)
    return {"layers": layers, "embed": draw(s.vocab, s.hidden), "norm": draw(s.hidden)}


def build(s, a):
    half = s.head // 2
    frequency = s.theta ** (-jnp.arange(half) / half)
    run_of_row = jnp.arange(a.rows) * a.runs // a.rows

    def norm(x, w):
        f = x.astype(jnp.float32)
        f = f / jnp.sqrt(jnp.mean(f * f, -1, keepdims=True) + 1e-6)
        return f.astype(x.dtype) * w

    def rotate(x, position):
        angle = position * frequency
        cos, sin, f = jnp.cos(angle), jnp.sin(angle), x.astype(jnp.float32)
        left, right = f[..., :half], f[..., half:]
        return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], -1).astype(x.dtype)

    def linear(x, layer, name):
        y = x @ layer[name]
        if name + "_b" not in layer:
            return y
        b = layer[name + "_b"]
        y, z = y[:, : b.shape[1]], y[:, b.shape[1] :]
        if a.runs > 1:  # each row keeps what its own run's A gave
            column = jnp.arange(b.shape[0]) // (b.shape[0] // a.runs)
            z = z * (column == run_of_row[:, None]).astype(z.dtype)
        return y + z @ b

    def step(w, keys, values, token, at, noise):
        x = w["embed"][token]
        hidden = jnp.where(jnp.arange(a.cache) <= at, 0.0, -1e30)
        keys, values = list(keys), list(values)
        q_width, kv_width = s.heads * s.head, s.kv * s.head
        for i, layer in enumerate(w["layers"]):
            y = linear(norm(x, layer["norm1"]), layer, "qkv") + layer["bias"]
            q = rotate(y[:, :q_width].reshape(a.rows, s.kv, s.heads // s.kv, s.head), at)
            k = rotate(y[:, q_width : q_width + kv_width].reshape(a.rows, s.kv, 1, s.head), at)
            v = y[:, q_width + kv_width :].reshape(a.rows, s.kv, 1, s.head)
            keys[i] = jax.lax.dynamic_update_slice(keys[i], k, (0, 0, at, 0))
            values[i] = jax.lax.dynamic_update_slice(values[i], v, (0, 0, at, 0))
            score = jnp.einsum("bkgd,bkcd->bkgc", q, keys[i]).astype(jnp.float32) / s.head**0.5 + hidden
            share = jax.nn.softmax(score, -1).astype(x.dtype)
            out = jnp.einsum("bkgc,bkcd->bkgd", share, values[i]).reshape(a.rows, q_width)
            x = x + linear(out, layer, "o")
            y = linear(norm(x, layer["norm2"]), layer, "gate_up")
            x = x + linear(jax.nn.silu(y[:, : s.inner]) * y[:, s.inner :], layer, "down")
        logits = jnp.einsum("bh,vh->bv", norm(x, w["norm"]), w["embed"], preferred_element_type=jnp.float32)
        noise, now = jax.random.split(noise)
        return keys, values, jax.random.categorical(now, logits / 0.9).astype(jnp.int32), noise

    @functools.partial(jax.jit, donate_argnums=(1, 2))
    def loop(w, keys, values, token, noise):
        def turn(i, state):
            keys, values, token, noise = state
            return tuple(step(w, keys, values, token, a.prompt + i, noise))

        return jax.lax.fori_loop(0, a.steps, turn, (keys, values, token, noise))

    return loop


def main():
    a = arguments()
    if a.tiny:
        a.rows, a.cache, a.prompt, a.steps, a.rank = min(a.rows, 8), 64, 16, 8, min(a.rank, 4)
    if a.rows % a.runs or a.prompt + a.steps > a.cache:
        raise SystemExit(f"expected rows in whole runs and prompt + steps within the cache, found {a.rows} rows of {a.runs} runs, {a.prompt} + {a.steps} of {a.cache}")
    jax.config.update("jax_default_prng_impl", "rbg")
    s = Tiny if a.tiny else Shape
    w = random_weights(s, a, jax.random.PRNGKey(0))
    keys, values = ([jnp.zeros((a.rows, s.kv, a.cache, s.head), jnp.bfloat16) for _ in range(s.layers)] for _ in range(2))
    token, noise = jnp.zeros((a.rows,), jnp.int32), jax.random.PRNGKey(1)
    loop = build(s, a)
    times = []
    for _ in range(a.repeat + 1):  # the first compiles
        start = time.perf_counter()
        keys, values, token, noise = loop(w, keys, values, token, noise)
        token.block_until_ready()
        times.append(time.perf_counter() - start)
    steps = [1e3 * t / a.steps for t in times[1:]]
    stats = jax.devices()[0].memory_stats() or {}
    print(json.dumps({
        "name": "jax decode", "jax": jax.__version__, "device": jax.devices()[0].device_kind, "rows": a.rows, "runs": a.runs, "rank": a.rank, "cache": a.cache,
        "unit": "ms a step", "times": steps, "median": statistics.median(steps), "compile_s": times[0] - times[1],
        "tokens_per_s": a.rows / statistics.median(steps) * 1e3, "peak_bytes": stats.get("peak_bytes_in_use"),
    }))


if __name__ == "__main__":
    main()
