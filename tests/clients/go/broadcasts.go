package main

import (
	"time"

	"github.com/resend/resend-go/v3"
)

const (
	broadcastFrom = "Example Sender <sender@example.com>"
	broadcastHTML = `<p>Hello {{{FIRST_NAME|there}}}, <a href="{{{UNSUBSCRIBE_URL}}}">unsubscribe</a></p>`
)

// broadcasts checks drafts and sends. Both versions have the same methods; the older one has no segments.
func broadcasts(s *suite) {
	segment := broadcastAudience(s)
	draft := func(name string) *resend.CreateBroadcastRequest {
		return &resend.CreateBroadcastRequest{
			AudienceId: segment, From: broadcastFrom, Subject: "News for {{{FIRST_NAME|you}}}", Html: broadcastHTML, Name: name,
			ReplyTo: []string{"reply@example.com"},
		}
	}
	id, other := broadcastCreates(s, draft)
	broadcastReads(s, segment, id, other)
	s.check("Broadcasts.Create", "an unknown segment is 404", func() {
		unknown := draft("Go")
		unknown.AudienceId = unknownID
		s.refused(404, "not_found", "Broadcasts.Create", unknown)
	})
	s.check("Broadcasts.Send", "an unverified sender is 403", func() {
		unverified := draft("Go")
		unverified.From = "sender@unverified.example"
		made := data[resend.CreateBroadcastResponse](s, "Broadcasts.Create", unverified).Id
		s.refused(403, "validation_error", "Broadcasts.Send", &resend.SendBroadcastRequest{BroadcastId: made})
		data[resend.RemoveBroadcastResponse](s, "Broadcasts.Remove", made)
	})
	broadcastSends(s, id, other)
	for _, method := range []string{"Remove", "RemoveWithContext"} {
		s.check("Broadcasts."+method, "a draft, then 404", func() {
			made := data[resend.CreateBroadcastResponse](s, "Broadcasts.Create", draft("Go removed")).Id
			args := map[string][]any{"Remove": {made}, "RemoveWithContext": {ctx, made}}[method]
			removed := data[resend.RemoveBroadcastResponse](s, "Broadcasts."+method, args...)
			equal(removed, resend.RemoveBroadcastResponse{Object: "broadcast", Id: made, Deleted: true})
			s.refused(404, "not_found", "Broadcasts.Get", made)
		})
	}
}

func broadcastCreates(s *suite, draft func(string) *resend.CreateBroadcastRequest) (id, other string) {
	s.check("Broadcasts.Create", "a draft", func() {
		id = data[resend.CreateBroadcastResponse](s, "Broadcasts.Create", draft("Go news")).Id
		truth(uuid.MatchString(id), id)
	})
	s.check("Broadcasts.CreateWithContext", "another", func() {
		other = data[resend.CreateBroadcastResponse](s, "Broadcasts.CreateWithContext", ctx, draft("Go other")).Id
	})
	return id, other
}

func broadcastReads(s *suite, segment, id, other string) {
	for method, args := range map[string][]any{"Get": {id}, "GetWithContext": {ctx, id}} {
		s.check("Broadcasts."+method, "every field the SDK has", func() {
			read := data[resend.Broadcast](s, "Broadcasts."+method, args...)
			truth(timestamp.MatchString(read.CreatedAt), read)
			equal(read.ReplyTo, []string{"reply@example.com"})
			equal(
				[]string{read.Object, read.Id, read.Name, read.AudienceId, read.From, read.Subject, read.Status, read.Html, read.SentAt},
				[]string{"broadcast", id, "Go news", segment, broadcastFrom, "News for {{{FIRST_NAME|you}}}", "draft", broadcastHTML, ""},
			)
		})
	}
	s.check("Broadcasts.Get", "an unknown id is 404", func() {
		equal(s.refused(404, "not_found", "Broadcasts.Get", unknownID), "Broadcast not found")
	})
	for method, args := range map[string][]any{
		"List": {}, "ListWithContext": {ctx}, "ListWithOptions": {ctx, (*resend.ListOptions)(nil)},
	} {
		s.check("Broadcasts."+method, "newest first", func() {
			page := data[resend.ListBroadcastsResponse](s, "Broadcasts."+method, args...)
			equal([]string{page.Object, page.Data[0].Id, page.Data[1].Id}, []string{"list", other, id})
			equal([]string{page.Data[0].Name, page.Data[0].Status, page.Data[0].AudienceId}, []string{"Go other", "draft", segment})
			truth(timestamp.MatchString(page.Data[0].CreatedAt), page.Data[0])
		})
	}
	s.check("Broadcasts.ListWithOptions", "limit and cursors", func() {
		list := func(options *resend.ListOptions) resend.ListBroadcastsResponse {
			return data[resend.ListBroadcastsResponse](s, "Broadcasts.ListWithOptions", ctx, options)
		}
		newest := list(&resend.ListOptions{Limit: ref(1)})
		equal([]any{newest.HasMore, newest.Data[0].Id}, []any{true, other})
		equal(list(&resend.ListOptions{Limit: ref(1), After: &other}).Data[0].Id, id)
		equal(list(&resend.ListOptions{Limit: ref(1), Before: &id}).Data[0].Id, other)
	})
	text, letters := &resend.UpdateBroadcastRequest{BroadcastId: id, Text: "Hello"}, &resend.UpdateBroadcastRequest{BroadcastId: id, Name: "Go letters"}
	for method, args := range map[string][]any{"Update": {text}, "UpdateWithContext": {ctx, letters}} {
		s.check("Broadcasts."+method, "changed", func() {
			equal(data[resend.UpdateBroadcastResponse](s, "Broadcasts."+method, args...).Id, id)
		})
	}
	s.check("Broadcasts.Update", "both changes are stored; absent fields stay", func() {
		read := data[resend.Broadcast](s, "Broadcasts.Get", id)
		equal([]string{read.Name, read.Text, read.Html, read.AudienceId}, []string{"Go letters", "Hello", broadcastHTML, segment})
	})
}

// broadcastSends sends one broadcast at once, and one later. The SDK sends an empty `scheduled_at` for the first.
func broadcastSends(s *suite, id, other string) {
	s.check("Broadcasts.Send", "to the members who are subscribed", func() {
		sent := data[resend.SendBroadcastResponse](s, "Broadcasts.Send", &resend.SendBroadcastRequest{BroadcastId: id})
		equal(sent.Id, id)
		read := until(
			func() resend.Broadcast { return data[resend.Broadcast](s, "Broadcasts.Get", id) },
			func(read resend.Broadcast) bool { return read.Status == "sent" },
		)
		truth(timestamp.MatchString(read.SentAt), read)
		s.refused(403, "validation_error", "Broadcasts.Send", &resend.SendBroadcastRequest{BroadcastId: id})
		s.refused(403, "validation_error", "Broadcasts.Update", &resend.UpdateBroadcastRequest{BroadcastId: id, Name: "Go"})
		s.refused(403, "validation_error", "Broadcasts.Remove", id)
	})
	s.check("Broadcasts.SendWithContext", "later", func() {
		at := inHours(2)
		request := &resend.SendBroadcastRequest{BroadcastId: other, ScheduledAt: at}
		equal(data[resend.SendBroadcastResponse](s, "Broadcasts.SendWithContext", ctx, request).Id, other)
		read := data[resend.Broadcast](s, "Broadcasts.Get", other)
		wanted, _ := time.Parse(time.RFC3339, at)
		seen, err := time.Parse(time.RFC3339, read.ScheduledAt)
		truth(err == nil && seen.Sub(wanted).Abs() < time.Minute, read)
		equal([]string{read.Status, read.SentAt}, []string{"scheduled", ""})
		s.refused(403, "validation_error", "Broadcasts.Remove", other)
	})
}
