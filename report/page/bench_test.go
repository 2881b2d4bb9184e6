package page

import (
	"os"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/artifact/artifacttest"
)

// BenchmarkBuild makes the report of a run with 5,024 evaluation replies and 8,064 rollouts of about 800 characters, every one of them graded again.
// Goal: under 2 s and 500 MB.
func BenchmarkBuild(b *testing.B) {
	run := syntheticRun(b, artifacttest.Options{Preset: "qwen", Tasks: 157, Steps: 42})
	fsys := os.DirFS(run)
	rec, err := artifact.Load(fsys)
	if err != nil {
		b.Fatal(err)
	}
	replies, rollouts := 0, 0
	for _, e := range rec.Evals {
		replies += len(e.Replies)
	}
	for _, r := range rec.Runs {
		rollouts += len(r.Rollouts)
	}
	rec = nil
	b.ReportAllocs()
	for b.Loop() {
		files, err := Build(fsys, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(files["report.html"])), "html-bytes")
	}
	b.ReportMetric(float64(replies), "replies")
	b.ReportMetric(float64(rollouts), "rollouts")
}
