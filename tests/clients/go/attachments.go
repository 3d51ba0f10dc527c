//go:build !older

package main

import "github.com/resend/resend-go/v3"

func attachments(s *suite) {
	content := []byte{0, 1, 2, 253, 254, 255}
	email := with("attachments", func(e *resend.SendEmailRequest) {
		e.Attachments = []*resend.Attachment{
			{Filename: "bytes.bin", Content: content, ContentType: "application/octet-stream"},
			{Filename: "note.txt", Content: []byte("note")},
		}
	})
	noOptions := (*resend.ListOptions)(nil)
	s.check("Emails.GetAttachment", "bytes sent as an array of integers", func() {
		id := send(s, email)
		var rows []resend.EmailAttachment
		for method, args := range map[string][]any{
			"Emails.ListAttachments": {id}, "Emails.ListAttachmentsWithContext": {ctx, id}, "Emails.ListAttachmentsWithOptions": {ctx, id, noOptions},
		} {
			page := data[resend.ListEmailAttachmentsResponse](s, method, args...)
			equal([]any{page.Object, page.HasMore, len(page.Data)}, []any{"list", false, 2})
			rows = page.Data
		}
		page := data[resend.ListEmailAttachmentsResponse](s, "Emails.ListAttachmentsWithOptions", ctx, id, &resend.ListOptions{Limit: ref(1)})
		equal([]any{page.HasMore, len(page.Data)}, []any{true, 1})
		names := map[string]bool{}
		for _, row := range rows {
			names[row.Filename] = true
			equal([]string{row.ContentDisposition, row.DownloadUrl, row.ExpiresAt}, []string{"attachment", "", ""})
			for method, args := range map[string][]any{"Emails.GetAttachment": {id, row.Id}, "Emails.GetAttachmentWithContext": {ctx, id, row.Id}} {
				one := data[*resend.EmailAttachment](s, method, args...)
				equal([]string{one.Object, one.Id, one.Filename, one.ContentType}, []string{"attachment", row.Id, row.Filename, row.ContentType})
			}
		}
		equal(names, map[string]bool{"bytes.bin": true, "note.txt": true})
		s.refused(404, "not_found", "Emails.GetAttachment", id, unknownID)
	})
}

// receiving checks calls about inbound mail, which does not exist.
func receiving(s *suite) {
	noPage, noParams := (*resend.ListOptions)(nil), (*resend.GetReceivedEmailParams)(nil)
	for _, row := range []struct {
		method string
		args   []any
	}{
		{"List", []any{}}, {"ListWithContext", []any{ctx}}, {"ListWithOptions", []any{ctx, noPage}},
		{"Get", []any{unknownID}}, {"GetWithContext", []any{ctx, unknownID}}, {"GetWithOptions", []any{ctx, unknownID, noParams}},
		{"ListAttachments", []any{unknownID}}, {"ListAttachmentsWithContext", []any{ctx, unknownID}},
		{"ListAttachmentsWithOptions", []any{ctx, unknownID, noPage}},
		{"GetAttachment", []any{unknownID, unknownID}}, {"GetAttachmentWithContext", []any{ctx, unknownID, unknownID}},
	} {
		s.mustFail(404, "not_found", "no inbound mail", "Emails.Receiving."+row.method, row.args...)
	}
}
