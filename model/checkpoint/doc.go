// Package checkpoint reads and writes the weights of Qwen2-architecture models in the formats other tools use:
//
//   - Hugging Face folders: config.json and one or several safetensors files (Open, WriteFolder)
//   - GGUF v3 files, quantised or not (Open)
//   - PEFT LoRA adapters (ReadAdapter, WriteAdapter)
//
// Everything is checked before a weight is read: the configuration, every tensor's name, type, shape and place in the file.
// What this package cannot read right, it refuses with the name of the tensor or setting, what was expected and what was found.
// Weights come out as float32 or as bfloat16 (a uint16 per value, rounded to nearest even), in the buffer that the caller
// gives, under Hugging Face names (model.layers.0.self_attn.q_proj.weight), row-major [out, in], whatever the file.
//
// The package computes nothing with the weights, downloads nothing and knows no framework.
package checkpoint
