package lab

import (
	"context"
	"fmt"
	"io"
)

func fetchModel(_ context.Context, name string, _ io.Writer) (string, error) {
	return "", fmt.Errorf("hub:%s", name)
}
