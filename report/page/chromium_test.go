//go:build chromium

// These tests drive the page in headless Chromium over its debugging pipe: apt-get install chromium, then go test -tags chromium ./report/page.
// With -shots DIR they leave screenshots to look at.
package page

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"teamtalk/recipe/artifact/artifacttest"
)

var shots = flag.String("shots", "", "folder for screenshots")

// tab is one page in a browser of its own.
type tab struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	id      int
	session string
	said    []string // console messages and log entries of the page
	loaded  []string // addresses that the page asked for
	ready   bool
}

func openTab(t *testing.T, url string) *tab {
	t.Helper()
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "chromium-profile-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+profile)
	cmd.ExtraFiles = []*os.File{in, out}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("chromium does not start: %v; install it with apt-get install chromium", err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its children too: they write to the profile
		cmd.Wait()
		for range 50 { // the last of them may still be going
			if err = os.RemoveAll(profile); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("the browser's profile stays: %v", err)
	})
	b := &tab{t: t, to: to, from: bufio.NewReaderSize(from, 1<<20)}
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	b.session = b.call("Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil)
	}
	b.goTo(url)
	return b
}

func (b *tab) goTo(url string) {
	b.ready = false
	r := b.call("Page.navigate", map[string]any{"url": url})
	if _, loads := r["loaderId"]; !loads {
		return // the same document at another fragment
	}
	for !b.ready {
		b.event(b.read())
	}
}

func (b *tab) read() map[string]any {
	raw, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("chromium is gone: %v", err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw[:len(raw)-1], &m); err != nil {
		b.t.Fatal(err)
	}
	return m
}

func (b *tab) event(m map[string]any) {
	p, _ := m["params"].(map[string]any)
	switch m["method"] {
	case "Page.loadEventFired":
		b.ready = true
	case "Runtime.consoleAPICalled", "Log.entryAdded", "Runtime.exceptionThrown":
		b.said = append(b.said, fmt.Sprint(p))
	case "Network.requestWillBeSent":
		b.loaded = append(b.loaded, fmt.Sprint(p["request"].(map[string]any)["url"]))
	}
}

func (b *tab) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.id++
	m := map[string]any{"id": b.id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	raw, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(raw, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		m := b.read()
		if id, ok := m["id"].(float64); ok && int(id) == b.id {
			if e, bad := m["error"]; bad {
				b.t.Fatalf("%s: %v", method, e)
			}
			return m["result"].(map[string]any)
		}
		b.event(m)
	}
}

// eval runs an expression in the page; promises are awaited.
func (b *tab) eval(expr string) any {
	b.t.Helper()
	r := b.call("Runtime.evaluate", map[string]any{"expression": expr, "awaitPromise": true, "returnByValue": true})
	if e, bad := r["exceptionDetails"]; bad {
		b.t.Fatalf("%s: %v", expr, e)
	}
	return r["result"].(map[string]any)["value"]
}

// until waits for an expression to become true.
func (b *tab) until(expr string) {
	b.t.Helper()
	for range 100 {
		if b.eval(expr) == true {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.t.Fatalf("never true: %s", expr)
}

func (b *tab) size(w, h int) {
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": w, "height": h, "deviceScaleFactor": 1, "mobile": w < 500})
}

func (b *tab) scheme(s string) {
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": s}}})
}

func (b *tab) shot(name string) {
	if *shots == "" {
		return
	}
	r := b.call("Page.captureScreenshot", map[string]any{"format": "png"})
	png, err := base64.StdEncoding.DecodeString(r["data"].(string))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func TestPageInChromium(t *testing.T) {
	run := syntheticRun(t, artifacttest.Options{Hostile: hostile, Steps: 8})
	files := mustBuild(t, os.DirFS(run), Options{})
	page := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(page, files["report.html"], 0o644); err != nil {
		t.Fatal(err)
	}
	b := openTab(t, "file://"+page)
	for _, w := range []int{1400, 1200, 1100, 800, 390, 320} {
		b.size(w, 900)
		for _, s := range []string{"light", "dark"} {
			b.scheme(s)
			if over := b.eval("document.documentElement.scrollWidth - innerWidth"); over.(float64) > 0 {
				t.Errorf("at %d pixels the page scrolls sideways by %v; widest: %v", w, over, b.eval(`[...document.querySelectorAll("main *")].filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map(e => e.tagName + "." + e.className + "#" + e.id).join(", ")`))
			}
			if cut := b.eval(`[...document.querySelectorAll("main figure > .scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).length`); cut != 0.0 {
				t.Errorf("at %d pixels %v figures are wider than their place", w, cut)
			}
			if cut := b.eval(`[...document.querySelectorAll("main > section > .scroll:not(.tall)")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute("aria-labelledby")).join(", ")`); w >= 1200 && cut != "" {
				t.Errorf("at %d pixels these tables have to be scrolled, though the margins are free: %v", w, cut)
			}
			for i, at := range []string{"h1", "#result", "#fig-curves", "#filters"} {
				b.eval(fmt.Sprintf("document.querySelector(%q).scrollIntoView()", at))
				b.shot(fmt.Sprintf("%d-%s-%d", w, s, i))
			}
		}
	}
	b.size(1100, 900)
	b.scheme("light")

	// Deep links open the task; the link of the first row opens it too.
	b.goTo("file://" + page + "#task-7")
	b.until(`document.querySelector("#replies h3")?.textContent === "Task 7" && document.querySelectorAll("#replies .reply").length === 32`)
	b.shot("task")
	b.eval(`document.querySelector("#task-3 a").click()`)
	b.until(`document.querySelector("#replies h3")?.textContent === "Task 3"`)
	if b.eval(`document.querySelectorAll("#replies .turn").length > 0`) != true {
		t.Error("no turn is highlighted in a task whose replies talk")
	}

	// Filters and sorting.
	won := b.eval(`document.querySelectorAll('#tasks tr[data-flip=won]').length`)
	b.eval(`(() => { const f = document.querySelector("#filters"); f.elements.flip.value = "won"; f.dispatchEvent(new Event("input")); })()`)
	if got := b.eval(`[...document.querySelectorAll("#tasks tbody tr")].filter(r => !r.hidden).length`); got != won || won == 0.0 {
		t.Errorf("the filter shows %v rows, %v were won", got, won)
	}
	b.eval(`(() => { const th = [...document.querySelectorAll("#tasks thead th")].find(h => h.textContent.includes("Difference")); th.querySelector("button").click(); })()`)
	if b.eval(`(() => { const ds = [...document.querySelectorAll("#tasks tbody tr")].filter(r => !r.hidden).map(r => Number(r.cells[r.cells.length - 4].textContent.replace("−", "-"))); return ds.every((d, i) => !i || ds[i-1] <= d); })()`) != true {
		t.Error("sorting by difference does not sort")
	}
	if b.eval(`document.querySelectorAll("#tasks th[aria-sort]").length`) != 1.0 {
		t.Error("expected one sorted column")
	}

	// What the hostile replies tried.
	b.goTo("file://" + page + "#task-0")
	b.until(`document.querySelectorAll("#replies .reply").length > 0`)
	if b.eval(`document.querySelectorAll("#replies script, #replies img, #replies iframe, #replies a").length`) != 0.0 || b.eval(`window.hacked === undefined`) != true {
		t.Error("a reply became part of the page")
	}
	for _, url := range b.loaded {
		if len(url) < 5 || url[:5] != "file:" && url != "about:blank" {
			t.Errorf("the page asked for %s", url)
		}
	}
	for _, s := range b.said {
		t.Errorf("the console says %s", s)
	}

	// On paper everything that is folded is there, and what only works on a screen is not.
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": "print", "features": []map[string]string{{"name": "prefers-color-scheme", "value": "dark"}}})
	if b.eval(`[...document.querySelectorAll("main details > :not(summary)")].every(e => e.getBoundingClientRect().height > 0)`) != true {
		t.Error("something folded stays folded on paper")
	}
	if b.eval(`["nav", "#filters", "#replies"].every(s => getComputedStyle(document.querySelector(s)).display === "none")`) != true {
		t.Error("controls are printed")
	}
	if got := b.eval(`getComputedStyle(document.body).backgroundColor`); got != "rgb(255, 255, 255)" {
		t.Errorf("the paper is %v", got)
	}
	b.eval(`document.querySelector("#result").scrollIntoView()`)
	b.shot("print")
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": "screen"})

	// Without scripts the page is all there, but for the replies.
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	b.goTo("about:blank")
	b.goTo("file://" + page)
	b.shot("noscript")
	r := b.call("DOM.getDocument", map[string]any{"depth": 0})
	root := r["root"].(map[string]any)["nodeId"]
	n := b.call("DOM.querySelectorAll", map[string]any{"nodeId": root, "selector": "#tasks tbody tr"})["nodeIds"].([]any)
	if len(n) != 120 {
		t.Errorf("without scripts the table of tasks has %d rows", len(n))
	}

	// Printing works, and opens what is folded.
	pdf := b.call("Page.printToPDF", map[string]any{"printBackground": true})
	if data, err := base64.StdEncoding.DecodeString(pdf["data"].(string)); err != nil || len(data) < 50_000 {
		t.Errorf("the printed page has %d bytes, error %v", len(data), err)
	} else if *shots != "" {
		os.WriteFile(filepath.Join(*shots, "print.pdf"), data, 0o644)
	}
}
