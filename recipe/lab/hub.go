package lab

import (
	"context"
	"io"
	"time"

	"teamtalk/recipe/data"
	"teamtalk/recipe/fetch"
	"teamtalk/recipe/hub"
)

// fetchModel finds a Hugging Face hub name in the caches or downloads it, and returns its folder.
func fetchModel(ctx context.Context, name string, log io.Writer) (string, error) {
	h, err := hub.FromEnv(fetch.Printer(log, 5*time.Second))
	if err != nil {
		return "", err
	}
	m, err := h.Model(ctx, name)
	if err != nil {
		return "", err
	}
	return m.Dir, nil
}

// fetchData puts GSM8K's two files, checked, into the cache and returns their folder.
func fetchData(ctx context.Context, log io.Writer) (string, error) {
	dir, err := fetch.CacheDir("gsm8k")
	if err != nil {
		return "", err
	}
	return dir, data.FetchGSM8K(ctx, dir, "", fetch.Printer(log, 5*time.Second))
}
