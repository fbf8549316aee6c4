// Goroutines that compute and are preempted, signals, a child, and an exit code.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

func compute(seed uint64) uint64 {
	for number := uint64(0); number < 100_000; number++ {
		seed = seed*31 + number
	}
	return seed
}

func main() {
	var group sync.WaitGroup
	results := make([]uint64, 4)
	for at := range results {
		group.Go(func() {
			for begin := time.Now(); time.Since(begin) < 900*time.Millisecond; {
				compute(uint64(at))
			}
			results[at] = compute(uint64(at))
		})
	}
	for range 10 {
		runtime.GC()
	}
	group.Wait()
	fmt.Println(results)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println(<-signals)
	output, err := exec.Command("sh", "-c", "echo child; exit 8").CombinedOutput()
	fmt.Fprintf(os.Stderr, "%s%v\n", output, err)
	os.Exit(32)
}
