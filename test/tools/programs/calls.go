// Goroutines that call C, which computes.
package main

/*
#include <stdio.h>
static volatile double sum;
static void compute(void) { for (int i = 0; i < 200000; i++) sum += i; }
static void print_from_c(void) { puts("from C"); fflush(stdout); }
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"time"
)

func main() {
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for begin := time.Now(); time.Since(begin) < 900*time.Millisecond; {
				C.compute()
			}
		})
	}
	group.Wait()
	C.print_from_c()
	fmt.Println("from Go")
	os.Exit(33)
}
