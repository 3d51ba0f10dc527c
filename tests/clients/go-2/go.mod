// The module of ../go with the major version 2 of the SDK in place of version 3.
module ringmail.test/clients/go

go 1.23

require github.com/resend/resend-go/v3 v3.12.0

replace github.com/resend/resend-go/v3 => github.com/resend/resend-go/v2 v2.28.0
