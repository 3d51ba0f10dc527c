//go:build !older

package main

import "github.com/resend/resend-go/v3"

func logs(s *suite) {
	create := &resend.CreateTopicRequest{Name: "Go logged", DefaultSubscription: resend.DefaultSubscriptionOptIn}
	topic := data[*resend.CreateTopicResponse](s, "Topics.Create", create).Id
	var entry resend.Log
	s.check("Logs.ListWithOptions", "newest first, every field, limit and cursors", func() {
		list := func(options *resend.ListOptions) resend.ListLogsResponse {
			return data[resend.ListLogsResponse](s, "Logs.ListWithOptions", ctx, options)
		}
		page := list(&resend.ListOptions{Limit: ref(1)})
		equal([]any{page.Object, page.HasMore}, []any{"list", true})
		entry = page.Data[0]
		equal([]any{entry.Method, entry.Endpoint, entry.ResponseStatus}, []any{"POST", "/topics", 201})
		truth(timestamp.MatchString(entry.CreatedAt), entry)
		truth(entry.UserAgent != nil, entry)
		older := list(&resend.ListOptions{Limit: ref(1), After: &entry.Id}).Data[0].Id
		equal(list(&resend.ListOptions{Limit: ref(1), Before: &older}).Data[0].Id, entry.Id)
	})
	for method, args := range map[string][]any{"Logs.List": {}, "Logs.ListWithContext": {ctx}} {
		s.check(method, "twenty rows at most", func() {
			page := data[resend.ListLogsResponse](s, method, args...)
			truth(len(page.Data) > 0 && len(page.Data) <= 20, page)
		})
	}
	for method, args := range map[string][]any{"Logs.Get": {entry.Id}, "Logs.GetWithContext": {ctx, entry.Id}} {
		s.check(method, "with both bodies", func() {
			read := data[resend.Log](s, method, args...)
			equal([]any{read.Object, read.Endpoint}, []any{"log", "/topics"})
			equal(read.RequestBody.(map[string]any)["name"], any("Go logged"))
			equal(read.ResponseBody.(map[string]any)["id"], any(topic))
		})
	}
	s.check("Logs.Get", "an unknown id is 404", func() {
		equal(s.refused(404, "not_found", "Logs.Get", unknownID), "Log not found")
	})
	data[*resend.RemoveTopicResponse](s, "Topics.Remove", topic)
}
