package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/resend/resend-go/v3"
)

const (
	unknownID = "00000000-0000-7000-8000-000000000000"
	// Message of a 404 for a path that does not exist. Other 404 responses are about a row.
	noEndpoint = "The requested endpoint does not exist."
)

// label is the name of the suite in its output.
var label = os.Getenv("CLIENT_NAME")

var (
	uuid      = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	timestamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

// suite has one client. Suites that withKey returns share the counts.
type suite struct {
	client   *resend.Client
	last     *recorder
	services map[string]reflect.Value
	counts   *counts
}

type counts struct {
	passed, failed int
	called         map[string]bool
}

// failure is the value with which a failed check panics. Other panics are reported in the same way.
type failure string

func newSuite(key string) *suite {
	last := &recorder{}
	client := resend.NewCustomClient(&http.Client{Transport: last, Timeout: 60 * time.Second}, key)
	s := &suite{client: client, last: last, services: map[string]reflect.Value{}, counts: &counts{called: map[string]bool{}}}
	for _, name := range services {
		s.addService(name, reflect.ValueOf(reflect.ValueOf(client).Elem().FieldByName(name).Interface()))
	}
	return s
}

// addService registers a service and the services in its exported fields.
func (s *suite) addService(name string, service reflect.Value) {
	s.services[name] = service
	fields := reflect.Indirect(service)
	for i := range fields.NumField() {
		if field := fields.Type().Field(i); field.IsExported() && field.Type.Kind() == reflect.Interface {
			s.addService(name+"."+field.Name, fields.Field(i).Elem())
		}
	}
}

func (s *suite) methods() []string {
	var methods []string
	for name, service := range s.services {
		for i := range service.NumMethod() {
			methods = append(methods, name+"."+service.Type().Method(i).Name)
		}
	}
	return methods
}

// has returns whether the SDK has the method. The older version has fewer.
func (s *suite) has(method string) bool { return slices.Contains(s.methods(), method) }

func (s *suite) withKey(key string) *suite {
	other := newSuite(key)
	other.counts = s.counts
	return other
}

// part runs the checks of one part. A panic outside a check fails the part, and the other parts still run.
func (s *suite) part(name string, checks func(*suite)) {
	defer func() {
		if reason := recover(); reason != nil {
			s.fail(name, "outside the checks", fmt.Sprint(reason))
		}
	}()
	checks(s)
}

func (s *suite) check(method, note string, body func()) {
	defer func() {
		if reason := recover(); reason != nil {
			s.fail(method, note, fmt.Sprint(reason))
		} else {
			s.ok(fmt.Sprintf("%s ok (%s)", method, note))
		}
	}()
	body()
}

func (s *suite) ok(text string) {
	s.counts.passed++
	fmt.Printf("client %s: %s\n", label, text)
}

func (s *suite) fail(method, note, reason string) {
	s.counts.failed++
	fmt.Printf("client %s: %s FAILED (%s): %s\n", label, method, note, reason)
}

// call calls a method by its path and returns its first result and its error.
func (s *suite) call(method string, args ...any) (any, error) {
	s.counts.called[method] = true
	dot := strings.LastIndex(method, ".")
	function := s.services[method[:dot]].MethodByName(method[dot+1:])
	if !function.IsValid() {
		panic(failure("the SDK has no method " + method))
	}
	values := make([]reflect.Value, len(args))
	for i, arg := range args {
		values[i] = reflect.ValueOf(arg)
	}
	s.last.reset()
	results := function.Call(values)
	err, _ := results[1].Interface().(error)
	return results[0].Interface(), err
}

// data returns the result of a call that must succeed, in the type of the SDK.
func data[T any](s *suite, method string, args ...any) T {
	result, err := s.call(method, args...)
	if err != nil {
		panic(failure(fmt.Sprintf("refused: %v (%+v)", err, s.last.refusal)))
	}
	typed, ok := result.(T)
	if !ok {
		panic(failure(fmt.Sprintf("%s returns a %T", method, result)))
	}
	return typed
}

// refused makes a call that must be refused, and returns the message of the error. The error of the SDK
// contains only the message, so the recorder provides the status and the name.
func (s *suite) refused(status int, name, method string, args ...any) string {
	result, err := s.call(method, args...)
	if err == nil {
		panic(failure(fmt.Sprintf("accepted: %+v", result)))
	}
	seen := s.last.refusal
	equal(seen, refusal{StatusCode: status, Name: name, Message: seen.Message})
	equal(err.Error(), "[ERROR]: "+seen.Message)
	return seen.Message
}

// mustFail checks that a call fails that the server does not support.
func (s *suite) mustFail(status int, name, note, method string, args ...any) {
	defer func() {
		if reason := recover(); reason != nil {
			s.fail(method, note, fmt.Sprint(reason))
		} else {
			s.ok(fmt.Sprintf("%s must fail: %d %s (%s)", method, status, name, note))
		}
	}()
	message := s.refused(status, name, method, args...)
	if status == 404 {
		equal(message, noEndpoint)
	}
}

type refusal struct {
	StatusCode int    `json:"statusCode"`
	Name       string `json:"name"`
	Message    string `json:"message"`
}

// recorder stores the body of the last error response. It does not change requests and responses.
type recorder struct {
	refusal refusal
}

func (r *recorder) reset() { r.refusal = refusal{} }

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil || response.StatusCode < 400 {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err == nil {
		// If the body is not an error object, the fields stay empty and the check fails.
		_ = json.Unmarshal(body, &r.refusal)
	}
	return response, nil
}

func until[T any](read func() T, accept func(T) bool) T {
	deadline := time.Now().Add(60 * time.Second)
	for {
		value := read()
		if accept(value) {
			return value
		}
		if time.Now().After(deadline) {
			panic(failure(fmt.Sprintf("not within 60 s; last seen: %+v", value)))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func equal(seen, expected any) {
	if !reflect.DeepEqual(seen, expected) {
		panic(failure(fmt.Sprintf("%+v is not %+v", seen, expected)))
	}
}

func truth(holds bool, what any) {
	if !holds {
		panic(failure(fmt.Sprintf("unexpected: %+v", what)))
	}
}

func contains(text, part string) {
	truth(strings.Contains(text, part), fmt.Sprintf("%q without %q", text, part))
}

func ref[T any](value T) *T { return &value }

func inHours(hours int) string {
	return time.Now().UTC().Add(time.Duration(hours) * time.Hour).Format("2006-01-02T15:04:05.000Z")
}
