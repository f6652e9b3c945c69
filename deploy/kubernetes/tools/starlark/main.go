// starlark FILE: runs a Tiltfile with Tilt's builtins stubbed: its syntax, its names and the arguments it calls them with are
// checked, its effects are not. Prints how often each builtin was called.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"gopkg.in/yaml.v3"
)

// Keyword arguments that each builtin takes, as in Tilt's API reference.
var builtins = map[string][]string{
	"version_settings": {"constraint"},
	"local":            {"quiet"},
	"blob":             {},
	"k8s_yaml":         {},
	"local_resource":   {"cmd", "deps", "ignore", "labels", "auto_init", "trigger_mode", "resource_deps"},
	"docker_build":     {"dockerfile", "build_args", "live_update"},
	"fall_back_on":     {},
	"sync":             {},
	"helm":             {"name", "namespace", "values"},
	"k8s_resource":     {"labels", "resource_deps", "port_forwards"},
}

func main() {
	file := os.Args[1]
	calls := map[string]int{}
	names := starlark.StringDict{"TRIGGER_MODE_MANUAL": starlark.MakeInt(1)}
	for name, keywords := range builtins {
		names[name] = starlark.NewBuiltin(name, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			calls[b.Name()]++
			for _, pair := range kwargs {
				key, _ := starlark.AsString(pair[0])
				known := false
				for _, keyword := range keywords {
					known = known || keyword == key
				}
				if !known {
					return nil, fmt.Errorf("%s takes no argument %s", b.Name(), key)
				}
			}
			if b.Name() == "docker_build" || b.Name() == "k8s_yaml" {
				if path, ok := starlark.AsString(args[len(args)-1]); ok && filepath.Ext(path) == ".yaml" {
					if _, err := os.Stat(filepath.Join(filepath.Dir(file), path)); err != nil {
						return nil, err
					}
				}
			}
			return starlark.None, nil
		})
	}
	names["read_yaml"] = starlark.NewBuiltin("read_yaml", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		path, _ := starlark.AsString(args[0])
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), path))
		if err != nil {
			return nil, err
		}
		var content map[string]any
		if err := yaml.Unmarshal(text, &content); err != nil {
			return nil, err
		}
		return value(content), nil
	})
	options := &syntax.FileOptions{TopLevelControl: true, GlobalReassign: true}
	if _, err := starlark.ExecFileOptions(options, &starlark.Thread{Name: "tilt"}, file, nil, names); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	called := []string{}
	for name, count := range calls {
		called = append(called, fmt.Sprintf("%s %d", name, count))
	}
	sort.Strings(called)
	fmt.Println("Tiltfile (builtins stubbed):", called)
}

func value(from any) starlark.Value {
	switch v := from.(type) {
	case map[string]any:
		dict := starlark.NewDict(len(v))
		for key, inner := range v {
			_ = dict.SetKey(starlark.String(key), value(inner))
		}
		return dict
	case string:
		return starlark.String(v)
	default:
		return starlark.None
	}
}
