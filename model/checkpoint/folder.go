package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"teamtalk/model/tokenizer"
)

const (
	configFile     = "config.json"
	generationFile = "generation_config.json"
	singleFile     = "model.safetensors"
	indexFile      = "model.safetensors.index.json"
	tokenizerFile  = "tokenizer.json"
)

// openFolder opens a Hugging Face folder.
func openFolder(fsys fs.FS) (_ *Checkpoint, err error) {
	raw, err := fs.ReadFile(fsys, configFile)
	if err != nil {
		return nil, fmt.Errorf("want a Hugging Face folder with %s: %w", configFile, err)
	}
	cfg, err := ParseConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", configFile, err)
	}
	if cfg, err = withGenerationConfig(fsys, cfg); err != nil {
		return nil, fmt.Errorf("%s: %w", generationFile, err)
	}
	c := &Checkpoint{Config: cfg, Format: "safetensors", tensors: map[string]tensor{}}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if err := c.openShards(fsys); err != nil {
		return nil, err
	}
	c.tie()
	if err := check(cfg, c.tensors); err != nil {
		return nil, err
	}
	if cfg.TieWordEmbeddings {
		c.tensors["lm_head.weight"] = c.tensors["model.embed_tokens.weight"]
	}
	c.hashes = hashFiles(c.files)
	c.vocab = func() (*tokenizer.Tokenizer, error) { return readTokenizer(fsys) }
	return c, nil
}

// withGenerationConfig adds the end-of-reply tokens of generation_config.json, where Qwen2.5-Instruct names its second one.
func withGenerationConfig(fsys fs.FS, cfg Config) (Config, error) {
	raw, err := fs.ReadFile(fsys, generationFile)
	if errors.Is(err, fs.ErrNotExist) {
		return cfg, nil
	}
	if err != nil {
		return cfg, err
	}
	var g struct {
		EOS tokenIDs `json:"eos_token_id"`
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return cfg, err
	}
	for _, id := range g.EOS {
		if !slices.Contains(cfg.EOSTokenIDs, id) {
			cfg.EOSTokenIDs = append(cfg.EOSTokenIDs, id)
		}
	}
	return cfg, cfg.Validate()
}

// openShards opens the weights, model.safetensors if it is there and else the files of the index, as transformers does.
func (c *Checkpoint) openShards(fsys fs.FS) error {
	if _, err := fs.Stat(fsys, singleFile); err == nil {
		_, err := c.openShard(fsys, singleFile)
		return err
	}
	raw, err := fs.ReadFile(fsys, indexFile)
	if err != nil {
		return fmt.Errorf("no weights: want %s, or %s and its shards (PyTorch's .bin files are not read): %w", singleFile, indexFile, err)
	}
	var index struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		return fmt.Errorf("%s: %w", indexFile, err)
	}
	byShard := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(index.WeightMap)) {
		shard := index.WeightMap[name]
		if strings.ContainsAny(shard, `/\`) || !fs.ValidPath(shard) || !strings.HasSuffix(shard, ".safetensors") {
			return fmt.Errorf("%s: tensor %s: %q is not the name of a .safetensors file in the folder", indexFile, name, shard)
		}
		byShard[shard] = append(byShard[shard], name)
	}
	for _, shard := range slices.Sorted(maps.Keys(byShard)) {
		names, err := c.openShard(fsys, shard)
		if err != nil {
			return err
		}
		if slices.Sort(names); !slices.Equal(names, byShard[shard]) {
			return fmt.Errorf("%s: %s lists %d tensors in it, it holds %d: %s", shard, indexFile, len(byShard[shard]), len(names), firstDifference(names, byShard[shard]))
		}
	}
	return nil
}

func firstDifference(got, want []string) string {
	for _, n := range want {
		if !slices.Contains(got, n) {
			return "tensor " + n + " is missing"
		}
	}
	for _, n := range got {
		if !slices.Contains(want, n) {
			return "tensor " + n + " is not in the index"
		}
	}
	return "the same tensor is listed twice"
}

// openShard opens one file, adds its tensors and returns their names.
func (c *Checkpoint) openShard(fsys fs.FS, name string) (names []string, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	r, ok := f.(io.ReaderAt)
	if !ok {
		f.Close()
		return nil, fmt.Errorf("%s: this file system cannot read at an offset", name)
	}
	c.files = append(c.files, weightFile{name, st.Size(), r, f})
	entries, _, err := parseSafetensors(r, st.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.name, ".rotary_emb.inv_freq") {
			// A buffer that early versions of transformers saved; it follows from rope_theta.
			names = append(names, e.name)
			continue
		}
		if _, twice := c.tensors[e.name]; twice {
			return nil, fmt.Errorf("%s: tensor %s: also in another shard", name, e.name)
		}
		c.tensors[e.name] = tensor{e, r}
		names = append(names, e.name)
	}
	return names, nil
}

// tie drops a stored head that the configuration says is the embedding, as transformers does.
func (c *Checkpoint) tie() {
	if _, stored := c.tensors["lm_head.weight"]; stored && c.Config.TieWordEmbeddings {
		delete(c.tensors, "lm_head.weight")
		c.Notes = append(c.Notes, "tie_word_embeddings is true: the stored lm_head.weight is not read, model.embed_tokens.weight serves as the head")
	}
}
