package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// delivery is one request to the receiver, with its unchanged body.
type delivery struct {
	path, body string
	headers    http.Header
	event      event
}

type event struct {
	Type      string         `json:"type"`
	CreatedAt string         `json:"created_at"`
	Data      map[string]any `json:"data"`
}

// receiver is an HTTP server on loopback that stores the requests it receives.
type receiver struct {
	server     *httptest.Server
	mutex      sync.Mutex
	deliveries []delivery
}

func newReceiver() *receiver {
	r := &receiver{}
	r.server = httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		received := delivery{path: request.URL.Path, body: string(body), headers: request.Header}
		// If the body is not an event, the fields stay empty and the check fails.
		_ = json.Unmarshal(body, &received.event)
		r.mutex.Lock()
		r.deliveries = append(r.deliveries, received)
		r.mutex.Unlock()
		fmt.Fprint(response, "received")
	}))
	return r
}

func (r *receiver) url(path string) string { return r.server.URL + path }

func (r *receiver) at(path string) []delivery {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var at []delivery
	for _, received := range r.deliveries {
		if received.path == path {
			at = append(at, received)
		}
	}
	return at
}

// until polls until accept returns true for the deliveries to path, and returns them.
func (r *receiver) until(path string, accept func([]delivery) bool) []delivery {
	return until(func() []delivery { return r.at(path) }, accept)
}

func hasTypes(types []string) func([]delivery) bool {
	return func(deliveries []delivery) bool {
		seen := map[string]bool{}
		for _, received := range deliveries {
			seen[received.event.Type] = true
		}
		for _, name := range types {
			if !seen[name] {
				return false
			}
		}
		return true
	}
}
