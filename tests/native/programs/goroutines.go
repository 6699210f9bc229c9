// SPDX-License-Identifier: MIT

// goroutines makes system calls in many goroutines. It waits for a byte on its standard input
// before and after, and prints a line between. Its exit status is 7.
package main

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

const routines, turns = 200, 20

func work(number int, results chan<- int) {
	sum, buffer := 0, make([]byte, 1)
	for i := 0; i < turns; i++ {
		syscall.Getppid()
		file, err := os.Open("/dev/zero")
		if err != nil {
			panic(err)
		}
		if _, err = file.Read(buffer); err != nil {
			panic(err)
		}
		file.Close()
		if i%5 == 0 {
			time.Sleep(time.Microsecond)
		}
		sum += i*number + int(buffer[0])
	}
	results <- sum
}

func main() {
	var all sync.WaitGroup
	byte1, results, sum := make([]byte, 1), make(chan int, routines), 0
	if n, _ := os.Stdin.Read(byte1); n != 1 {
		os.Exit(1)
	}
	for i := 1; i <= routines; i++ {
		all.Add(1)
		go func(number int) {
			defer all.Done()
			work(number, results)
		}(i)
	}
	all.Wait()
	close(results)
	for result := range results {
		sum += result
	}
	fmt.Println("sum", sum)
	if n, _ := os.Stdin.Read(byte1); n != 1 {
		os.Exit(1)
	}
	os.Exit(7)
}
