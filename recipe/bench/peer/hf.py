"""Times Hugging Face transformers with PEFT: Qwen2.5-1.5B's shape, random bf16 weights, LoRA r=32 on all seven linear maps.

A peer for `recipe bench -only decode,train`. Nothing is downloaded: the model is made from a configuration written here.

    python hf.py                # generate() of 48 rows, and a gradient pass of 8 x 704 tokens
    python hf.py --only train
    python hf.py --tiny         # a small shape, on a CPU

Prints one line of JSON for each measurement. Needs torch, transformers and peft.
"""
import argparse
import gc
import json
import statistics
import time

import peft
import torch
import transformers

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def arguments():
    p = argparse.ArgumentParser(description="Hugging Face peer")
    p.add_argument("--only", choices=["generate", "train"])
    p.add_argument("--rows", type=int, default=48, help="replies sampled at once")
    p.add_argument("--prompt", type=int, default=256)
    p.add_argument("--new", type=int, default=64, help="new tokens of each reply")
    p.add_argument("--batch", type=int, default=8, help="rows of a gradient pass")
    p.add_argument("--length", type=int, default=704, help="tokens of each of them")
    p.add_argument("--picks", type=int, default=0, help="last positions of each row whose logits are computed; 0: seven eighths")
    p.add_argument("--rank", type=int, default=32)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--tiny", action="store_true")
    return p.parse_args()


def build(a, device, dtype):
    shape = dict(hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12, num_key_value_heads=2, vocab_size=151936)
    if a.tiny:
        shape = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=512)
    config = transformers.Qwen2Config(
        **shape, max_position_embeddings=32768, tie_word_embeddings=True, eos_token_id=None, pad_token_id=0, bos_token_id=None, attn_implementation="sdpa")
    torch.manual_seed(0)
    with torch.device(device):
        model = transformers.Qwen2ForCausalLM(config).to(dtype)
    lora = peft.LoraConfig(r=a.rank, lora_alpha=2 * a.rank, lora_dropout=0.0, target_modules=TARGETS, task_type="CAUSAL_LM")
    return peft.get_peft_model(model, lora)


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def timed(device, repeat, work):
    """Seconds of each repetition after one to warm up, and the peak of all of them in bytes (None on a CPU)."""
    if device == "cuda":
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(repeat + 1):
        wait(device)
        start = time.perf_counter()
        work()
        wait(device)
        times.append(time.perf_counter() - start)
    return times[1:], torch.cuda.max_memory_allocated() if device == "cuda" else None


def report(name, device, unit, times, tokens, peak, **more):
    median = statistics.median(times)
    seconds = median * (1e-3 if unit.startswith("ms") else 1)
    print(json.dumps({
        "name": name, "torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__,
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu", "unit": unit, "times": times, "median": median,
        "tokens_per_s": tokens / seconds, "peak_bytes": peak, **more}), flush=True)


def generate(model, a, device):
    model.eval()
    ids = torch.randint(1, model.config.vocab_size, (a.rows, a.prompt), device=device)
    with torch.no_grad():
        def sample(new):
            out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=0.9, top_k=0, top_p=1.0,
                                 min_new_tokens=new, max_new_tokens=new, use_cache=True)
            assert out.shape[1] == a.prompt + new, out.shape
        first, _ = timed(device, a.repeat, lambda: sample(1))  # the prompts, and one token
        whole, peak = timed(device, a.repeat, lambda: sample(a.new))
    before = statistics.median(first)
    times = [1e3 * (t - before) / (a.new - 1) for t in whole]
    report("hf generate", device, "ms a step", times, a.rows, peak, rows=a.rows, prompt=a.prompt, new=a.new, prefill_s=before)


def train(model, a, device):
    model.train()
    picks = a.picks or a.length * 7 // 8
    ids = torch.randint(1, model.config.vocab_size, (a.batch, a.length), device=device)
    targets = torch.randint(1, model.config.vocab_size, (a.batch, picks), device=device)
    advantage = torch.full((a.batch, picks), 0.5, device=device)

    def step():
        logits = model(input_ids=ids, use_cache=False, logits_to_keep=picks).logits.float() / 0.9
        logp = torch.log_softmax(logits, -1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        ratio = torch.exp(logp - logp.detach())  # GRPO, on-policy
        (-(ratio * advantage).mean()).backward()
        for p in model.parameters():
            p.grad = None

    times, peak = timed(device, a.repeat, step)
    report("hf gradient pass", device, "ms", [1e3 * t for t in times], a.batch * a.length, peak, rows=a.batch, length=a.length, picks=picks, rank=a.rank)


def main():
    a = arguments()
    if a.tiny:
        a.rows, a.prompt, a.new, a.batch, a.length, a.rank = 4, 16, 16, 2, 32, 4
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not a.tiny:
        raise SystemExit("no GPU: expected one, or --tiny")
    model = build(a, device, torch.bfloat16)
    if a.only != "train":
        generate(model, a, device)
    if a.only != "generate":
        train(model, a, device)


if __name__ == "__main__":
    main()
