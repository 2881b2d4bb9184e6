package grader

import "strings"

const hashMarker = "####"

// readHash reads the last "####" line (the first one if first is set) that holds one number and nothing else. Markdown
// headings such as "#### 3. Add everything" are passed over; at most MaxHashMarkers markers are tried.
func readHash(text string, first bool) (found bool, rd reading) {
	begin, end := 0, len(text)
	for range MaxHashMarkers {
		var i int
		if first {
			if i = strings.Index(text[begin:], hashMarker); i >= 0 {
				i += begin
			}
		} else {
			i = lastHash(text[:end])
		}
		if i < 0 {
			return false, reading{}
		}
		if rd := readHashLine(text[i+len(hashMarker):]); rd.value != nil || decides(rd.reason) {
			return true, rd
		}
		begin, end = i+len(hashMarker), i
	}
	return false, reading{}
}

func readHashLine(s string) reading {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > 4*MaxSpan {
		return refuse(LimitSpan)
	}
	return readSpan(strings.TrimLeft(s, "#: \t"), true)
}

// decides reports the reasons of a line that is one number and still has no value: it settles the matter.
func decides(why Reason) bool {
	return why == LimitDigits || why == LimitExponent || why == ZeroDivision
}

// lastHash is strings.LastIndex of the marker, which is slower without a hit.
func lastHash(s string) int {
	for {
		i := strings.LastIndexByte(s, '#')
		if i < 0 {
			return -1
		}
		if strings.HasSuffix(s[:i+1], hashMarker) {
			return i + 1 - len(hashMarker)
		}
		s = s[:i]
	}
}
