package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// process is a worker process as its coordinator sees it.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer   // closed when the worker's output has ended
	exited  chan struct{} // closed when it is gone
	how     string        // how it ended, once it is gone
	log     *workerLog
	watch   watch
	pulse   pulse
	hung    atomic.Bool // it was killed because it hung
}

// diedError says that a worker did not live to answer.
type diedError struct {
	how   string   // "signal: killed"
	lines []string // the last of its log
}

func (e *diedError) Error() string {
	if len(e.lines) == 0 {
		return e.how + ", having logged nothing"
	}
	return e.how + "; its last lines:\n  " + strings.Join(e.lines, "\n  ")
}

// startProcess starts a worker, whose log goes to log line by line after its name. A worker that hangs is killed, and log says so.
func startProcess(command []string, at place, log io.Writer, w watch) (*process, error) {
	p := &process{
		cmd: exec.Command(command[0], command[1:]...), answers: make(chan answer, 16), exited: make(chan struct{}),
		log: &workerLog{name: at.name, to: log}, watch: w.withDefaults(),
	}
	p.cmd.Env = append(os.Environ(), at.env...)
	p.cmd.Stderr = p.log
	p.cmd.WaitDelay = 5 * time.Second // a child of the worker's may hold its log open
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("worker process %s does not start: %w", at.name, err)
	}
	go p.read(out)
	go p.watchOver(p.watch.clock(p.cmd.Process.Pid, p.watch.silent/silentTicks))
	return p, nil
}

// watchOver kills the process when it hangs.
func (p *process) watchOver(ticks <-chan time.Time) {
	for {
		select {
		case <-p.exited:
			return
		case <-ticks:
			if p.pulse.tick() {
				fmt.Fprintf(p.log.to, "worker process %s has given no sign of life for %s: it is killed\n", p.log.name, p.watch.silent)
				p.hung.Store(true)
				_ = p.cmd.Process.Kill() // it may be gone
				return
			}
		}
	}
}

// read hands the answers on until there are no more, and sees the process end.
func (p *process) read(out io.Reader) {
	for d := json.NewDecoder(out); ; {
		var a answer
		err := d.Decode(&a)
		if err == nil {
			p.pulse.heard.Store(true)
			if !a.Alive {
				p.pulse.unread.Store(true)
				p.answers <- a
				p.pulse.unread.Store(false)
			}
			continue
		}
		if !errors.Is(err, io.EOF) { // it says what no worker says, or its output broke
			p.how = fmt.Sprintf("its answer cannot be read: %v", err)
			_ = p.cmd.Process.Kill() // it may be gone
		}
		break
	}
	// Without its output a worker is of no use; one that is ending has a moment for it.
	hang := time.AfterFunc(2*time.Second, func() { _ = p.cmd.Process.Kill() })
	err := p.cmd.Wait()
	hang.Stop()
	switch {
	case p.hung.Load():
		p.how = fmt.Sprintf("it hung: no sign of life for %s", p.watch.silent)
	case p.how != "":
	case err != nil:
		p.how = err.Error()
	default:
		p.how = "exit status 0"
	}
	close(p.exited)
	close(p.answers)
}

// ask gives an order and waits for the answer that ends it. When ctx is cancelled, the worker is told to stop and waited for.
func (p *process) ask(ctx context.Context, o order, told func(progress)) (ended, error) {
	if err := p.tell(o); err != nil {
		return ended{}, p.died()
	}
	cancelled := ctx.Done()
	for {
		select {
		case a, ok := <-p.answers:
			switch {
			case !ok:
				return ended{}, p.died()
			case a.Ended != nil:
				return *a.Ended, nil
			case a.Progress != nil && told != nil:
				told(*a.Progress)
			}
		case <-cancelled:
			cancelled = nil
			_ = p.tell(order{Stop: true}) // one that is gone cannot be told, and shows it
		}
	}
}

func (p *process) tell(o order) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = p.in.Write(append(line, '\n'))
	return err
}

// died waits for a process that no longer answers to be gone, and says how it went.
func (p *process) died() error {
	go func() {
		for range p.answers { // what it said before
		}
	}()
	<-p.exited
	return &diedError{p.how, p.log.last()}
}

// end tells a worker that it is needed no more and waits for it to be gone, which it is at the latest after patience.
func (p *process) end(patience time.Duration) {
	_ = p.in.Close() // it may be gone
	go func() {
		for range p.answers {
		}
	}()
	select {
	case <-p.exited:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// workerLog passes a worker's log on, each line whole and after the worker's name, and keeps its last lines.
type workerLog struct {
	name string
	to   io.Writer

	mu   sync.Mutex
	rest []byte
	kept []string
}

// keptLines is how many lines a dead worker is quoted with.
const keptLines = 10

func (w *workerLog) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		w.kept = append(w.kept, string(line))
		w.kept = w.kept[max(0, len(w.kept)-keptLines):]
		fmt.Fprintf(w.to, "[%s] %s\n", w.name, line)
		w.rest = bytes.Clone(rest)
	}
}

// last are the last lines, with one that broke off.
func (w *workerLog) last() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		return append(append([]string(nil), w.kept...), string(w.rest))
	}
	return append([]string(nil), w.kept...)
}

// wholeLines lets several write to one log.
type wholeLines struct {
	mu sync.Mutex
	to io.Writer
}

func (w *wholeLines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
