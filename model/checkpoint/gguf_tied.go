package checkpoint

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// tieGGUF decides whether the head is the embedding. A GGUF file does not say: without output.weight it is; with it,
// llama.cpp may have stored one tied matrix twice, at two precisions (Qwen2.5 up to 3B), or the model may be untied (7B on).
// The two cases are far apart: copies differ by rounding (cosine over 0.99), untied matrices are unrelated. Of two copies the
// finer serves for both, as one matrix did when the model was trained.
func (c *Checkpoint) tieGGUF() error {
	head, stored := c.tensors["lm_head.weight"]
	if !stored {
		c.Config.TieWordEmbeddings = true
		return nil
	}
	embed := c.tensors["model.embed_tokens.weight"]
	if !slices.Equal(embed.shape, head.shape) || len(head.shape) != 2 {
		return nil // check names the wrong one
	}
	cos, err := rowCosine(embed, head)
	if err != nil {
		return err
	}
	if cos < 0.95 {
		return nil
	}
	c.Config.TieWordEmbeddings = true
	used, from := head, "output.weight"
	if embed.enc.bits() > head.enc.bits() {
		used, from = embed, "token_embd.weight"
	}
	c.tensors["model.embed_tokens.weight"] = used
	delete(c.tensors, "lm_head.weight")
	c.Notes = append(c.Notes, fmt.Sprintf("the tied matrix is stored twice, token_embd.weight in %s and output.weight in %s (cosine %.4f over a sample of rows): %s, in %s, serves as embedding and head",
		embed.dtype, head.dtype, cos, from, used.dtype))
	return nil
}

// rowCosine compares two matrices of one shape on 64 rows spread evenly.
func rowCosine(a, b tensor) (float64, error) {
	rows, width := a.shape[0], a.shape[1]
	x, y := make([]float32, width), make([]float32, width)
	var xx, yy, xy float64
	for i := range min(rows, 64) {
		row := i * rows / min(rows, 64)
		for _, t := range []struct {
			tensor
			dst []float32
		}{{a, x}, {b, y}} {
			rowBytes := int64(width / t.enc.n * t.enc.size)
			raw := make([]byte, rowBytes)
			if _, err := t.file.ReadAt(raw, t.off+int64(row)*rowBytes); err != nil && err != io.EOF {
				return 0, fmt.Errorf("tensor %s: %w", t.name, err)
			}
			t.enc.toF32(raw, t.dst)
		}
		for j := range x {
			xx += float64(x[j]) * float64(x[j])
			yy += float64(y[j]) * float64(y[j])
			xy += float64(x[j]) * float64(y[j])
		}
	}
	if xx == 0 || yy == 0 {
		return 0, nil
	}
	return xy / math.Sqrt(xx*yy), nil
}
