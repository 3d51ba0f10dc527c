package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// delivery is one request that the receiver took, its body as it came.
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

// receiver is a real HTTP server on loopback that keeps what is posted to it.
type receiver struct {
	server     *httptest.Server
	mutex      sync.Mutex
	deliveries []delivery
}

func newReceiver() *receiver {
	r := &receiver{}
	r.server = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		taken := delivery{path: request.URL.Path, body: string(body), headers: request.Header}
		// A body that is no event leaves the fields empty, and the check fails.
		_ = json.Unmarshal(body, &taken.event)
		r.mutex.Lock()
		r.deliveries = append(r.deliveries, taken)
		r.mutex.Unlock()
		fmt.Fprint(answer, "received")
	}))
	return r
}

func (r *receiver) url(path string) string { return r.server.URL + path }

func (r *receiver) at(path string) []delivery {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var at []delivery
	for _, taken := range r.deliveries {
		if taken.path == path {
			at = append(at, taken)
		}
	}
	return at
}

// until waits until what came to path is as accept wants it.
func (r *receiver) until(path string, accept func([]delivery) bool) []delivery {
	return until(func() []delivery { return r.at(path) }, accept)
}

func hasTypes(types []string) func([]delivery) bool {
	return func(deliveries []delivery) bool {
		seen := map[string]bool{}
		for _, taken := range deliveries {
			seen[taken.event.Type] = true
		}
		for _, name := range types {
			if !seen[name] {
				return false
			}
		}
		return true
	}
}
