// Reads manifests as kubectl does (cli-runtime pkg/resource/visitor.go, FileVisitor and
// StreamVisitor).
//
// Reads lines of JSON strings, each the text of a file, from standard input. Writes one line for
// each: {"values": [...]} with the documents that are not empty, or {"error": "..."}. An error is
// also a text of which kubectl silently ignores a part.
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

	goyaml "go.yaml.in/yaml/v2"
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
	if err == nil && !isJSON(text) {
		err = ignored(text)
	}
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

// isJSON reports whether a text is a stream of JSON values.
func isJSON(text string) bool {
	decoder := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	for {
		var value any
		if err := decoder.Decode(&value); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// ignored returns an error if kubectl ignores a part of a text. Of the text between two separators,
// it reads only the first document (sigs.k8s.io/yaml, Unmarshal). A line with too little indentation
// may end this document.
func ignored(text string) error {
	text = withoutIndentation(strings.TrimPrefix(text, "\ufeff"))
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		decoder := goyaml.NewDecoder(bytes.NewReader(part))
		var first, second any
		if err := decoder.Decode(&first); err != nil {
			continue // The document is empty, or it is JSON that is not YAML.
		}
		if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
			return errors.New("kubectl ignores a part of the text")
		}
	}
}

// withoutIndentation removes the white space that kubectl removes before a text that begins with a
// brace and is not JSON: to the end of the first line (apimachinery pkg/util/yaml/decoder.go,
// consumeWhitespace).
func withoutIndentation(text string) string {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	if !strings.HasPrefix(trimmed, "{") {
		return text
	}
	space := text[:len(text)-len(trimmed)]
	if line := strings.IndexByte(space, '\n'); line >= 0 {
		return text[line+1:]
	}
	return trimmed
}
