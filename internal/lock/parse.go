package lock

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// FromEntries reads a lock from its entries, which are sorted by key, as a lock file holds them. It accepts exactly what
// Entries writes: every digest, the root and the seal are computed again and compared, and agents may only name pinned
// items. For every lock that it accepts, Entries gives back the same entries.
//
// The lock refers to the values and does not copy them.
//
// The error is a *FormatError for a format that this version does not read, a *DigestVersionError for a digest that it
// cannot compute, and a *CorruptError for everything else.
func FromEntries(entries []KV) (*Lock, error) {
	if len(entries) > MaxEntries {
		return nil, &CorruptError{Reason: fmt.Sprintf("it has %d entries, want at most %d", len(entries), MaxEntries)}
	}
	meta := map[string][]byte{}
	rest := make([]KV, 0, len(entries))
	for i, e := range entries {
		if i > 0 && e.Key <= entries[i-1].Key {
			return nil, &CorruptError{Key: e.Key, Reason: "key is not greater than the one before"}
		}
		if err := checkSize(e); err != nil {
			return nil, &CorruptError{Reason: err.Error()}
		}
		if strings.HasPrefix(e.Key, metaPrefix) {
			meta[e.Key] = e.Value
		} else {
			rest = append(rest, e)
		}
	}

	l := &Lock{}
	// The format comes first: nothing else can be judged before it is known.
	minor, err := readFormat(meta[keyFormat])
	if err != nil {
		return nil, err
	}
	l.Minor = minor
	for key := range meta {
		if !slices.Contains(metaKeys, key) {
			return nil, l.judge(key, errUnknownKind{key})
		}
	}
	if err := l.readMeta(meta); err != nil {
		return nil, err
	}
	if err := l.readRest(rest); err != nil {
		return nil, err
	}
	if root := rootOf(rest); root != l.Root {
		return nil, &CorruptError{Key: keyRoot, Reason: fmt.Sprintf("root is %s, but the entries give %s", l.Root, root)}
	}
	if seal := sealOf(l.Minor, l.Lineage, l.Serial, l.Parent, l.Root); seal != l.Seal {
		return nil, &CorruptError{Key: keySeal, Reason: fmt.Sprintf("seal is %s, but the meta entries give %s", l.Seal, seal)}
	}
	if err := l.checkReferences(); err != nil {
		return nil, err
	}
	return l, nil
}

// judge turns a fault in one entry into the error that FromEntries returns: content that this version does not know is a
// reason to upgrade if the file says that it is newer.
func (l *Lock) judge(key string, err error) error {
	var version *DigestVersionError
	if errors.As(err, &version) {
		version.Key = key
		return version
	}
	var kind errUnknownKind
	var member errUnknownMember
	if l.Minor > FormatMinor && (errors.As(err, &kind) || errors.As(err, &member)) {
		return newerFormat(FormatMajor, l.Minor)
	}
	return &CorruptError{Key: key, Reason: err.Error()}
}

func newerFormat(major, minor uint64) error {
	return &FormatError{Found: fmt.Sprintf("%d.%d", major, minor), Known: knownFormat, Newer: true}
}

var knownFormat = fmt.Sprintf("%d.%d", FormatMajor, FormatMinor)

// readFormat reads {"major":1,"minor":0}. Of a foreign major only the number is looked at, as the rest may differ.
func readFormat(src []byte) (minor uint64, err error) {
	damaged := func(reason string) (uint64, error) { return 0, &CorruptError{Key: keyFormat, Reason: reason} }
	if src == nil {
		return damaged("it is missing")
	}
	v, err := strictjson.Parse(src, jsonLimits)
	if err != nil {
		return damaged(err.Error())
	}
	majorValue, _ := v.Get("major")
	major, ok := majorValue.Int()
	if !ok || major < 0 {
		return damaged("it has no major number")
	}
	minorValue, _ := v.Get("minor")
	n, ok := minorValue.Int()
	switch {
	case major != FormatMajor:
		if !ok || n < 0 {
			n = 0
		}
		return 0, &FormatError{Found: fmt.Sprintf("%d.%d", major, n), Known: knownFormat, Newer: major > FormatMajor}
	case !ok || n < 0 || n > MaxSerial:
		return damaged("it has no minor number")
	case !bytes.Equal(src, appendFormat(nil, uint64(n))):
		if n > FormatMinor {
			return 0, newerFormat(FormatMajor, uint64(n))
		}
		return damaged(`it is not written as {"major":1,"minor":0}`)
	}
	return uint64(n), nil
}

func (l *Lock) readMeta(meta map[string][]byte) error {
	for _, key := range metaKeys {
		if _, ok := meta[key]; !ok {
			return &CorruptError{Key: key, Reason: "it is missing"}
		}
	}
	lineage := string(meta[keyLineage])
	if len(lineage) != 34 || lineage[0] != '"' || lineage[33] != '"' || !validLineage(lineage[1:33]) {
		return &CorruptError{Key: keyLineage, Reason: "it is not a string of 32 lower-case hex digits"}
	}
	l.Lineage = lineage[1:33]

	serial, err := strconv.ParseUint(string(meta[keySerial]), 10, 64)
	if err != nil || strconv.FormatUint(serial, 10) != string(meta[keySerial]) {
		return &CorruptError{Key: keySerial, Reason: "it is not a whole number"}
	}
	l.Serial = serial

	if string(meta[keyParent]) != "null" {
		if l.Parent, err = readDigest(meta[keyParent]); err != nil {
			return l.judge(keyParent, err)
		}
	}
	if err := checkSerial(l.Serial, l.Parent); err != nil {
		return &CorruptError{Key: keySerial, Reason: err.Error()}
	}
	if l.Root, err = readDigest(meta[keyRoot]); err != nil {
		return l.judge(keyRoot, err)
	}
	if l.Seal, err = readDigest(meta[keySeal]); err != nil {
		return l.judge(keySeal, err)
	}
	return nil
}

// readRest reads the entries outside meta/. The items, which are nearly all of the bytes, are checked on every processor.
func (l *Lock) readRest(entries []KV) error {
	var itemEntries []KV
	for _, e := range entries {
		kind, parts, err := splitKey(e.Key)
		if err != nil {
			return l.judge(e.Key, err)
		}
		switch {
		case e.Key == keyGate:
			l.Gate, err = readSettings(e.Value)
		case e.Key == keyPolicy:
			l.Policy, err = readSettings(e.Value)
		case kind == "server" && len(parts) == 1:
			err = l.readServer(parts[0], e.Value)
		case kind == "agent" && len(parts) == 1:
			err = l.readAgent(parts[0], e.Value)
		case addr.Kind(kind).Valid() && len(parts) == 2:
			var server addr.Server
			server, err = parseServerPart(parts[0])
			l.Items = append(l.Items, Item{Addr: addr.Item{Server: server, Kind: addr.Kind(kind), Name: parts[1]}})
			itemEntries = append(itemEntries, e)
		default:
			err = errUnknownKind{e.Key}
		}
		if err != nil {
			return l.judge(e.Key, err)
		}
	}
	faults := make([]error, len(l.Items))
	parallel(len(l.Items), func(i int) { faults[i] = l.Items[i].read(itemEntries[i].Value) })
	for i, err := range faults {
		if err != nil {
			return l.judge(itemEntries[i].Key, err)
		}
	}
	slices.SortFunc(l.Servers, func(a, b Server) int { return a.Addr.Compare(b.Addr) })
	slices.SortFunc(l.Items, func(a, b Item) int { return a.Addr.Compare(b.Addr) })
	slices.SortFunc(l.Agents, func(a, b Agent) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// checkReferences holds agents to the pinned items and items to the pinned servers.
func (l *Lock) checkReferences() error {
	for i := range l.Items {
		if l.ServerByAddr(l.Items[i].Addr.Server) == nil {
			return &CorruptError{Key: itemKey(l.Items[i].Addr), Reason: "its server is not in the lock"}
		}
	}
	for i := range l.Agents {
		for _, t := range l.Agents[i].Tools {
			it := l.Find(t.Address)
			switch {
			case t.Address.Kind != addr.Tool:
				return &CorruptError{Key: agentKey(l.Agents[i].Name), Reason: fmt.Sprintf("tool %s is not the address of a tool", quote(t.Name))}
			case it == nil:
				return &CorruptError{Key: agentKey(l.Agents[i].Name), Reason: fmt.Sprintf("tool %s is not pinned", quote(t.Name))}
			case it.Digest != t.Digest:
				return &CorruptError{Key: agentKey(l.Agents[i].Name), Reason: fmt.Sprintf("tool %s has digest %s, but pinned is %s", quote(t.Name), t.Digest, it.Digest)}
			}
		}
	}
	return nil
}
