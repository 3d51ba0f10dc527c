module ringmail.test/clients/go

go 1.23

require github.com/resend/resend-go/v3 v3.12.0
