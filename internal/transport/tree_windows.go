package transport

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/mcpcat-dev/mcpcat/internal/procs"
)

// newMark returns the environment of the child. A job object knows its processes without a mark.
func newMark(env []string) (mark string, with []string) { return "", append([]string{}, env...) }

// sysProcAttr has the child wait until it is in its job, and keeps the interrupts of our console from it.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP}
}

// roots are what is known of a tree before its leader is started: here nothing that is of use.
type roots struct{}

func newRoots() roots { return roots{} }

// tree is a job object: a process and all that it starts, which cannot leave. The job ends when its last handle is
// closed, also by the end of this process.
type tree struct {
	mu  sync.Mutex
	job windows.Handle // 0 once it is closed
}

// newTree puts the leader, which does not run yet, into a job and lets it run. With an error it does not run.
func newTree(leader *os.Process, _ *procs.Child, _ roots, _ string) (*tree, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	//nolint:gosec // the structure is read during the call only
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		var assigned error
		err = leader.WithHandle(func(h uintptr) { assigned = windows.AssignProcessToJobObject(job, windows.Handle(h)) })
		err = errors.Join(err, assigned)
	}
	if err == nil {
		err = resume(uint32(leader.Pid))
	}
	if err != nil {
		_ = windows.CloseHandle(job) // ends what is in it
		return nil, fmt.Errorf("job object: %w", err)
	}
	return &tree{job: job}, nil
}

// resume lets a process run that was created suspended. os.StartProcess does not keep the handle of its first thread.
func resume(pid uint32) error {
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(threads) //nolint:errcheck // it was only read
	e := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	resumed := false
	for err = windows.Thread32First(threads, &e); err == nil; err = windows.Thread32Next(threads, &e) {
		if e.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, e.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread) // it was only resumed
		if err != nil {
			return err
		}
		resumed = true
	}
	if !resumed {
		return fmt.Errorf("the process has no thread: %w", err)
	}
	return nil
}

// awaitExit returns at once: os/exec waits for the leader, and the job stays.
func (t *tree) awaitExit() {}

// reaped ends what the leader has left in the job, and waits for it for sweepTime.
func (t *tree) reaped() {
	t.kill()
	for end, pause := time.Now().Add(sweepTime), time.Millisecond; t.running() > 0 && time.Now().Before(end); pause = min(2*pause, 20*time.Millisecond) {
		time.Sleep(pause)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = windows.CloseHandle(t.job) // nothing is left to be done with it
	t.job = 0
}

// dead says nothing: what a process leaves behind is ended at once here.
func (t *tree) dead() bool { return false }

func (t *tree) note() {}

// terminate kills: there is no way to ask.
func (t *tree) terminate() { t.kill() }

func (t *tree) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job != 0 {
		_ = windows.TerminateJobObject(t.job, 1) // its processes may have ended
	}
}

// running returns how many processes are in the job, 0 once it is closed.
func (t *tree) running() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	// JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
	var info struct {
		userTime, kernelTime, periodUserTime, periodKernelTime int64
		pageFaults, processes, active, terminated              uint32
	}
	if t.job == 0 {
		return 0
	}
	//nolint:gosec // the structure is written during the call only
	if err := windows.QueryInformationJobObject(t.job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil); err != nil {
		return 0
	}
	return int(info.active)
}
