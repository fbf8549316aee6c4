// Applies JSON patches with the module that kube-apiserver uses
// (apiserver pkg/admission/plugin/webhook/mutating/dispatcher.go).
//
// Reads lines of {"object": ..., "patch": [...]} from standard input and writes one line for each:
// the patched object, or {"error": "..."}.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

type call struct {
	Object json.RawMessage `json:"object"`
	Patch  json.RawMessage `json:"patch"`
}

func main() {
	if err := applyAll(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func applyAll(in io.Reader, out io.Writer) error {
	reader, writer := bufio.NewReader(in), bufio.NewWriter(out)
	for {
		// A bufio.Scanner would limit the length of lines.
		line, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			writer.Write(answer(line))
			writer.WriteByte('\n')
		}
		if errors.Is(err, io.EOF) {
			return writer.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func answer(line []byte) []byte {
	patched, err := apply(line)
	if err == nil {
		return patched
	}
	sentence, _ := json.Marshal(map[string]string{"error": err.Error()})
	return sentence
}

// apply returns the patched object on one line.
func apply(line []byte) ([]byte, error) {
	var asked call
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(asked.Patch)
	if err != nil {
		return nil, err
	}
	patched, err := patch.Apply(asked.Object)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, patched); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}
