package page

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"teamtalk/recipe/artifact/artifacttest"
	"teamtalk/report/figure"
)

func TestPageStructure(t *testing.T) {
	html := string(mustBuild(t, os.DirFS(syntheticRun(t, small())), Options{})["report.html"])
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if ids[m[1]] {
			t.Errorf("two elements have the id %q", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(` href="#([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if !ids[m[1]] {
			t.Errorf("a link leads to #%s, which is not there", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`aria-labelledby="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		for _, id := range strings.Fields(m[1]) {
			if !ids[id] {
				t.Errorf("something is labelled by %s, which is not there", id)
			}
		}
	}
	for _, table := range regexp.MustCompile(`(?s)<table.*?</table>`).FindAllString(html, -1) {
		if !strings.Contains(table, "<caption") || !strings.Contains(table, `scope="col"`) || !strings.Contains(table, `scope="row"`) {
			t.Errorf("a table without caption, column or row headers: %.200s", table)
		}
	}
	for _, svg := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(html, -1) {
		if !strings.Contains(svg, `role="img"`) || !strings.Contains(svg, "<title ") || !strings.Contains(svg, "<desc ") {
			t.Errorf("a figure without words: %.200s", svg)
		}
	}
	if n := strings.Count(html, "<figure"); n != 4 || strings.Count(html, "<figcaption>") != n {
		t.Errorf("%d figures", n)
	}
	for _, want := range []string{`<html lang="en">`, "<main", `class="skip"`, "prefers-color-scheme:dark", "@media print", "<noscript>", "<title>Synthetic. Mini run. Team talk"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	// The only addresses are links of the reference list and names of XML.
	for _, m := range regexp.MustCompile(`https?://[^"'< )]+`).FindAllString(html, -1) {
		if !strings.HasPrefix(m, "http://www.w3.org/") && !strings.HasPrefix(m, "https://arxiv.org/") {
			t.Errorf("the page holds the address %s", m)
		}
	}
	if regexp.MustCompile(` (src|srcset|action|formaction)=`).MatchString(html) {
		t.Error("something on the page loads or sends something")
	}
	for _, mark := range []rune{markOpen, markText, markClose, markDetails, markSummary, markEnd, markCite, markCiteEnd, markBrowser} {
		if strings.ContainsRune(html, mark) {
			t.Errorf("a mark %U is left in the page", mark)
		}
	}
}

// The policy lets exactly the page's own script run.
func TestPolicyNamesTheScript(t *testing.T) {
	html := string(mustBuild(t, os.DirFS(syntheticRun(t, small())), Options{})["report.html"])
	script := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindStringSubmatch(html)
	if script == nil {
		t.Fatal("no script")
	}
	sum := sha256.Sum256([]byte(script[1]))
	want := "script-src &#39;sha256-" + strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;") + "&#39;"
	if !strings.Contains(html, want) {
		t.Errorf("the policy does not hold %s: %s", want, regexp.MustCompile(`Content-Security-Policy" content="[^"]*"`).FindString(html))
	}
}

// Text of the page and of the figures has a contrast of at least 4.5 to 1 on every background it stands on, in both schemes (WCAG 2.1, 1.4.3).
func TestContrast(t *testing.T) {
	decl := regexp.MustCompile(`--([a-z0-9-]+):(#[0-9a-fA-F]{3,6})`)
	css := pageCSS + figure.CSS()
	dark := regexp.MustCompile(`(?s)@media \(prefers-color-scheme:dark\)\{:root\{(.*?)\}\}`)
	light := map[string]string{}
	for _, m := range decl.FindAllStringSubmatch(dark.ReplaceAllString(css[:strings.Index(css, "@media print")], ""), -1) {
		light[m[1]] = m[2]
	}
	for _, m := range decl.FindAllStringSubmatch(dark.ReplaceAllString(figure.CSS(), ""), -1) {
		light[m[1]] = m[2]
	}
	schemes := map[string]map[string]string{"light": light, "dark": {}}
	for _, block := range dark.FindAllStringSubmatch(css, -1) {
		for _, m := range decl.FindAllStringSubmatch(block[1], -1) {
			schemes["dark"][m[1]] = m[2]
		}
	}
	for name, c := range schemes {
		for _, pair := range [][2]string{{"ink", "bg"}, {"quiet", "bg"}, {"link", "bg"}, {"ink", "soft"}, {"quiet", "soft"}, {"link", "soft"}, {"ink", "talk"}, {"link", "talk"},
			{"good", "bg"}, {"bad", "bg"}, {"fig-ink", "bg"}, {"fig-quiet", "bg"}} {
			if r := contrast(t, c[pair[0]], c[pair[1]]); r < 4.5 {
				t.Errorf("%s: %s on %s has contrast %.2f", name, pair[0], pair[1], r)
			}
		}
		for _, graphic := range []string{"fig-base", "fig-arm0", "fig-arm1", "fig-arm2", "fig-arm3"} { // WCAG 1.4.11
			if r := contrast(t, c[graphic], c["bg"]); r < 3 {
				t.Errorf("%s: %s has contrast %.2f", name, graphic, r)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	lum := func(hex string) float64 {
		hex = strings.TrimPrefix(hex, "#")
		if len(hex) == 3 {
			hex = fmt.Sprintf("%c%c%c%c%c%c", hex[0], hex[0], hex[1], hex[1], hex[2], hex[2])
		}
		var sum float64
		for i, w := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
			if err != nil {
				t.Fatalf("colour %q: %v", hex, err)
			}
			v := float64(n) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += w * v
		}
		return sum
	}
	x, y := lum(a), lum(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestAFullRunStaysUnderThreeMegabytes(t *testing.T) {
	files := mustBuild(t, os.DirFS(syntheticRun(t, artifacttest.Options{Preset: "qwen", Steps: 2})), Options{})
	if n := len(files["report.html"]); n > 3<<20 {
		t.Errorf("report.html has %d bytes", n)
	}
	if strings.Contains(string(files["report.md"]), "Mini run") {
		t.Error("a qwen run is called a mini run")
	}
	for name, data := range files { // the simulated questions stand for those of somebody else's data set
		if strings.Contains(string(data), "How many") {
			t.Errorf("%s holds a question of the data set", name)
		}
	}
}

// When replies do not fit, the page says how many tasks are left out, and the file stays small.
func TestDataBudget(t *testing.T) {
	o := artifacttest.Options{Steps: 2}
	noise := make([]byte, 3*replyBytes/4)
	state := uint64(1)
	for range 24 {
		for i := range noise {
			state = state*6364136223846793005 + 1442695040888963407
			noise[i] = byte(state >> 56)
		}
		o.Hostile = append(o.Hostile, base64.StdEncoding.EncodeToString(noise))
	}
	html := string(mustBuild(t, os.DirFS(syntheticRun(t, o)), Options{})["report.html"])
	if len(html) > 3<<20 || !strings.Contains(html, "did not fit on this page") {
		t.Errorf("%d bytes, and a note about what is left out: %v", len(html), strings.Contains(html, "did not fit on this page"))
	}
}
