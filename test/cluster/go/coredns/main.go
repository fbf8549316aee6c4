// Command coredns runs the real CoreDNS (github.com/coredns/coredns's own packages) for tests, with
// only the plugins that the names of a cluster need: those for clouds are most of its build.
package main

import (
	"github.com/coredns/coredns/coremain"

	// Each of these registers one plugin, in the order of CoreDNS's own plugin.cfg.
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	coremain.Run()
}
