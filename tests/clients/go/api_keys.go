package main

import (
	"regexp"

	"github.com/resend/resend-go/v3"
)

var token = regexp.MustCompile(`^rm_[A-Za-z0-9_-]{32}$`)

func apiKeys(s *suite) {
	create := func(name, permission, domainID string) resend.CreateApiKeyResponse {
		return data[resend.CreateApiKeyResponse](s, "ApiKeys.Create", &resend.CreateApiKeyRequest{Name: name, Permission: permission, DomainId: domainID})
	}
	remove := func(id string) { equal(data[bool](s, "ApiKeys.Remove", id), true) }

	s.check("ApiKeys.Create", "a full-access key works", func() {
		created := create("go full", "full_access", "")
		truth(uuid.MatchString(created.Id) && token.MatchString(created.Token), created.Id)
		data[resend.ListEmailsResponse](s.withKey(created.Token), "Emails.List")
		remove(created.Id)
		s.withKey(created.Token).refused(403, "invalid_api_key", "Emails.List")
	})
	s.check("ApiKeys.CreateWithContext", "the same, with a context", func() {
		created := data[resend.CreateApiKeyResponse](s, "ApiKeys.CreateWithContext", ctx, &resend.CreateApiKeyRequest{Name: "go context"})
		equal(data[bool](s, "ApiKeys.RemoveWithContext", ctx, created.Id), true)
		equal(s.refused(404, "not_found", "ApiKeys.RemoveWithContext", ctx, created.Id), "API key not found")
	})
	s.check("ApiKeys.ListWithOptions", "newest first, limit and cursors", func() {
		first, second := create("go first", "", "").Id, create("go second", "", "").Id
		noPage := (*resend.ListOptions)(nil)
		for method, args := range map[string][]any{"ApiKeys.List": {}, "ApiKeys.ListWithContext": {ctx}, "ApiKeys.ListWithOptions": {ctx, noPage}} {
			page := data[resend.ListApiKeysResponse](s, method, args...)
			equal([]string{page.Object, page.Data[0].Id, page.Data[1].Name}, []string{"list", second, "go first"})
			truth(neverUsed(page.Data[0]) && timestamp.MatchString(page.Data[0].CreatedAt), page.Data[0])
		}
		list := func(options *resend.ListOptions) resend.ListApiKeysResponse {
			return data[resend.ListApiKeysResponse](s, "ApiKeys.ListWithOptions", ctx, options)
		}
		equal(list(&resend.ListOptions{Limit: ref(1)}).HasMore, true)
		equal(list(&resend.ListOptions{Limit: ref(1), After: &second}).Data[0].Id, first)
		equal(list(&resend.ListOptions{Limit: ref(1), Before: &first}).Data[0].Id, second)
		remove(first)
		remove(second)
	})
	s.check("ApiKeys.Create", "a sending-only key sends, reschedules and cancels, but cannot read", func() {
		created := create("go sending", "sending_access", "")
		limited := s.withKey(created.Token)
		id := send(limited, message("keys"))
		data[*resend.BatchEmailResponse](limited, "Batch.Send", []*resend.SendEmailRequest{message("keys")})
		later := send(limited, with("keys", func(e *resend.SendEmailRequest) { e.ScheduledAt = inHours(1) }))
		data[*resend.UpdateEmailResponse](limited, "Emails.Update", &resend.UpdateEmailRequest{Id: later, ScheduledAt: inHours(2)})
		data[*resend.CancelScheduledEmailResponse](limited, "Emails.Cancel", later)
		for method, args := range map[string][]any{
			"Emails.List": {}, "Emails.Get": {id}, "Emails.ListAttachments": {id}, "Domains.List": {}, "ApiKeys.List": {},
		} {
			if s.has(method) {
				limited.refused(403, "restricted_api_key", method, args...)
			}
		}
		remove(created.Id)
	})
	s.check("ApiKeys.Create", "a key of one domain sends from that domain only", func() {
		away := data[resend.CreateDomainResponse](s, "Domains.Create", &resend.CreateDomainRequest{Name: "go-keys.example.org"}).Id
		created := create("go scoped", "sending_access", away)
		s.withKey(created.Token).refused(403, "restricted_api_key", "Emails.Send", message("keys"))
		remove(created.Id)
		equal(data[bool](s, "Domains.Remove", away), true)
	})
	s.check("ApiKeys.Create", "an unknown permission and an unknown domain are refused", func() {
		s.refused(422, "validation_error", "ApiKeys.Create", &resend.CreateApiKeyRequest{Name: "go", Permission: "everything"})
		s.refused(404, "not_found", "ApiKeys.Create", &resend.CreateApiKeyRequest{Name: "go", Permission: "sending_access", DomainId: unknownID})
	})
	s.check("Emails.Send", "an unknown key is 403 invalid_api_key", func() {
		s.withKey("rm_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").refused(403, "invalid_api_key", "Emails.Send", message("keys"))
	})
}
