package main

import (
	"context"
	"fmt"

	"github.com/resend/resend-go/v3"
)

const from = "Example Sender <sender@example.com>"

var ctx = context.Background()

func message(subject string) *resend.SendEmailRequest {
	return &resend.SendEmailRequest{From: from, To: []string{"one@example.net"}, Subject: subject, Text: "hello from the go suite"}
}

func with(subject string, change func(*resend.SendEmailRequest)) *resend.SendEmailRequest {
	email := message(subject)
	change(email)
	return email
}

func many(name string, count int) []string {
	addresses := make([]string, count)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("%s%d@example.net", name, i)
	}
	return addresses
}

func send(s *suite, email *resend.SendEmailRequest) string {
	return data[*resend.SendEmailResponse](s, "Emails.Send", email).Id
}

func emails(s *suite) {
	sending(s)
	reading(s)
	listing(s)
	emailsMustFail(s)
	attachments(s)
}

func sending(s *suite) {
	noOptions := &resend.SendEmailOptions{}
	for _, row := range []struct {
		note  string
		email *resend.SendEmailRequest
	}{
		{"text", message("text")},
		{"html and text, several recipients", with("both", func(e *resend.SendEmailRequest) {
			e.Html, e.To = "<p>hello</p>", []string{"one@example.net", "Two <two@example.net>"}
		})},
		{"html only", with("html", func(e *resend.SendEmailRequest) { e.Html, e.Text = "<p>hello</p>", "" })},
		{"cc, bcc and reply_to", with("copies", func(e *resend.SendEmailRequest) {
			e.Cc, e.Bcc, e.ReplyTo = []string{"cc@example.net"}, []string{"bcc@example.net"}, "reply@example.com"
		})},
		{"headers and tags", with("headers", func(e *resend.SendEmailRequest) {
			e.Headers = map[string]string{"X-Entity-Ref-ID": "go-1"}
			e.Tags = []resend.Tag{{Name: "suite", Value: "go"}}
		})},
		{"50 recipients", with("fifty", func(e *resend.SendEmailRequest) { e.To, e.Cc = many("to", 25), many("cc", 25) })},
	} {
		for _, method := range []string{"Emails.Send", "Emails.SendWithContext", "Emails.SendWithOptions"} {
			s.check(method, row.note, func() {
				args := map[string][]any{
					"Emails.Send": {row.email}, "Emails.SendWithContext": {ctx, row.email}, "Emails.SendWithOptions": {ctx, row.email, noOptions},
				}[method]
				truth(uuid.MatchString(data[*resend.SendEmailResponse](s, method, args...).Id), "no UUID")
			})
		}
	}

	key := &resend.SendEmailOptions{IdempotencyKey: "go-" + inHours(0)}
	s.check("Emails.SendWithOptions", "the same idempotency key and payload return the same id", func() {
		first := data[*resend.SendEmailResponse](s, "Emails.SendWithOptions", ctx, message("once"), key)
		equal(data[*resend.SendEmailResponse](s, "Emails.SendWithOptions", ctx, message("once"), key), first)
	})
	s.check("Emails.SendWithOptions", "the same idempotency key with another payload is 409", func() {
		s.refused(409, "invalid_idempotent_request", "Emails.SendWithOptions", ctx, message("changed"), key)
	})
}

func reading(s *suite) {
	for _, method := range []string{"Emails.Get", "Emails.GetWithContext"} {
		get := func(id string) *resend.Email {
			if method == "Emails.Get" {
				return data[*resend.Email](s, method, id)
			}
			return data[*resend.Email](s, method, ctx, id)
		}
		s.check(method, "every field, and last_event reaches delivered", func() {
			id := send(s, with("fields", func(e *resend.SendEmailRequest) {
				e.To, e.Cc, e.ReplyTo = []string{"one@example.net", "Two <two@example.net>"}, []string{"cc@example.net"}, "reply@example.com"
				e.Html = "<p>hello</p>"
			}))
			email := until(func() *resend.Email { return get(id) }, func(read *resend.Email) bool { return read.LastEvent == "delivered" })
			truth(timestamp.MatchString(email.CreatedAt), email.CreatedAt)
			equal(withoutMessageID(*email), resend.Email{
				Id: id, Object: "email", From: from, To: []string{"one@example.net", "Two <two@example.net>"},
				Cc: []string{"cc@example.net"}, ReplyTo: []string{"reply@example.com"}, Subject: "fields", Html: "<p>hello</p>",
				Text: "hello from the go suite", CreatedAt: email.CreatedAt, LastEvent: "delivered",
			})
		})
	}
	s.check("Emails.Get", "an unknown id is 404, a malformed one 422", func() {
		equal(s.refused(404, "not_found", "Emails.Get", unknownID), "Email not found")
		equal(s.refused(422, "validation_error", "Emails.Get", "not-an-id"), "The `id` must be a valid UUID.")
	})
	for to, event := range map[string]string{
		"delivered@resend.dev": "delivered", "bounced@resend.dev": "bounced", "complained@resend.dev": "complained",
	} {
		s.check("Emails.Send", to+" becomes "+event, func() {
			id := send(s, with(event, func(e *resend.SendEmailRequest) { e.To = []string{to} }))
			until(
				func() *resend.Email { return data[*resend.Email](s, "Emails.Get", id) },
				func(email *resend.Email) bool { return email.LastEvent == event },
			)
		})
	}
}

func listing(s *suite) {
	s.check("Emails.ListWithOptions", "newest first, limit, after and before", func() {
		first, second, third := send(s, message("first")), send(s, message("second")), send(s, message("third"))
		ids := func(options *resend.ListOptions) []string {
			var ids []string
			for _, row := range data[resend.ListEmailsResponse](s, "Emails.ListWithOptions", ctx, options).Data {
				ids = append(ids, row.Id)
			}
			return ids
		}
		equal(ids(&resend.ListOptions{Limit: ref(2)}), []string{third, second})
		equal(ids(&resend.ListOptions{Limit: ref(1), After: &second}), []string{first})
		equal(ids(&resend.ListOptions{Limit: ref(1), Before: &second}), []string{third})
	})
	s.check("Emails.ListWithOptions", "a bad limit or cursor is 422", func() {
		for _, bad := range []*resend.ListOptions{{Limit: ref(0)}, {Limit: ref(101)}, {After: ref(unknownID)}} {
			s.refused(422, "validation_error", "Emails.ListWithOptions", ctx, bad)
		}
	})
	for method, args := range map[string][]any{"Emails.List": {}, "Emails.ListWithContext": {ctx}} {
		s.check(method, "20 rows when no limit is given", func() {
			page := data[resend.ListEmailsResponse](s, method, args...)
			equal([]any{page.Object, page.HasMore, len(page.Data)}, []any{"list", true, 20})
			truth(page.Data[0].Html == "" && page.Data[0].Text == "", page.Data[0])
		})
	}
}

func emailsMustFail(s *suite) {
	attach := func(attachment *resend.Attachment) *resend.SendEmailRequest {
		return with("must fail", func(e *resend.SendEmailRequest) { e.Attachments = []*resend.Attachment{attachment} })
	}
	s.mustFail(422, "validation_error", "a remote attachment is never fetched", "Emails.Send",
		attach(&resend.Attachment{Filename: "a.txt", Path: "https://example.com/a.txt"}))
	s.mustFail(422, "validation_error", "inline images", "Emails.Send",
		attach(&resend.Attachment{Filename: "a.png", Content: []byte{1}, ContentId: "logo"}))
	s.mustFail(422, "validation_error", "inline images", "Emails.Send",
		attach(&resend.Attachment{Filename: "a.png", Content: []byte{1}, InlineContentId: "logo"}))
}
