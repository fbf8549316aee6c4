// Evaluates the validations of a ValidatingAdmissionPolicy for pods, with the CEL environment of
// kube-apiserver (apiserver pkg/admission/plugin/policy/validating/plugin.go, compilePolicy).
//
// The first argument is a file with the policy's spec in JSON. Reads lines of {"object": ...,
// "namespaceObject": ...} from standard input and writes one line for each: a list with a message
// for each validation that fails, or with an error.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

type expression struct {
	Name              string `json:"name"`
	Expression        string `json:"expression"`
	MessageExpression string `json:"messageExpression"`
	Message           string `json:"message"`
	program, message  cel.Program
}

type policy struct {
	MatchConditions []*expression `json:"matchConditions"`
	Variables       []*expression `json:"variables"`
	Validations     []*expression `json:"validations"`
}

func main() {
	guard, err := readPolicy(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := guard.validateAll(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func readPolicy(file string) (*policy, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var read policy
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, err
	}
	env, err := newEnvironment()
	if err != nil {
		return nil, err
	}
	for _, list := range [][]*expression{read.MatchConditions, read.Variables, read.Validations} {
		for _, each := range list {
			if each.program, err = compile(env, each.Expression); err != nil {
				return nil, err
			}
			if each.MessageExpression == "" {
				continue
			}
			if each.message, err = compile(env, each.MessageExpression); err != nil {
				return nil, err
			}
		}
	}
	return &read, nil
}

// newEnvironment returns the environment in which the oldest supported version of Kubernetes checks
// a new policy.
func newEnvironment() (*cel.Env, error) {
	set, err := environment.MustBaseEnvSet(version.MajorMinor(1, 30)).Extend(
		environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0),
			EnvOptions: []cel.EnvOption{
				cel.Variable("object", cel.DynType),
				cel.Variable("namespaceObject", cel.DynType),
				cel.Variable("variables", cel.MapType(cel.StringType, cel.DynType)),
			},
		})
	if err != nil {
		return nil, err
	}
	return set.Env(environment.NewExpressions)
}

func compile(env *cel.Env, text string) (cel.Program, error) {
	ast, issues := env.Compile(text)
	if issues != nil && issues.Err() != nil {
		return nil, fmt.Errorf("%s: %w", text, issues.Err())
	}
	return env.Program(ast)
}

func (guard *policy) validateAll(in io.Reader, out io.Writer) error {
	reader, writer := bufio.NewReader(in), bufio.NewWriter(out)
	for {
		// A bufio.Scanner would limit the length of lines.
		line, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			answer, err := json.Marshal(guard.validate(line))
			if err != nil {
				return err
			}
			writer.Write(append(answer, '\n'))
		}
		if errors.Is(err, io.EOF) {
			return writer.Flush()
		}
		if err != nil {
			return err
		}
	}
}

// validate returns the messages of the validations that fail. An error counts as a failure, which
// the apiserver would ignore.
func (guard *policy) validate(line []byte) []string {
	messages := []string{}
	var input map[string]any
	if err := json.Unmarshal(line, &input); err != nil {
		return append(messages, err.Error())
	}
	variables := map[string]any{}
	input["variables"] = variables
	for _, condition := range guard.MatchConditions {
		matches, _, err := condition.program.Eval(input)
		if err != nil {
			return append(messages, "error in "+condition.Name+": "+err.Error())
		}
		if matches != types.True {
			return messages
		}
	}
	for _, variable := range guard.Variables {
		value, _, err := variable.program.Eval(input)
		if err != nil {
			return append(messages, "error in "+variable.Name+": "+err.Error())
		}
		variables[variable.Name] = value
	}
	for _, validation := range guard.Validations {
		isValid, _, err := validation.program.Eval(input)
		if err != nil {
			messages = append(messages, "error: "+err.Error())
		} else if isValid != types.True {
			messages = append(messages, validation.messageFor(input))
		}
	}
	return messages
}

func (validation *expression) messageFor(input map[string]any) string {
	if validation.message == nil {
		return validation.Message
	}
	message, _, err := validation.message.Eval(input)
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprint(message.Value())
}
