package transport

import "net/http"

// newPool returns what makes, keeps and shares connections for the calls.
func (h *HTTP) newPool() *http.Transport {
	return &http.Transport{
		DialContext:            h.dialPlain,
		DialTLSContext:         h.dialTLS,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxConnsPerHost:        h.limits.Connections,
		MaxIdleConns:           h.limits.Connections,
		MaxIdleConnsPerHost:    h.limits.Connections,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: int64(h.limits.HeaderBytes),
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTime},
	}
}

// doubt is called when the answer has not come in time, or has stopped. Over HTTP/1.1 that costs the connection. Over HTTP/2
// others may use it, and it may be as good as ever: but if its other end has gone without a word, it would keep one call
// after the other waiting, until pings find that out. So what is on it goes on, and calls that begin now do not use it.
func (x *exchange) doubt() {
	h := x.h
	if x.tls == nil || h.pool.Load() != x.pool || !h.pool.CompareAndSwap(x.pool, h.newPool()) {
		return
	}
	x.pool.CloseIdleConnections()
	if before := h.left.Swap(x.pool); before != nil {
		before.CloseIdleConnections() // where what was on it has ended meanwhile
	}
}
