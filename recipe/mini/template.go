package mini

// The words that fill a template.
var (
	names      = []string{"Ada", "Bea", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "June", "Lina", "Milo", "Nora", "Otto", "Pia", "Rolf"}
	objects    = []string{"balls", "beads", "cakes", "cups", "nuts", "pears", "plums", "rings", "rocks", "seeds"}
	containers = []string{"bowls", "carts", "crates", "sacks"}
)

// variables are the numbers of a template by name, with the range each is drawn from, in the order they are drawn.
var variables = []struct {
	name   string
	lo, hi int
}{
	{"a", 10, 60},
	{"b", 2, 20}, {"c", 2, 20}, {"d", 2, 20},
	{"e", 2, 9},
	{"f", 2, 9}, {"g", 2, 9}, {"h", 2, 9}, {"k", 2, 9},
	{"s", 5, 30},
}

// maxResult bounds the result of every step; the least is 1.
const maxResult = 99

// template is a problem with holes. In text, {n} and {m} are two names, {o} is an object, {ps} a container in the plural
// and any other brace a variable.
type template struct {
	text    string
	program []operation
}

// operation is one step: x op y. An operand is a variable, the result of an earlier step (r1, r2, ..) or a constant.
type operation struct {
	op   byte // '+', '-' or '*'
	x, y string
}

// templates hold ten programs of two steps, eight of three and two of four.
var templates = []template{
	{"{n} starts with {a} {o} and {m} adds {b} more. Then {c} of them break. How many {o} does {n} have now?",
		[]operation{{'+', "a", "b"}, {'-', "r1", "c"}}},
	{"Out of {a} {o}, {n} lends {b} to {m}. On the way home {n} gets {c} more. How many {o} does {n} have?",
		[]operation{{'-', "a", "b"}, {'+', "r1", "c"}}},
	{"{n} pulls {f} {ps}, each with {g} {o} in it. On the way {c} {o} fall out. How many {o} are still in the {ps}?",
		[]operation{{'*', "f", "g"}, {'-', "r1", "c"}}},
	{"In the hall are {f} {ps}, each with {g} {o} in it, and {c} {o} on the table. How many {o} are in the hall?",
		[]operation{{'*', "f", "g"}, {'+', "r1", "c"}}},
	{"Of the {a} {o} on the table, {b} go to {n} and {c} go to {m}. How many {o} are still on the table?",
		[]operation{{'-', "a", "b"}, {'-', "r1", "c"}}},
	{"{n} counts {a} {o} in the hall, {b} in the garden and {c} in the street. How many {o} is that?",
		[]operation{{'+', "a", "b"}, {'+', "r1", "c"}}},
	{"{n} owns {a} {o}, and {m} owns {b} more than that. How many {o} do the two own?",
		[]operation{{'+', "a", "b"}, {'+', "a", "r1"}}},
	{"{n} owns {a} {o}, and {m} owns {b} less than that. How many {o} do the two own?",
		[]operation{{'-', "a", "b"}, {'+', "a", "r1"}}},
	{"With {a} {o} on the table, {n} brings in {f} {ps} of {g} {o}, and {m} then takes {c} out. How many {o} are there now?",
		[]operation{{'*', "f", "g"}, {'+', "a", "r1"}, {'-', "r2", "c"}}},
	{"{n} fills {f} {ps} with {g} {o} each, and {m} fills {h} {ps} with {k} {o} each. How many {o} is that?",
		[]operation{{'*', "f", "g"}, {'*', "h", "k"}, {'+', "r1", "r2"}}},
	{"In the morning {n} owns {a} {o}. By night {b} came in, {c} went out and {d} came in. How many {o} does {n} own now?",
		[]operation{{'+', "a", "b"}, {'-', "r1", "c"}, {'+', "r2", "d"}}},
	{"On the lake are {a} ducks. First {b} fly off, then {c} land, then {d} fly off. How many ducks are on the lake now?",
		[]operation{{'-', "a", "b"}, {'+', "r1", "c"}, {'-', "r2", "d"}}},
	{"Every day for {g} days {n} paints {f} {o}. Of these, {m} takes {c}, and {n} then paints {d} more. How many {o} does {n} have?",
		[]operation{{'*', "f", "g"}, {'-', "r1", "c"}, {'+', "r2", "d"}}},
	{"{n} starts with {s} {o}, and {m} with two times that. Then {e} of those {m} owns break. How many {o} does {m} have now?",
		[]operation{{'*', "s", "2"}, {'-', "r1", "e"}}},
	{"{n} brings {s} {o}, {m} brings {e}, and a friend as many as the two of them. How many {o} is that?",
		[]operation{{'+', "s", "e"}, {'*', "r1", "2"}}},
	{"In the garden are {f} rows of {g} trees. In a storm {b} fall. Then {n} plants {c} and {m} plants {d}. How many trees are there now?",
		[]operation{{'*', "f", "g"}, {'-', "r1", "b"}, {'+', "r2", "c"}, {'+', "r3", "d"}}},
	{"Up the hill {n} takes {a} steps, then {b}, then {c}, then {d}. How many steps is that?",
		[]operation{{'+', "a", "b"}, {'+', "r1", "c"}, {'+', "r2", "d"}}},
	{"Out of {a} coins, {n} pays for {f} {o} at {g} coins each. Then {m} hands {n} {c} coins. How many coins does {n} have?",
		[]operation{{'*', "f", "g"}, {'-', "a", "r1"}, {'+', "r2", "c"}}},
	{"{n} fills {f} {ps} with {g} {o} each. Then {b} break, {m} adds {c} and a friend takes {d}. How many {o} are there now?",
		[]operation{{'*', "f", "g"}, {'-', "r1", "b"}, {'+', "r2", "c"}, {'-', "r3", "d"}}},
	{"{n} and {m} start with {s} {o} each. Then {n} gets {b} more, and {e} of those {m} owns break. How many {o} do the two have now?",
		[]operation{{'*', "s", "2"}, {'+', "r1", "b"}, {'-', "r2", "e"}}},
}
