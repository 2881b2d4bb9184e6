package page

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tableast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Entry is a line of the table of contents.
type Entry struct {
	ID, Text string
	Sub      bool
}

// renderMarkdown converts the marked Markdown: goldmark with tables, without raw HTML and without turning addresses into links. The paragraph before a table becomes
// its caption, an image becomes the figure's SVG with its caption and its data, headings get permalinks, and second-level headings open
// sections.
func (r *writer) renderMarkdown(marked string) (string, []Entry, error) {
	out := &elements{page: r}
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(captions{}, 100))),
	)
	md.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(out, 100)))
	var b bytes.Buffer
	if err := md.Convert([]byte(marked), &b); err != nil {
		return "", nil, fmt.Errorf("page: %w", err)
	}
	if out.err != nil {
		return "", nil, out.err
	}
	if out.open {
		b.WriteString("</section>\n")
	}
	return b.String(), out.toc, nil
}

// caption is the paragraph that goldmark found before a table, now inside it.
type caption struct {
	ast.BaseBlock
	number string
}

var kindCaption = ast.NewNodeKind("Caption")

func (c *caption) Kind() ast.NodeKind            { return kindCaption }
func (c *caption) Dump(source []byte, level int) { ast.DumpHelper(c, source, level, nil, nil) }

// illustration is an image paragraph together with the caption paragraph after it.
type illustration struct {
	ast.BaseBlock
	id string
}

var kindIllustration = ast.NewNodeKind("Illustration")

func (f *illustration) Kind() ast.NodeKind            { return kindIllustration }
func (f *illustration) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// captions moves captions to what they describe.
type captions struct{}

func (captions) Transform(doc *ast.Document, reader text.Reader, pc parser.Context) {
	source := reader.Source()
	for n := doc.FirstChild(); n != nil; {
		next := n.NextSibling()
		switch {
		case n.Kind() == tableast.KindTable:
			if p := n.PreviousSibling(); p != nil && p.Kind() == ast.KindParagraph && strings.HasPrefix(leading(p, source), "Table ") {
				c := &caption{number: strings.Trim(strings.TrimPrefix(leading(p, source), "Table "), ". ")}
				adopt(c, p)
				doc.RemoveChild(doc, p)
				n.InsertBefore(n, n.FirstChild(), c)
			}
		case n.Kind() == ast.KindParagraph && n.ChildCount() == 1 && n.FirstChild().Kind() == ast.KindImage:
			img := n.FirstChild().(*ast.Image)
			id, ok := strings.CutPrefix(string(img.Destination), "figures/")
			if p := n.NextSibling(); ok && p != nil && p.Kind() == ast.KindParagraph && strings.HasPrefix(leading(p, source), "Figure ") {
				f := &illustration{id: strings.TrimSuffix(id, ".svg")}
				next = p.NextSibling()
				adopt(f, p)
				doc.RemoveChild(doc, p)
				doc.ReplaceChild(doc, n, f)
			}
		}
		n = next
	}
}

// leading is the text of a paragraph's bold beginning.
func leading(p ast.Node, source []byte) string {
	e, ok := p.FirstChild().(*ast.Emphasis)
	if !ok || e.Level != 2 {
		return ""
	}
	t, ok := e.FirstChild().(*ast.Text)
	if !ok {
		return ""
	}
	return string(t.Segment.Value(source))
}

func adopt(to, from ast.Node) {
	for c := from.FirstChild(); c != nil; {
		next := c.NextSibling()
		to.AppendChild(to, c)
		c = next
	}
}

// elements renders what goldmark's own renderer has no element for.
type elements struct {
	page   *writer
	toc    []Entry
	open   bool // a section is open
	tables int
	refs   bool // inside References
	ref    int
	err    error
}

func (e *elements) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHeading, e.heading)
	reg.Register(ast.KindListItem, e.listItem)
	reg.Register(tableast.KindTable, e.table)
	reg.Register(tableast.KindTableCell, e.cell)
	reg.Register(kindCaption, e.caption)
	reg.Register(kindIllustration, e.illustration)
}

func (e *elements) heading(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading)
	idAttr, _ := h.AttributeString("id")
	id, _ := idAttr.([]byte)
	if !entering {
		if h.Level > 1 {
			fmt.Fprintf(w, ` <a class="permalink" href="#%s" aria-label="Link to this section">¶</a>`, html.EscapeString(string(id)))
		}
		fmt.Fprintf(w, "</h%d>\n", h.Level)
		return ast.WalkContinue, nil
	}
	if h.Level == 2 {
		if e.open {
			w.WriteString("</section>\n")
		}
		fmt.Fprintf(w, "<section aria-labelledby=\"%s\">\n", html.EscapeString(string(id)))
		e.open = true
	}
	title := string(h.Lines().Value(source))
	e.refs = title == "References"
	if h.Level > 1 {
		e.toc = append(e.toc, Entry{ID: string(id), Text: title, Sub: h.Level > 2})
	}
	fmt.Fprintf(w, "<h%d id=\"%s\">", h.Level, html.EscapeString(string(id)))
	return ast.WalkContinue, nil
}

func (e *elements) listItem(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	switch {
	case !entering:
		w.WriteString("</li>\n")
	case e.refs:
		e.ref++
		fmt.Fprintf(w, "<li id=\"ref-%d\">", e.ref)
	default:
		w.WriteString("<li>")
	}
	return ast.WalkContinue, nil
}

func (e *elements) table(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		w.WriteString("</table></div>\n")
		return ast.WalkContinue, nil
	}
	e.tables++
	c, ok := n.FirstChild().(*caption)
	if !ok {
		e.err = fmt.Errorf("page: table %d has no caption", e.tables)
		return ast.WalkStop, nil
	}
	fmt.Fprintf(w, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"table-%s\"><table>\n", html.EscapeString(c.number))
	return ast.WalkContinue, nil
}

func (e *elements) caption(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		fmt.Fprintf(w, "<caption id=\"table-%s\"><span class=\"cap\">", html.EscapeString(n.(*caption).number))
	} else {
		w.WriteString("</span></caption>\n")
	}
	return ast.WalkContinue, nil
}

// cell gives header cells a scope, makes the first cell of a row its header, and aligns by class.
func (e *elements) cell(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	c := n.(*tableast.TableCell)
	tag, attr := "td", ""
	if c.Parent().Kind() == tableast.KindTableHeader {
		tag, attr = "th", ` scope="col"`
	} else if c.PreviousSibling() == nil {
		tag, attr = "th", ` scope="row"`
	}
	if !entering {
		w.WriteString("</" + tag + ">\n")
		return ast.WalkContinue, nil
	}
	if c.Alignment == tableast.AlignRight {
		attr += ` class="r"`
	}
	w.WriteString("<" + tag + attr + ">")
	return ast.WalkContinue, nil
}

// illustration writes the drawing, the caption that follows as children, and the data.
func (e *elements) illustration(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	id := n.(*illustration).id
	f, ok := e.page.figs[id]
	if !ok {
		e.err = fmt.Errorf("page: no figure is called %q", id)
		return ast.WalkStop, nil
	}
	if entering {
		fmt.Fprintf(w, "<figure id=\"%s\"><div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"%s\">\n%s\n</div>\n<figcaption>", html.EscapeString(id), html.EscapeString(f.Title), f.SVG)
		return ast.WalkContinue, nil
	}
	fmt.Fprintf(w, "</figcaption>\n<details><summary>Data of this figure</summary><p>%s</p><div class=\"scroll\"><table><caption><span class=\"cap\">%s</span></caption><thead><tr>", html.EscapeString(f.Desc), html.EscapeString(f.Title))
	for i, row := range f.Data {
		if i == 1 {
			w.WriteString("</tr></thead><tbody>")
		}
		if i > 0 {
			w.WriteString("<tr>")
		}
		for j, cell := range row {
			switch {
			case i == 0:
				fmt.Fprintf(w, "<th scope=\"col\">%s</th>", html.EscapeString(cell))
			case j == 0:
				fmt.Fprintf(w, "<th scope=\"row\">%s</th>", html.EscapeString(cell))
			default:
				fmt.Fprintf(w, "<td>%s</td>", html.EscapeString(cell))
			}
		}
		w.WriteString("</tr>")
	}
	w.WriteString("</tbody></table></div></details></figure>\n")
	return ast.WalkContinue, nil
}
