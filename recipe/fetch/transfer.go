package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// errCut marks what another try may mend: the connection broke, or the server was busy.
type errCut struct{ error }

func (e errCut) Unwrap() error { return e.error }

// fill brings the partial file to its full length and syncs it.
func (g *Getter) fill(ctx context.Context, part string, f File) (err error) {
	out, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	tries, wait := g.Tries, g.Wait
	if tries == 0 {
		tries = 5
	}
	if wait == 0 {
		wait = time.Second
	}
	for failed, moved := 0, false; ; {
		before, err := out.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		done, err := g.once(ctx, out, before, f)
		if err == nil && done {
			return out.Sync()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.As(err, new(errCut)) {
			return err
		}
		after, seekErr := out.Seek(0, io.SeekEnd)
		if seekErr != nil {
			return seekErr
		}
		if after > before {
			failed, moved = 0, true
			continue
		}
		if !moved && Unreachable(err) { // a network that comes and goes is waited for, one that was never there is not
			return err
		}
		if failed++; failed == tries {
			return fmt.Errorf("gave up after %d tries in a row that brought nothing: %w", tries, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait << (failed - 1)):
		}
	}
}

// once asks for what is missing from byte have on and appends it. It returns true when the file has its full length.
func (g *Getter) once(ctx context.Context, out *os.File, have int64, f File) (bool, error) {
	if f.Size > 0 && have >= f.Size {
		if have == f.Size {
			return true, nil
		}
		return false, restart(out, fmt.Errorf("%d bytes were kept of a file of %d", have, f.Size))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept-Encoding", "identity") // lengths and ranges are those of the file itself
	if f.Token != "" {
		req.Header.Set("Authorization", "Bearer "+f.Token)
	}
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	resp, err := g.client().Do(req)
	if err != nil {
		return false, errCut{err}
	}
	defer resp.Body.Close()
	total := resp.ContentLength
	switch {
	case resp.StatusCode == http.StatusOK: // from the start, whatever was asked for
		if err := out.Truncate(0); err != nil {
			return false, err
		}
		have = 0
	case resp.StatusCode == http.StatusPartialContent && have > 0:
		var first, last int64
		if n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &total); n != 3 || first != have {
			return false, restart(out, fmt.Errorf("%s: expected bytes from %d on, found Content-Range %q", f.URL, have, resp.Header.Get("Content-Range")))
		}
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && have > 0:
		if resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", have) {
			return true, nil
		}
		return false, restart(out, fmt.Errorf("%s has no byte %d", f.URL, have))
	default:
		status := &StatusError{URL: f.URL, Code: resp.StatusCode, Status: resp.Status, Header: resp.Header}
		if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout {
			return false, errCut{status}
		}
		return false, status
	}
	if f.Size > 0 && total > 0 && total != f.Size {
		return false, fmt.Errorf("%s: expected %d bytes, the server offers %d", f.URL, f.Size, total)
	}
	if total <= 0 {
		total = f.Size
	}
	have, err = g.copy(out, have, total, resp.Body, cancel, f)
	switch {
	case err != nil:
		return false, err
	case total > 0 && have < total:
		return false, errCut{fmt.Errorf("%s ended at byte %d of %d", f.URL, have, total)}
	case total > 0 && have > total:
		return false, restart(out, fmt.Errorf("%s sent more than its %d bytes", f.URL, total))
	}
	return true, nil
}

// copy appends the body to out and returns the length it has then. Errors of reading can be mended, errors of writing (a
// full disk) cannot.
func (g *Getter) copy(out *os.File, have, total int64, body io.Reader, cancel func(), f File) (int64, error) {
	idle := g.Idle
	if idle == 0 {
		idle = time.Minute
	}
	watch := time.AfterFunc(idle, cancel)
	defer watch.Stop()
	buffer := make([]byte, 1<<18)
	for {
		n, err := body.Read(buffer)
		watch.Reset(idle)
		if n > 0 {
			if _, err := out.WriteAt(buffer[:n], have); err != nil {
				return have, err
			}
			if have += int64(n); g.Progress != nil {
				g.Progress(f.Path, have, total)
			}
		}
		if err == io.EOF {
			return have, nil
		}
		if err != nil {
			return have, errCut{fmt.Errorf("%s broke off at byte %d: %w", f.URL, have, err)}
		}
	}
}

// restart empties the partial file, so that the next try begins anew.
func restart(out *os.File, why error) error {
	if err := out.Truncate(0); err != nil {
		return err
	}
	return errCut{why}
}

func (g *Getter) client() *http.Client {
	if g.HTTP != nil {
		return g.HTTP
	}
	return Client
}

// Client is what a Getter without one of its own uses: no limit on a whole transfer, which may take hours, but on the wait for an answer.
var Client = &http.Client{Transport: &http.Transport{
	Proxy:                 http.ProxyFromEnvironment,
	DialContext:           (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
	TLSHandshakeTimeout:   30 * time.Second,
	ResponseHeaderTimeout: 30 * time.Second,
	ForceAttemptHTTP2:     true,
}}

// Unreachable says whether err means that no server was reached at all: no network, a wrong address, a proxy.
func Unreachable(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.As(err, &op) && (op.Op == "dial" || strings.HasPrefix(op.Op, "proxy"))
}
