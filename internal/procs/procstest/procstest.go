//go:build unix

// Package procstest is for tests that leave processes behind: Spawn starts helpers that stay, each in its own way, and
// Find finds them, alive or as zombies, whatever they have changed.
//
// The helpers are sh and sleep under another name. Find reads the table of processes and so works on Linux only. In the
// drawing it stands beside internal/mcptest.
package procstest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The ways in which a helper stays.
const (
	Plain    = "plain"    // a child
	Setsid   = "setsid"   // a child in a session of its own
	Daemon   = "daemon"   // in a session of its own, and its parent has ended
	Cleared  = "cleared"  // as Daemon, and with an empty environment
	Stubborn = "stubborn" // a child that ignores SIGTERM, SIGHUP and SIGINT
	Brood    = "brood"    // a child whose child has a child, and so on: Deep processes in all
	Relay    = "relay"    // Deep processes, each of which starts the next one and ends; only the last one stays
)

// All are all ways, Few those of one process each.
var (
	All = []string{Plain, Setsid, Daemon, Cleared, Stubborn, Brood, Relay}
	Few = []string{Plain, Setsid, Daemon, Cleared, Stubborn}
)

// Deep is the number of processes of Brood and Relay.
const Deep = 50

// Count is how many processes of the kinds stay.
func Count(kinds ...string) int {
	n := len(kinds)
	for _, kind := range kinds {
		if kind == Brood {
			n += Deep - 1
		}
	}
	return n
}

// scripts are what the shell does. $0 is sleep, $1 the shell, $2 the script, $3 a number of processes and $4 the list.
// Nobody's helper stays for longer than two minutes.
var scripts = map[string]string{
	Plain:    `echo $$ >>"$4"; exec "$0" 120`,
	Setsid:   `echo $$ >>"$4"; exec "$0" 120`,
	Daemon:   `"$0" 120 & echo $! >>"$4"`,
	Cleared:  `"$0" 120 & echo $! >>"$4"`,
	Stubborn: `trap "" TERM HUP INT; echo $$ >>"$4"; exec "$0" 120`,
	Brood:    `if [ $3 -gt 1 ]; then "$1" -c "$2" "$0" "$1" "$2" $(($3 - 1)) "$4" & fi; echo $$ >>"$4"; exec "$0" 120`,
	Relay:    `if [ $3 -gt 1 ]; then "$1" -c "$2" "$0" "$1" "$2" $(($3 - 1)) "$4" & exit; fi; echo $$ >>"$4"; exec "$0" 120`,
}

// Spawn starts one helper of each kind and returns when all of them are there and have written their numbers to the file
// list, one a line. The program that they run is named token, of at most 15 letters; it is put into new directories
// beside list.
func Spawn(token, list string, kinds ...string) error {
	var programs []string
	for _, name := range []string{"sleep", "sh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		// A link gives the process its name, which unlike all else it keeps as a zombie.
		link := filepath.Join(filepath.Dir(list), "procstest-"+name, token)
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			return err
		}
		if err := os.Symlink(path, link); err != nil && !os.IsExist(err) {
			return err
		}
		programs = append(programs, link)
	}
	sleep, sh := programs[0], programs[1]
	for _, kind := range kinds {
		c := exec.Command(sh, "-c", scripts[kind], sleep, sh, scripts[kind], strconv.Itoa(Deep), list)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: kind == Setsid || kind == Daemon || kind == Cleared}
		if kind == Cleared {
			c.Env = []string{}
		}
		if err := c.Start(); err != nil {
			return err
		}
		if kind == Daemon || kind == Cleared || kind == Relay {
			if err := c.Wait(); err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
		}
	}
	want := Count(kinds...)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if b, err := os.ReadFile(list); err == nil && bytes.Count(b, []byte("\n")) >= want {
			return nil
		}
	}
	b, err := os.ReadFile(list)
	return fmt.Errorf("helpers there: %q (%v), want %d", b, err, want)
}

// Find returns the living processes named token, with their command lines, and the numbers of the zombies.
func Find(token string) (alive, zombies []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(b), "(")
		i := strings.LastIndex(rest, ") ")
		if i < 0 || len(rest) < i+3 || rest[:i] != token {
			continue
		}
		pid := filepath.Base(filepath.Dir(path))
		if state := rest[i+2]; state == 'Z' || state == 'X' {
			zombies = append(zombies, pid)
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")) // it may have ended meanwhile
		alive = append(alive, fmt.Sprintf("%s %.100q", pid, line))
	}
	return alive, zombies
}

// End kills what Find finds.
func End(token string) {
	alive, _ := Find(token)
	for _, found := range alive {
		if pid, err := strconv.Atoi(strings.Fields(found)[0]); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
