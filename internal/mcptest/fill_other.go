//go:build !unix

package mcptest

// fill closes the listener: here there is no way to fill its queue.
func (f *Faulty) fill() { _ = f.listener.Close() }
