package main

import (
	"regexp"
	"slices"
	"time"

	"github.com/resend/resend-go/v3"
)

// The suite causes no open and no click, so this endpoint gets no delivery.
const hooks = "https://hooks.example.com/go"

var signingSecret = regexp.MustCompile(`^whsec_[A-Za-z0-9+/]+={0,2}$`)

func webhooks(s *suite) {
	noPage := (*resend.ListOptions)(nil)
	types := []string{resend.EventEmailOpened, resend.EventEmailClicked}
	var id, other, secret string
	create := &resend.CreateWebhookRequest{Endpoint: hooks, Events: types}
	s.check("Webhooks.Create", "an endpoint with its secret", func() {
		created := data[*resend.CreateWebhookResponse](s, "Webhooks.Create", create)
		equal(created.Object, "webhook")
		truth(uuid.MatchString(created.Id) && signingSecret.MatchString(created.SigningSecret), created)
		id, secret = created.Id, created.SigningSecret
	})
	s.check("Webhooks.CreateWithContext", "another", func() {
		other = data[*resend.CreateWebhookResponse](s, "Webhooks.CreateWithContext", ctx, create).Id
	})
	s.check("Webhooks.Create", "an unknown type and another scheme are 422", func() {
		s.refused(422, "validation_error", "Webhooks.Create", &resend.CreateWebhookRequest{Endpoint: hooks, Events: []string{"email.imagined"}})
		s.refused(422, "validation_error", "Webhooks.Create", &resend.CreateWebhookRequest{Endpoint: "ftp://hooks.example.com", Events: types})
	})
	unsupported := []string{resend.EventDomainCreated, resend.EventEmailReceived}
	note := "types that the server does not emit"
	s.mustFail(422, "validation_error", note, "Webhooks.Create", &resend.CreateWebhookRequest{Endpoint: hooks, Events: unsupported})
	s.mustFail(422, "validation_error", note, "Webhooks.Update", id, &resend.UpdateWebhookRequest{Events: unsupported})
	for method, args := range map[string][]any{"Webhooks.Get": {id}, "Webhooks.GetWithContext": {ctx, id}} {
		s.check(method, "every field with the secret", func() {
			read := data[*resend.Webhook](s, method, args...)
			slices.Sort(read.Events)
			equal(*read, resend.Webhook{
				Object: "webhook", Id: id, CreatedAt: read.CreatedAt, Status: "enabled", Endpoint: hooks,
				Events: []string{resend.EventEmailClicked, resend.EventEmailOpened}, SigningSecret: secret,
			})
			truth(timestamp.MatchString(read.CreatedAt), read)
		})
	}
	s.check("Webhooks.Get", "an unknown id is 404", func() {
		equal(s.refused(404, "not_found", "Webhooks.Get", unknownID), "Webhook endpoint not found")
	})
	for method, args := range map[string][]any{"Webhooks.List": {}, "Webhooks.ListWithContext": {ctx}, "Webhooks.ListWithOptions": {ctx, noPage}} {
		s.check(method, "newest first", func() {
			page := data[*resend.ListWebhooksResponse](s, method, args...)
			equal([]string{page.Object, page.Data[0].Id, page.Data[1].Id}, []string{"list", other, id})
			equal([]string{page.Data[1].Endpoint, page.Data[1].Status}, []string{hooks, "enabled"})
		})
	}
	s.check("Webhooks.ListWithOptions", "limit and cursors", func() {
		list := func(options *resend.ListOptions) string {
			return data[*resend.ListWebhooksResponse](s, "Webhooks.ListWithOptions", ctx, options).Data[0].Id
		}
		equal(list(&resend.ListOptions{Limit: ref(1), After: &other}), id)
		equal(list(&resend.ListOptions{Limit: ref(1), Before: &id}), other)
	})
	for method, args := range map[string][]any{
		"Webhooks.Update":            {id, &resend.UpdateWebhookRequest{Endpoint: ref(hooks + "/moved"), Status: ref("disabled")}},
		"Webhooks.UpdateWithContext": {ctx, id, &resend.UpdateWebhookRequest{Events: []string{resend.EventEmailClicked}}},
	} {
		s.check(method, "changed", func() {
			equal(*data[*resend.UpdateWebhookResponse](s, method, args...), resend.UpdateWebhookResponse{Object: "webhook", Id: id})
		})
	}
	s.check("Webhooks.Update", "both changes are stored; an unknown id is 404", func() {
		read := data[*resend.Webhook](s, "Webhooks.Get", id)
		equal([]any{read.Endpoint, read.Status, read.Events}, []any{hooks + "/moved", "disabled", []string{resend.EventEmailClicked}})
		s.refused(404, "not_found", "Webhooks.Update", unknownID, &resend.UpdateWebhookRequest{Status: ref("enabled")})
	})
	for method, args := range map[string][]any{"Webhooks.Remove": {id}, "Webhooks.RemoveWithContext": {ctx, other}} {
		s.check(method, "removed, then 404", func() {
			gone := args[len(args)-1].(string)
			equal(*data[*resend.DeleteWebhookResponse](s, method, args...), resend.DeleteWebhookResponse{Object: "webhook", Id: gone, Deleted: true})
			s.refused(404, "not_found", "Webhooks.Get", gone)
		})
	}
}

func inAMoment() string {
	return time.Now().UTC().Add(time.Second).Format("2006-01-02T15:04:05.000Z")
}
