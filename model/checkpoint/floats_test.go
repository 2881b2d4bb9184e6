package checkpoint

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

func TestBF16(t *testing.T) {
	for _, c := range []struct {
		why  string
		in   uint32 // the bits of a float32
		want uint16
	}{
		{"exact", 0x3f800000, 0x3f80},
		{"below half goes down", 0x3f807fff, 0x3f80},
		{"above half goes up", 0x3f808001, 0x3f81},
		{"a tie goes to the even one below", 0x3f808000, 0x3f80},
		{"a tie goes to the even one above", 0x3f818000, 0x3f82},
		{"negative zero stays", 0x80000000, 0x8000},
		{"rounding carries into the exponent", 0x3fffffff, 0x4000},
		{"the largest float32 rounds to infinity", 0x7f7fffff, 0x7f80},
		{"infinity stays", 0xff800000, 0xff80},
		{"a NaN with a low payload stays a NaN", 0x7f800001, 0x7fc0},
		{"a subnormal rounds too", 0x00008001, 0x0001},
	} {
		if got := BF16(math.Float32frombits(c.in)); got != c.want {
			t.Errorf("%s: %#08x gives %#04x, want %#04x", c.why, c.in, got, c.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		x := math.Float32frombits(r.Uint32()&^0x80000000%0x7f000000 | r.Uint32()&0x80000000)
		b := BF16(x)
		dist := func(b uint16) float64 { return math.Abs(float64(F32(b)) - float64(x)) }
		if d := dist(b); d > dist(b-1) || d > dist(b+1) || (d == dist(b-1) || d == dist(b+1)) && b&1 == 1 {
			t.Fatalf("%g rounds to %g, which is not the nearest", x, F32(b))
		}
	}
}

// Every binary16 against its definition, IEEE 754 table 3.5.
func TestHalf(t *testing.T) {
	var b [2]byte
	for h := range 1 << 16 {
		binary.LittleEndian.PutUint16(b[:], uint16(h))
		sign, exp, man := 1-2*float64(h>>15), h>>10&31, float64(h&1023)
		want := sign * math.Ldexp(1+man/1024, exp-15)
		switch {
		case exp == 0:
			want = sign * math.Ldexp(man/1024, -14)
		case exp == 31 && man == 0:
			want = sign * math.Inf(1)
		case exp == 31:
			want = math.NaN()
		}
		got := half(b[:])
		if want != want && got == got || want == want && (float64(got) != want || math.Signbit(float64(got)) != (h>>15 == 1)) {
			t.Fatalf("half %#04x is %g, want %g", h, got, want)
		}
	}
}
