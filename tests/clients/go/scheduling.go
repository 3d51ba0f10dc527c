package main

import (
	"github.com/resend/resend-go/v3"
)

func scheduling(s *suite) {
	schedule := func(at string) string {
		return send(s, with("later", func(e *resend.SendEmailRequest) { e.ScheduledAt = at }))
	}
	lastEvent := func(id string) string { return data[*resend.Email](s, "Emails.Get", id).LastEvent }

	for _, method := range []string{"Emails.Update", "Emails.UpdateWithContext"} {
		s.check(method, "scheduled by ISO 8601, then rescheduled", func() {
			id := schedule(inHours(1))
			equal(lastEvent(id), "scheduled")
			args := []any{&resend.UpdateEmailRequest{Id: id, ScheduledAt: inHours(2)}}
			if method == "Emails.UpdateWithContext" {
				args = append([]any{ctx}, args...)
			}
			equal(*data[*resend.UpdateEmailResponse](s, method, args...), resend.UpdateEmailResponse{Id: id, Object: "email"})
			equal(lastEvent(id), "scheduled")
		})
	}
	for _, method := range []string{"Emails.Cancel", "Emails.CancelWithContext"} {
		s.check(method, "scheduled in English, then canceled once", func() {
			id := schedule("in 1 hour")
			args := []any{id}
			if method == "Emails.CancelWithContext" {
				args = []any{ctx, id}
			}
			equal(*data[*resend.CancelScheduledEmailResponse](s, method, args...), resend.CancelScheduledEmailResponse{Id: id, Object: "email"})
			equal(lastEvent(id), "canceled")
			s.refused(422, "validation_error", method, args...)
			s.refused(422, "validation_error", "Emails.Update", &resend.UpdateEmailRequest{Id: id, ScheduledAt: inHours(1)})
		})
	}
	s.check("Emails.Cancel", "an unknown id is 404", func() {
		s.refused(404, "not_found", "Emails.Cancel", unknownID)
	})
}

func refusals(s *suite) {
	for _, row := range []struct {
		note   string
		status int
		name   string
		part   string
		change func(*resend.SendEmailRequest)
	}{
		{"from is not an address", 422, "validation_error", "`from`", func(e *resend.SendEmailRequest) { e.From = "not an address" }},
		{"to is not an address", 422, "validation_error", "`to`", func(e *resend.SendEmailRequest) { e.To = []string{"not an address"} }},
		{"an unverified domain", 403, "validation_error", "The example.org domain is not verified.", func(e *resend.SendEmailRequest) { e.From = "sender@example.org" }},
		{"51 recipients", 422, "validation_error", "50", func(e *resend.SendEmailRequest) { e.To, e.Bcc = many("to", 50), many("bcc", 1) }},
		{"a reserved header", 422, "validation_error", "X-Ringmail-Id", func(e *resend.SendEmailRequest) { e.Headers = map[string]string{"X-Ringmail-Id": "1"} }},
		{"only suppressed recipients", 422, "all_recipients_suppressed", "All recipients are suppressed", func(e *resend.SendEmailRequest) { e.To = []string{"suppressed@resend.dev"} }},
	} {
		s.check("Emails.Send", row.note, func() {
			contains(s.refused(row.status, row.name, "Emails.Send", with("refused", row.change)), row.part)
		})
	}
	s.check("Emails.Send", "neither html nor text is 422", func() {
		_, err := s.call("Emails.Send", with("empty", func(e *resend.SendEmailRequest) { e.Text = "" }))
		truth(err != nil, "accepted")
		equal([]any{s.last.refusal.StatusCode, s.last.refusal.Message}, []any{422, "Missing `html` or `text` field."})
	})
}

func batch(s *suite) {
	emails := func(subjects ...string) []*resend.SendEmailRequest {
		list := []*resend.SendEmailRequest{}
		for _, subject := range subjects {
			list = append(list, message(subject))
		}
		return list
	}
	noOptions := &resend.BatchSendEmailOptions{}
	for method, args := range map[string][]any{
		"Batch.Send": {emails("one", "two")}, "Batch.SendWithContext": {ctx, emails("one", "two")},
		"Batch.SendWithOptions": {ctx, emails("one", "two"), noOptions},
	} {
		s.check(method, "two emails, ids in order, both delivered", func() {
			response := data[*resend.BatchEmailResponse](s, method, args...)
			equal([]int{len(response.Data), len(response.Errors)}, []int{2, 0})
			for i, subject := range []string{"one", "two"} {
				email := until(
					func() *resend.Email { return data[*resend.Email](s, "Emails.Get", response.Data[i].Id) },
					func(email *resend.Email) bool { return email.LastEvent == "delivered" },
				)
				equal(email.Subject, subject)
			}
		})
	}
	s.check("Batch.SendWithOptions", "the same idempotency key returns the same ids, another payload is 409", func() {
		key := &resend.BatchSendEmailOptions{IdempotencyKey: "go-batch-" + inHours(0)}
		first := data[*resend.BatchEmailResponse](s, "Batch.SendWithOptions", ctx, emails("one", "two"), key)
		equal(data[*resend.BatchEmailResponse](s, "Batch.SendWithOptions", ctx, emails("one", "two"), key), first)
		s.refused(409, "invalid_idempotent_request", "Batch.SendWithOptions", ctx, emails("changed"), key)
	})
	mixed := emails("good", "bad")
	mixed[1].To = []string{"not an address"}
	s.check("Batch.Send", "strict: one bad item refuses the batch and names it", func() {
		contains(s.refused(422, "validation_error", "Batch.Send", mixed), "emails.1: ")
		strict := &resend.BatchSendEmailOptions{BatchValidation: resend.BatchValidationStrict}
		contains(s.refused(422, "validation_error", "Batch.SendWithOptions", ctx, mixed, strict), "emails.1: ")
	})
	s.check("Batch.SendWithOptions", "permissive: valid items are accepted, others are listed", func() {
		permissive := &resend.BatchSendEmailOptions{BatchValidation: resend.BatchValidationPermissive}
		response := data[*resend.BatchEmailResponse](s, "Batch.SendWithOptions", ctx, mixed, permissive)
		equal([]int{len(response.Data), len(response.Errors), response.Errors[0].Index}, []int{1, 1, 1})
		contains(response.Errors[0].Message, "`to`")
	})
	s.check("Batch.Send", "no emails and 101 emails are 422", func() {
		s.refused(422, "validation_error", "Batch.Send", emails())
		s.refused(422, "validation_error", "Batch.Send", emails(make([]string, 101)...))
	})
}
