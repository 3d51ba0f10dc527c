//go:build !older

package main

import (
	"strings"

	"github.com/resend/resend-go/v3"
)

const (
	templateAlias = "go-welcome"
	templateHTML  = "<p>Hello {{{NAME}}}, you have {{{COUNT|no}}} letters</p>"
	templateText  = "Hello {{{NAME}}}, you have {{{COUNT|no}}} letters"
)

func templates(s *suite) {
	source := func(name, alias string) *resend.CreateTemplateRequest {
		return &resend.CreateTemplateRequest{Name: name, Alias: alias, Subject: "Welcome {{{NAME}}}", Html: templateHTML, Text: templateText}
	}
	var id, other string
	s.check("Templates.Create", "a draft; an alias that is taken is 409", func() {
		created := data[*resend.CreateTemplateResponse](s, "Templates.Create", source("Go welcome", templateAlias))
		equal(created.Object, "template")
		truth(uuid.MatchString(created.Id), created)
		id = created.Id
		s.refused(409, "validation_error", "Templates.Create", source("Go", templateAlias))
	})
	s.check("Templates.CreateWithContext", "another, without an alias", func() {
		other = data[*resend.CreateTemplateResponse](s, "Templates.CreateWithContext", ctx, source("Go other", "")).Id
	})
	withSender, withReply, withVariables := source("Go", ""), source("Go", ""), source("Go", "")
	withSender.From, withReply.ReplyTo = broadcastFrom, []string{"reply@example.com"}
	withVariables.Variables = []*resend.TemplateVariable{{Key: "NAME", Type: resend.VariableTypeString, FallbackValue: "you"}}
	for note, request := range map[string]*resend.CreateTemplateRequest{"from": withSender, "reply_to": withReply, "variables": withVariables} {
		s.mustFail(422, "validation_error", "a template does not store "+note, "Templates.Create", request)
	}
	templateReads(s, id, other)
	templateVersions(s, id)
	templateSends(s)
	for method, args := range map[string][]any{"Remove": {other}, "RemoveWithContext": {ctx, templateAlias}} {
		s.check("Templates."+method, "by id, by alias", func() {
			removed := data[*resend.RemoveTemplateResponse](s, "Templates."+method, args...)
			equal([]any{removed.Object, removed.Deleted}, []any{"template", true})
			s.refused(404, "not_found", "Templates.Get", removed.Id)
		})
	}
}

func templateReads(s *suite, id, other string) {
	for method, args := range map[string][]any{"Get": {id}, "GetWithContext": {ctx, templateAlias}} {
		s.check("Templates."+method, "every field, by id, by alias", func() {
			read := data[*resend.Template](s, "Templates."+method, args...)
			truth(timestamp.MatchString(read.CreatedAt) && timestamp.MatchString(read.UpdatedAt), read)
			equal(
				[]string{read.Object, read.Id, read.Alias, read.Name, read.Status, read.PublishedAt, read.From, read.Subject, read.Html, read.Text},
				[]string{"template", id, templateAlias, "Go welcome", "draft", "", "", "Welcome {{{NAME}}}", templateHTML, templateText},
			)
			equal([]any{read.ReplyTo, len(read.Variables)}, []any{nil, 0})
		})
	}
	s.check("Templates.Get", "an unknown id is 404", func() {
		equal(s.refused(404, "not_found", "Templates.Get", unknownID), "Template not found")
	})
	noPage := (*resend.ListOptions)(nil)
	for method, args := range map[string][]any{"List": {noPage}, "ListWithContext": {ctx, noPage}} {
		s.check("Templates."+method, "newest first", func() {
			page := data[*resend.ListTemplatesResponse](s, "Templates."+method, args...)
			equal([]string{page.Object, page.Data[0].Id, page.Data[1].Id}, []string{"list", other, id})
			equal([]string{page.Data[1].Name, page.Data[1].Alias, page.Data[1].Status}, []string{"Go welcome", templateAlias, "draft"})
			equal(page.Data[1].PublishedAt, (*string)(nil))
		})
	}
	s.check("Templates.List", "limit and cursors", func() {
		list := func(options *resend.ListOptions) *resend.ListTemplatesResponse {
			return data[*resend.ListTemplatesResponse](s, "Templates.List", options)
		}
		newest := list(&resend.ListOptions{Limit: ref(1)})
		equal([]any{newest.HasMore, newest.Data[0].Id}, []any{true, other})
		equal(list(&resend.ListOptions{Limit: ref(1), After: &other}).Data[0].Id, id)
		equal(list(&resend.ListOptions{Limit: ref(1), Before: &id}).Data[0].Id, other)
	})
}

// templateVersions publishes a template, changes it, and copies it. The SDK sends name and html with every change.
func templateVersions(s *suite, id string) {
	s.check("Templates.Publish", "by alias; before it, a send is 422", func() {
		s.refused(422, "validation_error", "Emails.Send", fromTemplate(map[string]any{"NAME": "Ada"}))
		published := data[*resend.PublishTemplateResponse](s, "Templates.Publish", templateAlias)
		equal(*published, resend.PublishTemplateResponse{Id: id, Object: "template"})
		read := data[*resend.Template](s, "Templates.Get", id)
		truth(read.Status == "published" && timestamp.MatchString(read.PublishedAt), read)
	})
	change := &resend.UpdateTemplateRequest{Name: "Go letter", Html: "<p>Dear {{{NAME}}}</p>"}
	back := &resend.UpdateTemplateRequest{Name: "Go welcome", Html: templateHTML}
	html := func() string {
		sent := send(s, fromTemplate(map[string]any{"NAME": "Ada"}))
		return data[*resend.Email](s, "Emails.Get", sent).Html
	}
	s.check("Templates.Update", "the published version keeps sending until the next one", func() {
		equal(data[*resend.UpdateTemplateResponse](s, "Templates.Update", id, change).Id, id)
		contains(html(), "Hello Ada, you have no letters")
		data[*resend.PublishTemplateResponse](s, "Templates.PublishWithContext", ctx, id)
		contains(html(), "Dear Ada")
	})
	s.check("Templates.UpdateWithContext", "by alias", func() {
		data[*resend.UpdateTemplateResponse](s, "Templates.UpdateWithContext", ctx, templateAlias, back)
		data[*resend.PublishTemplateResponse](s, "Templates.Publish", id)
		contains(html(), "Hello Ada")
	})
	for method, args := range map[string][]any{"Duplicate": {id}, "DuplicateWithContext": {ctx, templateAlias}} {
		s.check("Templates."+method, "a draft without the alias", func() {
			copied := data[*resend.DuplicateTemplateResponse](s, "Templates."+method, args...)
			read := data[*resend.Template](s, "Templates.Get", copied.Id)
			equal([]string{read.Status, read.Alias, read.Html, read.Text}, []string{"draft", "", templateHTML, templateText})
			data[*resend.RemoveTemplateResponse](s, "Templates.Remove", copied.Id)
		})
	}
}

// fromTemplate returns an email with the template. The SDK sends an empty subject, which must not replace the subject of
// the template.
func fromTemplate(variables map[string]any) *resend.SendEmailRequest {
	return &resend.SendEmailRequest{
		From: broadcastFrom, To: []string{"one@example.net"}, Template: &resend.EmailTemplate{Id: templateAlias, Variables: variables},
	}
}

func templateSends(s *suite) {
	s.check("Emails.Send", "a template: escaped in html, raw in text, and its subject", func() {
		sent := send(s, fromTemplate(map[string]any{"NAME": "<b>Ada & Co</b>", "COUNT": 3}))
		email := data[*resend.Email](s, "Emails.Get", sent)
		contains(email.Html, "Hello &lt;b&gt;Ada &amp; Co&lt;/b&gt;, you have 3 letters")
		contains(email.Text, "Hello <b>Ada & Co</b>, you have 3 letters")
		equal(email.Subject, "Welcome <b>Ada & Co</b>")
	})
	s.check("Emails.Send", "a template with a missing value is 422, an unknown one 404", func() {
		contains(s.refused(422, "validation_error", "Emails.Send", fromTemplate(nil)), "NAME")
		unknown := fromTemplate(nil)
		unknown.Template.Id = unknownID
		equal(s.refused(404, "not_found", "Emails.Send", unknown), "Template not found")
	})
	s.check("Batch.Send", "templates with different values", func() {
		items := []*resend.SendEmailRequest{fromTemplate(map[string]any{"NAME": "Ada"}), fromTemplate(map[string]any{"NAME": "Bob"})}
		rows := data[*resend.BatchEmailResponse](s, "Batch.Send", items).Data
		for i, name := range []string{"Ada", "Bob"} {
			contains(data[*resend.Email](s, "Emails.Get", rows[i].Id).Text, "Hello "+name+",")
		}
		message := s.refused(422, "validation_error", "Batch.Send", append(items, fromTemplate(nil)))
		truth(strings.HasPrefix(message, "emails.2: ") && strings.Contains(message, "NAME"), message)
	})
}

// broadcastAudience creates a segment with two contacts who receive a broadcast, and one who does not. Returns its id.
func broadcastAudience(s *suite) string {
	id := data[resend.CreateSegmentResponse](s, "Segments.Create", &resend.CreateSegmentRequest{Name: "Go broadcasts"}).Id
	for _, contact := range []*resend.CreateContactRequest{
		{Email: "go-ada@broadcast.example.net", FirstName: "Ada"},
		{Email: "go-bob@broadcast.example.net"},
		{Email: "go-gone@broadcast.example.net", Unsubscribed: true},
	} {
		made := createContact(s, contact)
		add := &resend.AddContactSegmentRequest{SegmentId: id, ContactId: made}
		data[resend.AddContactSegmentResponse](s, "Contacts.Segments.Add", add)
	}
	return id
}

// newestBroadcasts checks fields of a broadcast that the older version does not have.
func newestBroadcasts(s *suite) {
	segment := broadcastAudience(s)
	s.check("Broadcasts.Create", "to a segment, sent at once, and sent later", func() {
		for _, at := range []string{"", "in 2 hours"} {
			request := &resend.CreateBroadcastRequest{
				SegmentId: segment, From: broadcastFrom, Subject: "News", Text: "Hello", Send: true, ScheduledAt: at,
			}
			id := data[resend.CreateBroadcastResponse](s, "Broadcasts.Create", request).Id
			wanted := map[string]string{"": "sent", "in 2 hours": "scheduled"}[at]
			read := until(
				func() resend.Broadcast { return data[resend.Broadcast](s, "Broadcasts.Get", id) },
				func(read resend.Broadcast) bool { return read.Status == wanted },
			)
			equal([]string{read.SegmentId, read.AudienceId}, []string{segment, segment})
		}
	})
}
