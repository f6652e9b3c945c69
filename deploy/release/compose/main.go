// compose-order FILE: reads a compose file as its users' program does (compose-go), and prints its services as JSON in
// the order in which they start, each after those that it depends on, with image, command, environment and volumes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/graph"
	"github.com/compose-spec/compose-go/v2/types"
)

type named struct {
	Name    string              `json:"name"`
	Service types.ServiceConfig `json:"service"`
}

func run(file string) error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithWorkingDirectory(filepath.Dir(file)), cli.WithOsEnv)
	if err != nil {
		return err
	}
	ctx := context.Background()
	project, err := options.LoadProject(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	services := []named{}
	// One at a time, so that the order is always the same.
	err = graph.InDependencyOrder(ctx, project, func(_ context.Context, name string, service types.ServiceConfig) error {
		mu.Lock()
		defer mu.Unlock()
		services = append(services, named{name, service})
		return nil
	}, graph.WithMaxConcurrency(1))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"name": project.Name, "services": services, "volumes": project.Volumes})
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: compose-order FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
