package catalog

import "testing"

func TestPrivateHost(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "localhost": true, "api.localhost": true, "::1": true, "10.1.2.3": true, "fd00::1": true, "::ffff:192.168.1.1": true, "printer.local": true,
		"mcp.example": false, "8.8.8.8": false, "2606:4700::1": false, "": false, "127.1": false,
	} {
		if got := PrivateHost(host); got != want {
			t.Errorf("PrivateHost(%q) = %v, want %v", host, got, want)
		}
	}
}
