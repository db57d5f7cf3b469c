package mcptest

// listenFaults are the faults of a subscription. Write makes a fault that writes a text in place of the answer, and event
// is how one message stands in that text.
func listenFaults(write func(text func(r Request) string) Fault, event func(string) string) []Fault {
	fault := func(name string, steps []Step, text func(r Request) string) Fault {
		f := write(text)
		f.Name, f.Steps = name, steps
		return f
	}
	listen, open := []Step{StepListen}, []Step{StepEvents}
	return []Fault{
		fault("event-before-acknowledgement", listen, func(r Request) string { return event(change(r.ID)) + event(acknowledge(r.ID)) }),
		fault("acknowledges-another", listen, func(r Request) string { return event(acknowledge("7" + r.ID)) }),
		fault("acknowledges-as-text", listen, func(r Request) string { return event(acknowledge(`"` + r.ID + `"`)) }),
		fault("acknowledges-nothing", listen, func(Request) string {
			return event(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}`)
		}),
		fault("acknowledges-more", listen, func(r Request) string {
			return event(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":` + subscription(r.ID) +
				`,"notifications":{"toolsListChanged":true,"promptsListChanged":true}}}`)
		}),
		fault("result-before-acknowledgement", listen, func(r Request) string { return event(respond(r.ID, result(r))) }),
		fault("cancel-before-acknowledgement", listen, func(r Request) string { return event(withdraw(r.ID)) }),
		fault("second-acknowledgement", open, func(r Request) string { return event(acknowledge(r.ID)) }),
		fault("event-of-another", open, func(r Request) string { return event(change("7" + r.ID)) }),
		fault("event-without-id", open, func(Request) string {
			return event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}),
		fault("event-not-asked-for", open, func(r Request) string {
			return event(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":` + subscription(r.ID) + `}}`)
		}),
		fault("result-of-another", open, func(r Request) string {
			return event(respond(r.ID, `{"resultType":"complete","_meta":`+subscription("7"+r.ID)+`}`))
		}),
		fault("server-cancels", open, func(r Request) string { return event(withdraw(r.ID)) }),
		fault("server-ends", open, func(r Request) string { return event(change(r.ID)) + event(respond(r.ID, result(r))) }),
	}
}

// withdraw is the server's way of saying that it has given up a request.
func withdraw(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"_meta":` + subscription(id) + `}}`
}
