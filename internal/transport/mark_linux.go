package transport

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// markName is the environment variable that every process of a tree inherits. Its value is a list of random marks with
// colons between them: that of the tree, behind those of the trees in which this process runs itself. So whoever has
// started this process finds what is left of its servers, too, if it is killed.
const markName = "MCPCAT_PROCESS_TREE"

const (
	markBytes = 12 // of randomness; twice as many digits
	markDepth = 8  // how many marks a process carries: the innermost ones
)

var markPrefix = []byte(markName + "=")

// newMark returns the mark of a new tree, and the environment of its leader: env with the mark in front.
func newMark(env []string) (mark string, with []string) {
	var random [markBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	mark = hex.EncodeToString(random[:])
	//nolint:forbidigo // who has marked this process is not the caller's to say, nor to hide
	marks := append(marksIn(os.Getenv(markName)), mark)
	value := strings.Join(marks[max(0, len(marks)-markDepth):], ":")
	return mark, append([]string{markName + "=" + value}, slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		return strings.HasPrefix(v, markName+"=")
	})...)
}

// marksIn returns the marks in the value of the variable, none if it is not of this package's making.
func marksIn(value string) []string {
	marks := strings.Split(value, ":")
	for _, m := range marks {
		if b, err := hex.DecodeString(m); err != nil || len(b) != markBytes {
			return nil
		}
	}
	return marks
}

// sign is what the environment of a process says.
type sign int

const (
	unmarked sign = iota
	marked
	blank // there is none
	early // the process is in the middle of an exec, and about to have one
)

// signOf looks for the mark in the environment with which the process was started.
func signOf(pid int, mark string) sign {
	dir := "/proc/" + strconv.Itoa(pid)
	found := signIn(dir+"/environ", mark)
	if found != blank {
		return found
	}
	// If its first thread has ended before the others, these have it still.
	if threads, err := os.ReadDir(dir + "/task"); err == nil && len(threads) > 1 {
		return signIn(dir+"/task/"+threads[len(threads)-1].Name()+"/environ", mark)
	}
	if stat, err := os.ReadFile(dir + "/stat"); err == nil && environmentEnd(stat) == "0" {
		return early
	}
	return blank
}

// environmentEnd is the field env_end of a file stat: "0" as long as an exec has not put the environment in its place.
//
// Source: proc_pid_stat(5).
func environmentEnd(stat []byte) string {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const envEnd = 51 - 3 // the third is the first one behind the name
	if len(fields) <= envEnd {
		return ""
	}
	return string(fields[envEnd])
}

func signIn(path, mark string) sign {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return unmarked // it has ended, or is another user's
	}
	defer unix.Close(fd)
	r := bufio.NewReaderSize(environ(fd), 8<<10)
	for found := blank; ; found = unmarked {
		entry, err := r.ReadSlice(0)
		for errors.Is(err, bufio.ErrBufferFull) { // longer than any mark
			entry = nil
			_, err = r.ReadSlice(0)
		}
		if errors.Is(err, io.EOF) && len(entry) == 0 {
			return found
		}
		if err != nil {
			return unmarked
		}
		if value, ok := bytes.CutPrefix(entry, markPrefix); ok && slices.Contains(marksIn(string(value[:len(value)-1])), mark) {
			return marked
		}
	}
}

// environ reads a descriptor.
type environ int

func (fd environ) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(fd), p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
