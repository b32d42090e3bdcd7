// Command hello is the one program in the image gpunex/hello:1, which simulated hosts and tests run as a workload.
//
//	hello              a line each second until SIGTERM, then exit 0
//	hello sleep N      N seconds of the same, then exit 0
//	hello exit N       one line, then exit N
//	hello burst N      N lines at once, every tenth on stderr, then exit 0
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	verb, n := "", 0
	if len(args) > 0 {
		verb = args[0]
	}
	if len(args) > 1 {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "hello: not a number:", args[1])
			return 2
		}
	}
	switch verb {
	case "exit":
		fmt.Println("exiting with", n)
		return n
	case "burst":
		for i := range n {
			to := os.Stdout
			if i%10 == 9 {
				to = os.Stderr
			}
			fmt.Fprintln(to, "line", i)
		}
		return 0
	case "", "sleep":
		return tick(verb == "sleep", time.Duration(n)*time.Second)
	default:
		fmt.Fprintln(os.Stderr, "hello: unknown verb", verb)
		return 2
	}
}

// tick prints a line each second, until it is told to stop or its time is over.
func tick(ends bool, after time.Duration) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	every := time.NewTicker(time.Second)
	defer every.Stop()
	var over <-chan time.Time
	if ends {
		over = time.After(after)
	}
	for i := 0; ; i++ {
		fmt.Println("hello from GPUnex, line", i)
		select {
		case <-every.C:
		case <-over:
			fmt.Println("done")
			return 0
		case s := <-stop:
			fmt.Println("stopped by", s)
			return 0
		}
	}
}
