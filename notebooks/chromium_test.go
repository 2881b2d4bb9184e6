//go:build chromium

// These tests look at the exported notebooks in headless Chromium: apt-get install chromium, then
// go test -tags chromium ./notebooks -run Chromium. With -shots DIR they leave screenshots to look at.
package notebooks_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var shots = flag.String("shots", "", "folder for screenshots")

// probe says, in the page's title, how many pictures it has, how many of them are broken, and what it asked other servers for.
const probe = `<script>addEventListener("load", () => {
	const all = [...document.images], broken = all.filter(i => !i.complete || i.naturalWidth == 0);
	const asked = performance.getEntriesByType("resource").filter(e => !e.name.startsWith("data:")).map(e => e.name);
	document.title = "probe " + all.length + " " + broken.length + " [" + asked + "] " + (document.body.scrollWidth > innerWidth);
})</script>`

func TestInChromium(t *testing.T) {
	need(t)
	for _, theme := range []string{"light", "dark"} {
		dir := export(t, theme)
		for _, name := range names {
			t.Run(theme+" "+name, func(t *testing.T) {
				path := filepath.Join(dir, name+".html")
				page, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				probed := filepath.Join(dir, "probed.html")
				if err := os.WriteFile(probed, append(page, probe...), 0o644); err != nil {
					t.Fatal(err)
				}
				dom := chromium(t, theme, "--dump-dom", "--window-size=1000,900", "file://"+probed)
				got := regexp.MustCompile(`<title>(probe .*?)</title>`).FindStringSubmatch(dom)
				want := fmt.Sprintf("probe %d 0 [] false", promises[name].figures)
				if got == nil || got[1] != want {
					t.Errorf("found %q, want %q: pictures, broken ones, requests, too wide", got, want)
				}
				if *shots != "" {
					chromium(t, theme, "--screenshot="+filepath.Join(*shots, name+"-"+theme+".png"), "--window-size=1000,7500", "file://"+path)
				}
			})
		}
	}
}

// chromium runs it once, for a reader whose system is light or dark, and returns what it prints.
func chromium(t *testing.T, theme string, args ...string) string {
	t.Helper()
	dark := map[string]string{"light": "1", "dark": "0"}[theme]
	c := exec.Command("chromium", append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--blink-settings=preferredColorScheme=" + dark, "--user-data-dir=" + t.TempDir()}, args...)...)
	var says strings.Builder
	c.Stderr = &says
	out, err := c.Output()
	if err != nil {
		t.Fatalf("chromium: %v; install it with apt-get install chromium\n%s", err, says.String())
	}
	return string(out)
}
