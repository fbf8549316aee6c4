// Reads manifests as kubectl does (cli-runtime pkg/resource/visitor.go, FileVisitor and
// StreamVisitor).
//
// Reads lines of JSON strings, each the text of a file, from standard input. Writes one line for
// each: {"values": [...]} with the documents that are not empty, or {"error": "..."}.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	if err := readAll(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func readAll(in io.Reader, out io.Writer) error {
	decoder, writer := json.NewDecoder(in), bufio.NewWriter(out)
	for {
		var text string
		if err := decoder.Decode(&text); errors.Is(err, io.EOF) {
			return writer.Flush()
		} else if err != nil {
			return err
		}
		writer.Write(answer(text))
		writer.WriteByte('\n')
	}
}

func answer(text string) []byte {
	values, err := documents(text)
	if err == nil {
		line, _ := json.Marshal(map[string][]json.RawMessage{"values": values})
		return line
	}
	line, _ := json.Marshal(map[string]string{"error": err.Error()})
	return line
}

func documents(text string) ([]json.RawMessage, error) {
	withoutMark := unicode.BOMOverride(unicode.UTF8.NewDecoder())
	decoder := yaml.NewYAMLOrJSONDecoder(transform.NewReader(strings.NewReader(text), withoutMark), 4096)
	values := []json.RawMessage{}
	for {
		var extension runtime.RawExtension
		if err := decoder.Decode(&extension); errors.Is(err, io.EOF) {
			return values, nil
		} else if err != nil {
			return nil, err
		}
		raw := bytes.TrimSpace(extension.Raw)
		if len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
			values = append(values, json.RawMessage(raw))
		}
	}
}
