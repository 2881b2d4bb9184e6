// Package stats says how far the difference between two trained arms can be trusted.
//
// An arm is a training recipe. It was trained R times (runs, nested in the arm), every run answered the same n tasks S times
// each, and an answer is right or wrong. With y the share of right answers of one run on one task,
//
//	y[a][i][t] = arm + task + run + arm×task + run×task + decoding noise
//
// and D = mean of B − mean of A. Three claims can be made about D and each has its own interval, a Go type of its own:
//
//	Interval[Tasks]  ci_tasks  these trained models, new tasks           D ± t(n−1)·√V_task
//	Interval[Runs]   ci_runs   new training runs, these tasks            D ± t(ν)·√V_runs
//	Interval[Both]   ci_both   new training runs and new tasks           D ± max(√(t²(n−1)·V_at + t²(ν)·V_runs), t(n−1)·√V_task)
//
//	V_task = S²_d/n                        S²_d  = variance over tasks of d[t] = B's task mean − A's task mean
//	V_runs = S²_p·(1/R_A + 1/R_B)          S²_p  = variance of run means, pooled over the arms, ν = R_A + R_B − 2
//	V_int  = MS_rt·(1/R_A + 1/R_B)/n       MS_rt = run × task mean square, pooled over the arms
//	V_at   = max(V_task − V_int, 0)
//
// V_task + V_runs − V_int estimates Var(D) without bias: the noise of a run on a task is inside both of the first terms and is
// taken out once. Each term keeps the t quantile of its own degrees of freedom (the two-way layout is that of Hillis 2014 for
// readers nested in tests and crossed with cases, Statist. Med. 33:330, with readers = runs and cases = tasks; adding squared
// half-widths, each with its own quantile, is how Howe 1974, JASA 69:789, joins independent means). ci_both is never narrower
// than ci_tasks: two runs that happen to agree must not make the broader claim the more certain one. The verdict reads ci_both
// and nothing else.
//
// No spread between runs can be had from runs that are one: runs of an arm that are identical on every task, on more than a handful of
// tasks, are copies, and a comparison with such an arm is as one with a single run, without ci_runs and ci_both; so is one of arms that share
// such a run. Nor is there a ci_both
// where no two runs of an arm differ on any task, since it would be ci_tasks by another name. Run means that agree while tasks differ are
// sampling: there the term of the tasks holds what the runs vary by, and ci_both stands.
//
// All variances are of the difference on the scale of the rate (0 to 1). A number that cannot be estimated from the design is NaN
// in Go and null in JSON; an interval that cannot be given says why in words.
//
// Sums run in index order, random draws come from a seeded SplitMix64, and a product is rounded with float64() before it is added, so
// that no compiler fuses the two: the same input gives the same bytes. Between kinds of processor the last digit of a library function
// may differ, far below what text prints.
package stats
