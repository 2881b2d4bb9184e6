// Package artifact is the only writer and the only reader of a run folder. The trainer and the evaluation write through it; the
// report, the notebooks and a resumed run read through it.
//
//	runs/NAME/
//	  experiment.json          the plan and its SHA-256 (recipe/experiment)
//	  env.json                 one session per process that conducted the run, its workers counted: versions, device, plugin, commit, commands;
//	                           and, once there was one, that there was a manifest
//	  ARM-SEED/config.json     the resolved configuration of one training run
//	  ARM-SEED/metrics.jsonl   one line per optimizer step, TRL's flat keys, null for a value that is not finite
//	  ARM-SEED/completions.jsonl.gz  one line per rollout, one gzip member per step
//	  ARM-SEED/checkpoint-N/   what the trainer needs to go on after step N
//	  ARM-SEED/final/          the adapter, in PEFT's format
//	  eval/MODEL-PROMPT.jsonl.gz     one line per reply; MODEL is "base" or ARM-SEED, PROMPT the arm whose system message was used
//	  eval/MODEL-PROMPT-test.jsonl.gz  the same on the whole test split, where the plan asks for it
//	  phases.jsonl             seconds, device seconds and peak memory per phase; of worker processes also which, and when
//	  checks.json              checks that only the trainer could make
//	  rounds.jsonl             the Climb ledger: what was changed between attempts, and what came out
//	  manifest.json            path, size and SHA-256 of every file above; its presence says that the run is complete
//
// Whole files are written beside their place, synced and renamed; logs are appended and synced once per step, and a line or member that a
// killed process left torn is recognised and cut when the run goes on. Nothing that exists is overwritten. Gzip streams carry no
// time, so that equal content is equal bytes.
//
// No file holds the text of a data set that is not this project's: tasks are named by index and SHA-256.
package artifact

// Version is the version of the folder's format, in every JSON file that is read as a whole.
const Version = 1

// Names of the files of a run folder.
const (
	ExperimentFile  = "experiment.json"
	EnvFile         = "env.json"
	ConfigFile      = "config.json"
	MetricsFile     = "metrics.jsonl"
	CompletionsFile = "completions.jsonl.gz"
	PhasesFile      = "phases.jsonl"
	ChecksFile      = "checks.json"
	RoundsFile      = "rounds.jsonl"
	ManifestFile    = "manifest.json"
	EvalDir         = "eval"
	FinalDir        = "final"
	ReportDir       = "report" // written by the report; not part of the manifest
)
