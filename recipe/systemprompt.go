package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	if system == "" {
		return fmt.Errorf("%s is empty: expected the system message", file)
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
				p.Arms[i].System, p.Arms[i].Prompt = system, name
				return nil
			}
		}
		_, err := p.Arm(arm) // says which there are
		return err
	}
	return nil
}
