// A webhook receiver for tests: accepts requests under /e/NAME, responds as configured and counts.
//
//	receiver PORT
//
// The suite controls it with these requests:
//
//	PUT /control         sets the behaviour by name: {"NAME": {"mode": …, "secrets": ["whsec_…"]}}
//	GET /report          returns the counts by name
//	GET /bodies/NAME     returns the body by webhook-id; only for a name with secrets
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

// behaviour configures the responses of an endpoint.
type behaviour struct {
	// ok, status, hang, slow, huge, reset or redirect.
	Mode string `json:"mode"`
	// Response status of mode status.
	Status int `json:"status"`
	// Retry-After header, unless empty. Not sent in mode ok.
	RetryAfter string `json:"retry_after"`
	// Delay of mode slow in milliseconds.
	WaitMs int `json:"wait_ms"`
	// Location header of mode redirect.
	Location string `json:"location"`
	// Number of requests before the mode changes to ok; 0 for no change.
	Times int `json:"times"`
	// Secrets that signatures are checked against. Without secrets no signature is checked.
	Secrets []string `json:"secrets"`
}

// endpoint counts the requests of one name.
type endpoint struct {
	sync.Mutex
	behaviour behaviour
	// Requests before the mode changes to ok.
	left     int
	requests int
	// Number of requests by webhook-id, and number of 2xx responses by webhook-id.
	ids      map[string]int
	answered map[string]int
	// Last body by webhook-id, and number of requests whose body differs from the one before.
	bodies  map[string]string
	changed int
	// Number of requests by the index of the secret that signed them, -1 if none did.
	verified    map[string]int
	first       time.Time
	last        time.Time
	inFlight    int
	inFlightMax int
}

var (
	lock      sync.Mutex
	endpoints = map[string]*endpoint{}
)

// findOrCreate returns the endpoint of a name, which responds with 200 until it is configured.
func findOrCreate(name string) *endpoint {
	lock.Lock()
	defer lock.Unlock()
	found := endpoints[name]
	if found == nil {
		found = &endpoint{behaviour: behaviour{Mode: "ok"}, ids: map[string]int{}, answered: map[string]int{},
			bodies: map[string]string{}, verified: map[string]int{}}
		endpoints[name] = found
	}
	return found
}

// signer returns the index of the first secret that verifies the signature, or -1.
func signer(secrets []string, headers http.Header, body []byte) int {
	id, timestamp := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	for index, secret := range secrets {
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
				return index
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
	if len(e.behaviour.Secrets) > 0 {
		index := signer(e.behaviour.Secrets, request.Header, body)
		e.verified[fmt.Sprint(index)]++
		if known, seen := e.bodies[id]; seen && known != string(body) {
			e.changed++
		}
		e.bodies[id] = string(body)
	}
	e.inFlight++
	e.inFlightMax = max(e.inFlightMax, e.inFlight)
	current := e.behaviour
	if current.Times > 0 {
		if e.left == 0 {
			current.Mode = "ok"
		} else {
			e.left--
		}
	}
	if current.Mode == "ok" || current.Mode == "slow" || current.Mode == "huge" {
		e.answered[id]++
	}
	e.Unlock()
	defer func() {
		e.Lock()
		e.inFlight--
		e.Unlock()
	}()
	respond(writer, request, current)
}

func respond(writer http.ResponseWriter, request *http.Request, current behaviour) {
	if current.RetryAfter != "" && current.Mode != "ok" {
		writer.Header().Set("Retry-After", current.RetryAfter)
	}
	switch current.Mode {
	case "ok":
		io.WriteString(writer, "ok")
	case "status":
		writer.WriteHeader(current.Status)
	case "slow":
		time.Sleep(time.Duration(current.WaitMs) * time.Millisecond)
		io.WriteString(writer, "ok")
	case "hang":
		<-request.Context().Done()
	case "huge":
		// Writes up to 1 GiB, until the client closes the connection.
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
		// SO_LINGER 0: closing sends RST instead of FIN.
		connection.(*net.TCPConn).SetLinger(0)
		connection.Close()
	case "redirect":
		writer.Header().Set("Location", current.Location)
		writer.WriteHeader(http.StatusTemporaryRedirect)
	default:
		panic("unknown mode: " + current.Mode)
	}
}

func control(writer http.ResponseWriter, request *http.Request) {
	wanted := map[string]behaviour{}
	if err := json.NewDecoder(request.Body).Decode(&wanted); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	for name, one := range wanted {
		e := findOrCreate(name)
		e.Lock()
		e.behaviour, e.left = one, one.Times
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
	counts := map[string]any{}
	for name, e := range all {
		e.Lock()
		counts[name] = map[string]any{
			"requests": e.requests, "ids": len(e.ids), "answered": len(e.answered), "changed": e.changed,
			"verified": maps.Clone(e.verified), "seconds": e.last.Sub(e.first).Seconds(), "most_at_once": e.inFlightMax,
			"repeated": e.requests - len(e.ids),
		}
		e.Unlock()
	}
	json.NewEncoder(writer).Encode(counts)
}

func bodies(writer http.ResponseWriter, request *http.Request) {
	e := findOrCreate(strings.TrimPrefix(request.URL.Path, "/bodies/"))
	bodies := map[string]any{}
	e.Lock()
	for id, body := range e.bodies {
		bodies[id] = map[string]any{"times": e.ids[id], "body": body}
	}
	e.Unlock()
	json.NewEncoder(writer).Encode(bodies)
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/control", control)
	mux.HandleFunc("/report", report)
	mux.HandleFunc("/bodies/", bodies)
	mux.HandleFunc("/e/", func(writer http.ResponseWriter, request *http.Request) {
		findOrCreate(strings.TrimPrefix(request.URL.Path, "/e/")).serve(writer, request)
	})
	server := &http.Server{Addr: "127.0.0.1:" + os.Args[1], Handler: mux}
	panic(server.ListenAndServe())
}
