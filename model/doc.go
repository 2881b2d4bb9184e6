// Package model is Qwen2 (arXiv:2407.10671) with LoRA adapters, written once in GoMLX for training, scoring and sampling.
//
// [Weights] are the frozen base model on a device, [Adapters] the low-rank matrices of M runs that go through it together.
// [LogProbs] is the forward pass that training differentiates and [Scorer] calls; [Sampler] has a pass over the prompts and a
// loop on the device that writes into its caches in place. All of them share one network: what differs is attention, and
// whether adapters lie beside the frozen weights or below them. Rows of a batch do not see each other, so a row's result
// depends on its batch by rounding alone; noise is a function of a row's [Key], token and vocabulary index.
//
// Layouts are row-major, M runs outermost: [M, rows, T]. Norms, softmax, logits, log-probabilities and adapters are f32; weights
// and activations are what the device keeps ([backend.Device]). Graph-building functions may panic the GoMLX way; what is
// exported returns errors, but for [LogProbs] and its kin, which are called from such functions.
//
// The package knows nothing of text: package tokenizer does, and package checkpoint of files.
package model
