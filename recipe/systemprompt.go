package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"teamtalk/recipe/experiment"
	"teamtalk/recipe/lab"
)

// systemPrompt adds to what o changes in the plan a system message of one's own, from ARM=FILE.
func systemPrompt(o *lab.Options, value string) error {
	arm, file, ok := strings.Cut(value, "=")
	if !ok || arm == "" || file == "" {
		return errors.New("expected ARM=FILE, such as recipe=pirate.txt")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	system := strings.TrimSpace(string(text))
	switch {
	case system == "":
		return fmt.Errorf("%s is empty: expected the system message", file)
	case !utf8.ValidString(system):
		return fmt.Errorf("%s is not UTF-8: expected the system message in that encoding", file)
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if !strings.HasSuffix(name, "prompt") {
		name += " prompt"
	}
	earlier := o.Change
	o.Change = func(p *experiment.Plan) error {
		if earlier != nil {
			if err := earlier(p); err != nil {
				return err
			}
		}
		for i := range p.Arms {
			if p.Arms[i].Name == arm {
				// Whether it asks for a conversation is not known, and the page says nothing that would follow from it.
				p.Arms[i].System, p.Arms[i].Prompt, p.Arms[i].Talk = system, name, false
				return nil
			}
		}
		_, err := p.Arm(arm) // says which there are
		return err
	}
	return nil
}
