// A customer's server: takes webhooks under /e/NAME, answers each NAME as it is told, and counts.
//
//	receiver PORT
//
// PUT /control with {"NAME": {"mode": …, "secrets": ["whsec_…"]}} says how to answer; GET /report says
// what came, and GET /bodies/NAME which body came under each webhook-id, of a NAME with secrets.
// These are for the suite; nothing else is served.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// How an endpoint answers.
type behaviour struct {
	// ok, status, hang, slow, huge, reset or redirect.
	Mode string `json:"mode"`
	// The status of mode status.
	Status int `json:"status"`
	// Retry-After, when it is not empty.
	RetryAfter string `json:"retry_after"`
	// How long mode slow waits, in milliseconds.
	WaitMs int `json:"wait_ms"`
	// Where mode redirect leads.
	Location string `json:"location"`
	// Requests that are answered so before the endpoint is ok; 0 for all.
	Times int `json:"times"`
	// Secrets that a signature is checked against; none is no check.
	Secrets []string `json:"secrets"`
}

// What an endpoint got.
type endpoint struct {
	sync.Mutex
	told     behaviour
	left     int
	requests int
	// Requests under each webhook-id, and how many of them were answered 2xx.
	ids      map[string]int
	answered map[string]int
	bodies   map[string]string
	changed  int
	verified map[string]int
	first    time.Time
	last     time.Time
	flying   int
	most     int
}

var (
	lock      sync.Mutex
	endpoints = map[string]*endpoint{}
)

func named(name string) *endpoint {
	lock.Lock()
	defer lock.Unlock()
	found := endpoints[name]
	if found == nil {
		found = &endpoint{told: behaviour{Mode: "ok"}, ids: map[string]int{}, answered: map[string]int{},
			bodies: map[string]string{}, verified: map[string]int{}}
		endpoints[name] = found
	}
	return found
}

// Which of the secrets signed, by its place; -1 for none.
func signer(secrets []string, headers http.Header, body []byte) int {
	id, timestamp := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	for place, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			panic(err)
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.", id, timestamp)
		mac.Write(body)
		expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, candidate := range strings.Split(headers.Get("webhook-signature"), " ") {
			if candidate == expected {
				return place
			}
		}
	}
	return -1
}

func (e *endpoint) serve(writer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	id := request.Header.Get("webhook-id")
	e.Lock()
	now := time.Now()
	if e.requests == 0 {
		e.first = now
	}
	e.last = now
	e.requests++
	e.ids[id]++
	if len(e.told.Secrets) > 0 {
		place := signer(e.told.Secrets, request.Header, body)
		e.verified[fmt.Sprint(place)]++
		if known, seen := e.bodies[id]; seen && known != string(body) {
			e.changed++
		}
		e.bodies[id] = string(body)
	}
	e.flying++
	e.most = max(e.most, e.flying)
	told := e.told
	if told.Times > 0 {
		if e.left == 0 {
			told.Mode = "ok"
		} else {
			e.left--
		}
	}
	if told.Mode == "ok" || told.Mode == "slow" || told.Mode == "huge" {
		e.answered[id]++
	}
	e.Unlock()
	defer func() {
		e.Lock()
		e.flying--
		e.Unlock()
	}()
	answer(writer, request, told)
}

func answer(writer http.ResponseWriter, request *http.Request, told behaviour) {
	if told.RetryAfter != "" && told.Mode != "ok" {
		writer.Header().Set("Retry-After", told.RetryAfter)
	}
	switch told.Mode {
	case "ok":
		io.WriteString(writer, "ok")
	case "status":
		writer.WriteHeader(told.Status)
	case "slow":
		time.Sleep(time.Duration(told.WaitMs) * time.Millisecond)
		io.WriteString(writer, "ok")
	case "hang":
		<-request.Context().Done()
	case "huge":
		// Written until the other side has had enough.
		chunk := []byte(strings.Repeat("x", 1<<16))
		for written := 0; written < 1<<30; written += len(chunk) {
			if _, err := writer.Write(chunk); err != nil {
				return
			}
		}
	case "reset":
		connection, _, err := writer.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		// Without lingering the other side gets a reset and no orderly end.
		connection.(*net.TCPConn).SetLinger(0)
		connection.Close()
	case "redirect":
		writer.Header().Set("Location", told.Location)
		writer.WriteHeader(http.StatusTemporaryRedirect)
	default:
		panic("no such mode: " + told.Mode)
	}
}

func control(writer http.ResponseWriter, request *http.Request) {
	told := map[string]behaviour{}
	if err := json.NewDecoder(request.Body).Decode(&told); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	for name, one := range told {
		e := named(name)
		e.Lock()
		e.told, e.left = one, one.Times
		e.Unlock()
	}
	io.WriteString(writer, "{}")
}

func report(writer http.ResponseWriter, request *http.Request) {
	lock.Lock()
	all := map[string]*endpoint{}
	for name, e := range endpoints {
		all[name] = e
	}
	lock.Unlock()
	said := map[string]any{}
	for name, e := range all {
		e.Lock()
		said[name] = map[string]any{
			"requests": e.requests, "ids": len(e.ids), "answered": len(e.answered), "changed": e.changed,
			"verified": maps.Clone(e.verified), "seconds": e.last.Sub(e.first).Seconds(), "most_at_once": e.most,
			"repeated": e.requests - len(e.ids),
		}
		e.Unlock()
	}
	json.NewEncoder(writer).Encode(said)
}

func bodies(writer http.ResponseWriter, request *http.Request) {
	e := named(strings.TrimPrefix(request.URL.Path, "/bodies/"))
	said := map[string]any{}
	e.Lock()
	for id, body := range e.bodies {
		said[id] = map[string]any{"times": e.ids[id], "body": body}
	}
	e.Unlock()
	json.NewEncoder(writer).Encode(said)
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/control", control)
	mux.HandleFunc("/report", report)
	mux.HandleFunc("/bodies/", bodies)
	mux.HandleFunc("/e/", func(writer http.ResponseWriter, request *http.Request) {
		named(strings.TrimPrefix(request.URL.Path, "/e/")).serve(writer, request)
	})
	server := &http.Server{Addr: "127.0.0.1:" + os.Args[1], Handler: mux}
	panic(server.ListenAndServe())
}
