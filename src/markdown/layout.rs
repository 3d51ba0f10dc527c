//! The page around the HTML of a document: one column of at most 600 pixels, in light and dark colours. Pure.

use super::html::escaped;

/// Style sheet of the page. A mail client that drops it shows the light colours.
const STYLE: &str = "@media (max-width:620px){.rm{padding:24px 16px!important}\
                     .rm .rm-column{display:block!important;width:auto!important;padding:0!important}}\
                     @media (prefers-color-scheme:dark){\
                     body,.rm-page{background:#161719!important}\
                     .rm,.rm p,.rm li,.rm td,.rm th{color:#d6d8dc!important}\
                     .rm h1,.rm h2,.rm h3,.rm h4,.rm h5,.rm h6{color:#ffffff!important}\
                     .rm a{color:#6fcf97!important}\
                     .rm a.rm-button{background:#37a169!important;color:#08140d!important}\
                     .rm code,.rm pre{background:#26282c!important;color:#d6d8dc!important}\
                     .rm .rm-footer{color:#a0a5ae!important}\
                     .rm hr,.rm td,.rm th,.rm blockquote,.rm .rm-footer{border-color:#34363b!important}}";

const BODY: &str = "margin:0;padding:0;background:#ffffff";
const COLUMN: &str = "max-width:600px;margin:0 auto;padding:32px 24px;color:#2b2f38;text-align:left;\
                      font:16px/26px Helvetica,Arial,sans-serif;overflow-wrap:break-word";

/// Returns the page. The tables are for Outlook, which ignores the width of other elements.
pub(super) fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body style=\"{BODY}\">\n\
         <table class=\"rm-page\" role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" \
         border=\"0\">\
         <tr><td align=\"center\">\n\
         <!--[if mso]><table role=\"presentation\" width=\"600\"><tr><td><![endif]-->\n\
         <div class=\"rm\" style=\"{COLUMN}\">\n{body}</div>\n\
         <!--[if mso]></td></tr></table><![endif]-->\n\
         </td></tr></table>\n</body>\n</html>\n"
    )
}
