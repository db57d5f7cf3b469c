// Package plan compares what servers offer with what is pinned, and says what apply would write.
//
// Make turns a catalog, the base lock and the observed servers into a Plan: the document that views print, that a plan
// file holds and that apply reads back. Next derives the whole document again from the base lock, the catalog and the
// definitions in the document, refuses when one byte differs, and returns the next lock. Verify answers the read-only
// question: would the gate refuse something that is declared?
//
// The package decides and is pure: no I/O, no clock, no network. It does not print (view does) and does not write the
// lock (boltfile does).
//
//	p, err := plan.Make(plan.Input{Catalog: cat, Base: base, LockName: cat.Lock, Observed: servers, Version: version})
//	next, err := p.Next(base, cat)
//
// In the drawing it decides between the nouns: it imports catalog, lock, surface, addr, diag, digest, secret and
// strictjson.
package plan
