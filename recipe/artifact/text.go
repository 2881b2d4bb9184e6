package artifact

import (
	"path"
	"strings"
)

// Text is the form in which a reply is stored and graded: bytes that are not UTF-8 become U+FFFD, because JSON cannot hold them. Grade
// what is stored, or a second grading may differ.
func Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// CommandLine joins arguments for the record and leaves the folders of absolute paths out, so that an artifact does not name a
// machine. "/home/me/models/qwen" becomes "qwen".
func CommandLine(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		flag, value, ok := strings.Cut(a, "=")
		if !ok {
			flag, value = "", a
		} else {
			flag += "="
		}
		if strings.HasPrefix(value, "/") {
			value = path.Base(value)
		}
		if out[i] = flag + value; strings.ContainsAny(out[i], " \t\n\"'\\$`*?[](){}<>|&;~#!") {
			out[i] = "'" + strings.ReplaceAll(out[i], "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
