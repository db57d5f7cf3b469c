package secret

import (
	"slices"
	"sync"
)

// maxLearned bounds what a Learned keeps: the newest ones.
const maxLearned = 64

// Learned holds secrets that come up while a program runs, such as tokens that a command prints. The zero Learned is ready
// to use, and is safe for concurrent use.
type Learned struct {
	mu     sync.Mutex
	values []String
	told   []func()
}

// Add keeps v, in place of the oldest one if there are 64 already, and tells whoever asked for it before it returns.
func (l *Learned) Add(v String) {
	l.mu.Lock()
	known := slices.ContainsFunc(l.values, func(x String) bool { return x.Expose() == v.Expose() })
	if !known {
		if len(l.values) == maxLearned {
			l.values = slices.Delete(l.values, 0, 1)
		}
		l.values = append(l.values, v)
	}
	told := slices.Clone(l.told)
	l.mu.Unlock()
	if known {
		return
	}
	for _, f := range told {
		f()
	}
}

// Values returns what is kept, the oldest first.
func (l *Learned) Values() []String {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.values)
}

// Tell has f called after each Add of a new value.
func (l *Learned) Tell(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, f)
}
