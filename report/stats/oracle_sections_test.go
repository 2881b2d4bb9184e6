package stats

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func contains(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

func num(t *testing.T, key string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(key, 64)
	if err != nil {
		t.Fatalf("key %q is not a number: unknown key", key)
	}
	return v
}

// each calls f for every key of a table from number to value.
func each(t *testing.T, m any, f func(x float64, value any) any) tree {
	out := tree{}
	for k, v := range m.(tree) {
		out[k] = f(num(t, k), v)
	}
	return out
}

func rows(m any, f func(row tree) tree) []any {
	var out []any
	for _, r := range m.([]any) {
		row := r.(tree)
		ours := f(row)
		out = append(out, ours)
	}
	return out
}

func knownInvariants(t *testing.T, want any) any {
	var names []any
	for _, inv := range invariants {
		names = append(names, inv.name)
	}
	return names
}

func oursQuantiles(t *testing.T, want any) any {
	q := want.(tree)
	return tree{
		"norm":  each(t, q["norm"], func(p float64, _ any) any { return normQuantile(p) }),
		"t_975": each(t, q["t_975"], func(df float64, _ any) any { return tUpper(0.05, df) }),
		"t_95":  each(t, q["t_95"], func(df float64, _ any) any { return tUpper(0.10, df) }),
		"chi2": each(t, q["chi2"], func(df float64, v any) any {
			return each(t, v, func(p float64, _ any) any { return chi2Quantile(p, df) })
		}),
		"F_cdf": rows(q["F_cdf"], func(r tree) tree {
			x, d1, d2 := r["x"].(float64), r["d1"].(float64), r["d2"].(float64)
			return tree{"x": x, "d1": d1, "d2": d2, "cdf": 1 - fUpper(x, d1, d2)}
		}),
		"t_cdf": rows(q["t_cdf"], func(r tree) tree {
			x, df := r["t"].(float64), r["df"].(float64)
			return tree{"t": x, "df": df, "cdf": distuv.StudentsT{Sigma: 1, Nu: df}.CDF(x)}
		}),
	}
}

func oursPassAtK(t *testing.T, want any) any {
	return rows(want, func(r tree) tree {
		n, c, k := r["n"].(float64), r["c"].(float64), r["k"].(float64)
		p, err := PassAtK(int(n), int(c), int(k))
		if err != nil {
			t.Error(err)
		}
		return tree{"n": n, "c": c, "k": k, "value": p}
	})
}

// outcomes reads "data": arm → runs → counts, all of S samples.
func outcomes(data any, samples int) Outcomes {
	var o Outcomes
	for _, run := range data.([]any) {
		var cells []Cell
		for _, c := range run.([]any) {
			cells = append(cells, Cell{int(c.(float64)), samples})
		}
		o = append(o, cells)
	}
	return o
}

func pair[S Scope](i Interval[S]) any {
	if !i.OK() {
		return nil
	}
	return []float64{i.Lo(), i.Hi()}
}

func oursEdge(t *testing.T, want any) any {
	out := tree{}
	for name, c := range want.(tree) {
		out[name] = oursCase(t, c.(tree))
	}
	return out
}

// oursCase analyses one data set of the oracle.
func oursCase(t *testing.T, want tree) tree {
	data, samples := want["data"].(tree), int(want["S"].(float64))
	a, b := outcomes(data["A"], samples), outcomes(data["B"], samples)
	c, err := Compare(a, b, 0.02)
	if err != nil {
		t.Fatal(err)
	}
	byArm := func(f func(Arm) any) tree { return tree{"A": f(c.A), "B": f(c.B)} }
	perm, err := PermuteRuns(c.A.RunMeans, c.B.RunMeans)
	if err != nil {
		t.Fatal(err)
	}
	half, unguarded := c.HalfBoth()
	alt := c.Alternatives(a.Rates(), b.Rates())
	got := tree{
		"n": c.Tasks, "S": c.Samples, "R": []int{c.A.Runs, c.B.Runs}, "rope": c.Margin,
		"run_means": byArm(func(a Arm) any { return a.RunMeans }), "arm_means": byArm(func(a Arm) any { return a.Mean }),
		"delta": c.Delta, "d": c.TaskDeltas, "S2_d": c.S2D, "V_task": c.VTask, "se_tasks": math.Sqrt(c.VTask),
		"ci_tasks": pair(c.CITasks), "p_tasks": c.PTasks,
		"e2_over_S":             byArm(func(a Arm) any { return a.Decode }),
		"decode_sd_of_run_mean": byArm(func(a Arm) any { return a.DecodeSD() }),
		"wins_losses_ties":      []int{c.Wins, c.Losses, c.Ties}, "sign_test_p": c.SignP,
		"pass_at_k": tree{"A": oursPassAtKOfArm(t, a), "B": oursPassAtKOfArm(t, b)},
		"run_sd":    byArm(func(a Arm) any { return a.RunSD() }), "S2_run": byArm(func(a Arm) any { return a.S2Run }),
		"S2_run_pooled": c.S2Run, "run_sd_pooled": c.RunSD, "df_runs": c.DFRuns,
		"MS_run_task": byArm(func(a Arm) any { return a.MSRT }), "MS_run_task_pooled": c.MSRT,
		"V_runs": c.VRuns, "V_int": c.VInt, "V_arm_task": c.VArmTask, "t_tasks": tUpper(alpha, float64(c.DFTasks)),
		"ci_runs": pair(c.CIRuns), "ci_both": pair(c.CIBoth), "ci90_both": pair(c.CI90),
		"half_both": half, "half_both_unguarded": unguarded, "p_both": c.PBoth,
		"ref_hillis":                tree{"df": alt.HillisDF, "se": alt.HillisSE, "ci": pair(alt.Hillis)},
		"ref_welch_runs":            tree{"df": alt.WelchDF, "ci": pair(alt.Welch)},
		"ref_paired_by_seed":        tree{"deltas": alt.PairedDeltas, "df": len(alt.PairedDeltas) - 1, "ci": pair(alt.Paired)},
		"ref_first_seed_pair":       tree{"delta": alt.FirstPairDelta, "ci_tasks": pair(alt.FirstPair)},
		"ref_quadrature_first_pair": tree{"ci": pair(alt.FirstPairAndRuns)},
		"components": tree{"sigma2_run": c.Components.Run, "sigma_run_trunc": c.Components.RunSD(), "sigma2_run_task": c.Components.RunTask,
			"sigma2_arm_task": c.Components.ArmTask, "decode_var_single_sample": c.Components.PerSample},
		"F_run":                 tree{"F": c.F.F, "df": []int{c.F.DF1, c.F.DF2}, "p": c.F.P},
		"sigma_runmean_ci95":    c.RunSDRange[:],
		"perm_runs":             tree{"p": perm.P, "arrangements": perm.Arrangements, "min_p": perm.MinP},
		"prob_improvement_runs": ProbImprovement(c.A.RunMeans, c.B.RunMeans),
		"verdict":               string(c.Verdict), "verdict_reason": c.Reason,
	}
	if c.DFRuns > 0 {
		got["t_runs"] = tUpper(alpha, float64(c.DFRuns))
	}
	p, exact := SignFlip(c.TaskDeltas, 7)
	if !exact {
		t.Error("the sign flip of a handful of tasks should be exact")
	}
	got["signflip_exact_p"] = p
	boot, err := Bootstrap(c.TaskDeltas, 2000, 7)
	if err != nil {
		t.Fatal(err)
	}
	got["bootstrap"] = tree{"B": 2000, "seed": 7, "percentile": pair(boot.Percentile), "z0": boot.Z0, "accel": boot.Accel,
		"bca": pair(boot.BCa), "boot_se": boot.SE, "first_3_replicates": boot.replicates[:3]}
	return tree{"data": data, "S": samples, "expected": got}
}

func oursPassAtKOfArm(t *testing.T, o Outcomes) tree {
	out := tree{}
	for _, k := range []int{1, 2, 4} {
		r, err := o.PassAtK(k)
		if err != nil {
			t.Fatal(err)
		}
		out[strconv.Itoa(k)] = newArm(r).Mean
	}
	return out
}

func oursProportions(t *testing.T, want any) any {
	two := func(lo, hi float64) any { return []float64{lo, hi} }
	return tree{
		"wilson_0_of_480":        two(Wilson(0, 480)),
		"wilson_78_of_120":       two(Wilson(78, 120)),
		"clopper_0_of_480":       two(ClopperPearson(0, 480)),
		"clopper_0_of_120_tasks": two(ClopperPearson(0, 120)),
		"clopper_78_of_120":      two(ClopperPearson(78, 120)),
		"rule_of_three_0_of_120": RuleOfThree(120),
		"beta_uniform_78_of_120": two(BetaUniform(78, 120)),
	}
}

func oursMcNemar(t *testing.T, want any) any {
	return rows(want, func(r tree) tree {
		b, c := r["b"].(float64), r["c"].(float64)
		return tree{"b": b, "c": c, "p": McNemar(int(b), int(c))}
	})
}

func oursMinP(t *testing.T, want any) any {
	m := want.(tree)
	return tree{
		"run_label_permutation": each(t, m["run_label_permutation"], func(r float64, _ any) any { return MinPermutationP(int(r), int(r)) }),
		"seed_pair_signflip":    each(t, m["seed_pair_signflip"], func(r float64, _ any) any { return MinSignFlipP(int(r)) }),
		"sign_test_unanimous":   each(t, m["sign_test_unanimous"], func(n float64, _ any) any { return SignTest(int(n), 0) }),
	}
}

func oursRunsTable(t *testing.T, want any) any {
	return rows(want, func(w tree) tree {
		r, err := NewRunsRow(int(w["R"].(float64)))
		if err != nil {
			t.Fatal(err)
		}
		return tree{"R": r.Runs, "df": r.DF, "t": r.T, "half_width_in_sd": r.Half, "lambda80": r.Lambda80, "mde80_in_sd": r.MDE80,
			"sd_ci_factor": r.SDFactor[:], "pair_by_seed_pays_if_corr_above": r.PairAbove}
	})
}

func oursTaskOnlyCoverage(t *testing.T, want any) any {
	return rows(want, func(w tree) tree {
		rho := w["rho"].(float64)
		return tree{"rho": rho, "coverage": TaskOnlyCoverage(rho)}
	})
}

func oursDesign(t *testing.T, want any) any {
	d := want.(tree)
	k := d["components"].(tree)
	p := Plan{RunSD: k["sigma_run"].(float64), ArmTaskSD: k["sigma_arm_task"].(float64), RunTaskSD: k["sigma_run_task"].(float64), PerSample: k["decode_var"].(float64)}
	return tree{
		"components": tree{"sigma_run": Assumed.RunSD, "sigma_arm_task": Assumed.ArmTaskSD, "sigma_run_task": Assumed.RunTaskSD, "decode_var": Assumed.PerSample},
		"rows": rows(d["rows"], func(w tree) tree {
			runs, tasks, samples := int(w["R"].(float64)), int(w["n"].(float64)), int(w["S"].(float64))
			r, err := Design{runs, runs, tasks, samples}.Resolve(p)
			if err != nil {
				t.Fatal(err)
			}
			return tree{"R": runs, "n": tasks, "S": samples, "sd_delta": r.SDDelta, "half_width_at_true_components": r.Half,
				"mde80": r.MDE80, "power_at_0.02": r.Power(0.02), "power_at_0.05": r.Power(0.05)}
		}),
	}
}

func oursBonferroni(t *testing.T, want any) any {
	return each(t, want, func(m float64, v any) any {
		return each(t, v, func(df float64, _ any) any { return BonferroniT(int(m), int(df)) })
	})
}
