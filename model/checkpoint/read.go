package checkpoint

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// Blocks of this many values are read and converted at a time: a multiple of every encoding's block, small enough for a
// core's cache, large enough that the system call does not count.
const chunk = 1 << 16

// buffers are one worker's: the bytes of a chunk and, for bfloat16, its float32 values. A whole matrix is never held twice.
type buffers struct {
	raw []byte
	f32 []float32
}

var bufferPool = sync.Pool{New: func() any {
	return &buffers{make([]byte, 4*chunk), make([]float32, chunk)}
}}

// readValues reads the n values of an encoding that begin at off, in chunks shared out over the cores; convert turns the
// bytes of the values [from, to) into what the caller wants.
func readValues(r io.ReaderAt, off int64, enc *encoding, n int, convert func(from, to int, b *buffers)) error {
	chunks := (n + chunk - 1) / chunk
	var next atomic.Int64
	var failed atomic.Pointer[error]
	work := func() {
		b := bufferPool.Get().(*buffers)
		defer bufferPool.Put(b)
		for failed.Load() == nil {
			c := int(next.Add(1)) - 1
			if c >= chunks {
				return
			}
			from, to := c*chunk, min(n, (c+1)*chunk)
			full := b.raw
			b.raw = b.raw[:(to-from)/enc.n*enc.size]
			if m, err := r.ReadAt(b.raw, off+int64(from/enc.n*enc.size)); m < len(b.raw) {
				err = fmt.Errorf("read %d of %d bytes: %w", m, len(b.raw), orEOF(err))
				failed.CompareAndSwap(nil, &err)
			} else {
				convert(from, to, b)
			}
			b.raw = full
		}
	}
	workers := min(runtime.GOMAXPROCS(0), chunks)
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
